"""Panels: read from checked files, split as the shared task splits them, and the switch."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from counting import opinions_per_split

from siscm.data import panels, registry
from siscm.data.panels import PanelName
from siscm.data.sources import lewidi_path
from siscm.opinions import Opinions


def write_panel(
    name: str, items: dict[str, dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put the three files of a panel into ``folder``, and make the registry expect them."""
    monkeypatch.setenv("SISCM_DATA_DIR", str(folder))
    entries = dict(registry.ENTRIES)
    for split in panels.SPLITS:
        path = lewidi_path(name, split)
        content = json.dumps({k: {**item, "split": split} for k, item in items[split].items()})
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        entries[path] = replace(entries[path], sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setattr(registry, "ENTRIES", entries)


def item(name: str, said: str, experts: str, text: str = "some words") -> dict[str, Any]:
    n = len(experts.split(","))
    groups = ["group1" if h in ("Ann1", "Ann2") else "group2" for h in experts.split(",")]
    return {
        "text": text,
        "annotation task": panels.QUESTIONS[name].task,
        "number of annotations": n,
        "annotations": said,
        "annotators": experts,
        "other_info": {"domain": "weather"}
        if name == "MD-Agreement"
        else {
            "annotators group": ",".join(groups),
            "group1": "target group",
            "group2": "control group",
        },
    }


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny HS-Brexit and a tiny MD-Agreement."""
    hs, md = "HS-Brexit", "MD-Agreement"
    write_panel(
        hs,
        {
            "train": {
                "1": item(hs, "0,1,0", "Ann10,Ann2,Ann1", "first"),
                "2": item(hs, "1,1,1", "Ann1,Ann2,Ann10", "second"),
            },
            "dev": {"1": item(hs, "0,0,1", "Ann1,Ann2,Ann10", "third")},
            "test": {"1": item(hs, "0,0,0", "Ann1,Ann2,Ann10", "fourth")},
        },
        tmp_path,
        monkeypatch,
    )
    write_panel(
        md,
        {
            "train": {"1": item(md, "0,1", "Ann3,Ann2")},
            "dev": {"1": item(md, "1,1", "Ann10,Ann3")},
            "test": {"1": item(md, "1,0,0", "Ann10,Ann7,Ann7")},
        },
        tmp_path,
        monkeypatch,
    )


@pytest.mark.usefixtures("small")
def test_a_panel_holds_what_its_files_say() -> None:
    panel = panels.load_lewidi("HS-Brexit")
    assert panel.source == "real"
    assert list(panel.instances.index) == ["train-1", "train-2", "dev-1", "test-1"]
    assert list(panel.instances["text"]) == ["first", "second", "third", "fourth"]
    assert list(panel.instances["split"]) == ["train", "train", "dev", "test"]
    assert list(panel.experts.index) == ["Ann1", "Ann2", "Ann10"]
    assert list(panel.experts["group"]) == ["target", "target", "control"]
    assert list(panel.opinions.experts) == ["Ann1", "Ann2", "Ann10"]
    assert list(panel.opinions.classes) == [0, 1]
    assert panel.opinions.labels.tolist() == [[0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert panel.question.label_names == ("no hate speech", "hate speech")
    assert panel.n_merged == 0
    assert panel.truth is None
    assert panel.files == {
        path: entry.sha256 for path, entry in registry.ENTRIES.items() if "HS-Brexit" in path
    }


@pytest.mark.usefixtures("small")
def test_equal_repeats_are_merged_counted_and_not_warned_about() -> None:
    panel = panels.load_lewidi("MD-Agreement")  # a warning would be an error here
    assert panel.n_merged == 1
    assert len(panel.opinions) == 6
    assert list(panel.experts.index) == ["Ann2", "Ann3", "Ann7", "Ann10"]
    assert list(panel.experts.columns) == []
    assert list(panel.instances["domain"]) == ["weather"] * 3
    assert panel.opinions.labels.tolist() == [[1, 0, -1, -1], [-1, 1, -1, 1], [-1, -1, 0, 1]]


@pytest.mark.usefixtures("small")
def test_parts_keep_all_experts_and_the_order() -> None:
    panel = panels.load_lewidi("MD-Agreement")
    part = panel.part("test", "train")
    assert list(part.instances) == ["train-1", "test-1"]
    assert list(part.experts) == ["Ann2", "Ann3", "Ann7", "Ann10"]
    assert part.labels.tolist() == [[1, 0, -1, -1], [-1, -1, 0, 1]]
    with pytest.raises(ValueError, match="no split 'tset'; there are train, dev, test"):
        panel.part("train", "tset")


@pytest.mark.usefixtures("small")
def test_repr_never_shows_a_text() -> None:
    panel = panels.load_lewidi("HS-Brexit")
    assert repr(panel) == "<Panel HS-Brexit, real: 12 opinions by 3 experts about 4 texts>"
    assert str(panel) == repr(panel)


def test_conflicts_across_a_real_file_name_file_item_and_expert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    md = "MD-Agreement"
    good = {"1": item(md, "0,1", "Ann3,Ann2")}
    bad = {"1": item(md, "0,1", "Ann3,Ann2"), "2": item(md, "0,1", "Ann3,Ann3")}
    write_panel(md, {"train": good, "dev": good, "test": bad}, tmp_path, monkeypatch)
    with pytest.raises(ValueError, match=r"_test.json, item '2': expert 'Ann3' has the label"):
        panels.load_lewidi("MD-Agreement")


@pytest.mark.usefixtures("small")
def test_an_altered_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = lewidi_path("HS-Brexit", "test")
    (tmp_path / path).write_text("{ not even JSON")
    with pytest.raises(ValueError, match=r"HS-Brexit_test.json is not the file expected.*SHA-256"):
        panels.load_lewidi("HS-Brexit")


@pytest.mark.parametrize("load", [panels.load_lewidi, panels.load_panel])
def test_an_unknown_name_is_refused(load: Any) -> None:
    with pytest.raises(ValueError, match="no panel 'Brexit'; there are HS-Brexit, MD-Agreement"):
        load("Brexit")


def test_every_name_has_a_question() -> None:
    assert tuple(panels.QUESTIONS) == get_args(PanelName)


def test_the_switch_is_simulated_by_default_and_then_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*args: object) -> None:
        raise AssertionError("the simulated setting asked for the data folder")

    monkeypatch.setattr(registry, "data_folder", forbidden)
    monkeypatch.delenv("SISCM_DATA", raising=False)
    first, second = panels.load_panel("HS-Brexit"), panels.load_panel("HS-Brexit")
    assert first.source == "simulated"
    assert first.files == {}
    pd.testing.assert_frame_equal(first.opinions.to_long(), second.opinions.to_long())
    other = panels.load_panel("HS-Brexit", seed=1)
    assert (first.opinions.labels != other.opinions.labels).any()


@pytest.mark.usefixtures("small")
def test_the_switch_to_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SISCM_DATA", "real")
    assert len(panels.load_panel("HS-Brexit").instances) == 4
    monkeypatch.setenv("SISCM_DATA_DIR", "/nowhere/at/all")
    with pytest.raises(FileNotFoundError, match=r"HS-Brexit_train.json .*/nowhere/at/all.*make"):
        panels.load_panel("HS-Brexit")


def small_truth() -> panels.Truth:
    return panels.Truth(
        groups=(("a",), ("b",)),
        features=pd.DataFrame([[1.0, 0.0], [0.0, 2.0]], index=["x", "y"]),
        slopes=pd.DataFrame([[1.0, 0.0], [3.0, -1.0]], index=["a", "b"]),
        intercepts=pd.Series([0.0, -2.0], index=["a", "b"]),
    )


def test_truth_gives_the_logistic_law() -> None:
    truth = small_truth()
    log_odds = np.array([[1.0, 1.0], [0.0, -4.0]])
    one = 1 / (1 + np.exp(-log_odds))
    dense = np.log(np.stack([1 - one, one], axis=-1))
    opinions = Opinions.from_codes([[0, -1], [1, 0]], ["y", "x"], ["b", "a"], [0, 1])
    np.testing.assert_allclose(
        truth.log_marginals(opinions), [dense[1, 1], dense[0, 1], dense[0, 0]], atol=1e-12
    )
    stranger = Opinions.from_codes([[0]], ["z"], ["a"], [0, 1])
    with pytest.raises(ValueError, match="'z' is not in the panel"):
        truth.log_marginals(stranger)


@pytest.mark.real_data
def test_the_real_hs_brexit() -> None:
    panel = panels.load_lewidi("HS-Brexit")
    assert panel.instances["split"].value_counts().to_dict() == {
        "train": 784,
        "dev": 168,
        "test": 168,
    }
    assert (panel.opinions.labels >= 0).all()
    assert list(panel.opinions.experts) == [f"Ann{h}" for h in range(1, 7)]
    assert list(panel.experts["group"]) == ["target"] * 3 + ["control"] * 3
    assert panel.n_merged == 0
    assert len(panel.files) == 3


@pytest.mark.real_data
def test_the_real_md_agreement() -> None:
    panel = panels.load_lewidi("MD-Agreement")
    assert panel.instances["split"].value_counts().to_dict() == {
        "train": 6592,
        "dev": 1104,
        "test": 3057,
    }
    assert panel.instances["domain"].nunique() == 3
    assert panel.n_merged == 1
    assert len(panel.opinions) == 5 * 10_753 - 1
    counts = opinions_per_split(panel) > 0
    assert len(counts) == 819
    assert counts.sum().to_dict() == {"train": 670, "dev": 534, "test": 246}
    assert (counts["test"] & ~counts["train"]).sum() == 148


def test_who_changes_her_group_between_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hs = "HS-Brexit"
    good, other = ({"1": item(hs, "0,1", "Ann1,Ann3")} for _ in range(2))
    other["1"]["other_info"]["annotators group"] = "group2,group1"
    write_panel(hs, {"train": good, "dev": good, "test": other}, tmp_path, monkeypatch)
    with pytest.raises(ValueError, match=r"_test.json, item '1': expert 'Ann1' has the group con"):
        panels.load_lewidi("HS-Brexit")
