"""The figures recorded on the real files, and what the book says of them."""

import json

import pytest

from siscm.pages import expected
from siscm.record import MIN_OPINIONS, panel_figures
from siscm.registry import ENTRIES


def _flat(content, path=()):
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _flat(value, (*path, key))
    else:
        yield path, content


@pytest.mark.real_data
@pytest.mark.parametrize("name", MIN_OPINIONS)
def test_recorded_figures_are_recomputed(name):
    recorded = expected("panels")[name]
    recorded.pop("date")
    recomputed = json.loads(json.dumps(panel_figures(name)))
    assert dict(_flat(recomputed)) == pytest.approx(dict(_flat(recorded)), abs=2e-6)


def test_recorded_files_are_those_of_the_registry():
    for entry in expected("panels").values():
        assert entry["files"] == {path: ENTRIES[path].sha256 for path in entry["files"]}
        assert len(entry["files"]) == 3


def _score(name, rule, scenario, score, groups="figures"):
    entry = expected("panels")[name]
    scores = entry["figures"]["scores"] if groups == "figures" else entry[groups]
    return scores[rule][scenario][score]


def test_what_chapter_1_says_of_the_real_panel():
    def known(rule, score):
        return _score("HS-Brexit", rule, "same group", score, "scores_with_known_groups")

    assert known("Gumbel-Max SI-SCM", "accuracy") > known("marginals only", "accuracy")
    assert known("Gumbel-Max SI-SCM", "log_loss") >= known("marginals only", "log_loss")
    assert known("copy", "accuracy") < known("Gumbel-Max SI-SCM", "accuracy")
    assert known("copy", "accuracy") > known("marginals only", "accuracy")
    assert known("copy", "log_loss") > 1.5 * known("marginals only", "log_loss")


def test_what_chapter_3_says_of_the_real_panels():
    brexit, agreement = (expected("panels")[name]["figures"] for name in MIN_OPINIONS)
    assert brexit["pairs_in_violation"] == brexit["pairs_together"] == 15
    assert brexit["singleton_groups"] == brexit["experts"] == 6
    medians = [agreement[f"median_meetings_of_{kind}_pairs"] for kind in ("violating", "other")]
    assert medians[0] > 2 * medians[1]
    shares = [row["in violation"] for row in agreement["violations_by_meetings"].values()]
    assert shares == sorted(shares)
    loss = {
        rule: _score("MD-Agreement", rule, "same group", "log_loss")
        for rule in ("Gumbel-Max SI-SCM", "marginals only")
    }
    assert loss["Gumbel-Max SI-SCM"] > loss["marginals only"]
    for name in MIN_OPINIONS:
        for score in ("accuracy", "log_loss"):
            shared, alone = (
                _score(name, rule, "all pairs", score)
                for rule in ("one noise for all", "marginals only")
            )
            assert shared > alone

    def agreement_of(rule, scenario, score="accuracy"):
        return _score("MD-Agreement", rule, scenario, score)

    assert agreement_of("copy", "same group") < agreement_of("copy", "different groups")
    assert agreement_of("copy", "all pairs") > agreement_of("one noise for all", "all pairs")
    assert agreement_of("one noise for all", "all pairs", "accuracy_low") > agreement_of(
        "marginals only", "all pairs", "accuracy_high"
    )
