"""No number on a page without the data that it shows."""

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from siscm.compendium import pages


@pytest.mark.parametrize(
    ("value", "said"), [("simulated", "SIMULATED DATA"), ("real", "REAL DATA")]
)
def test_banner_says_which_data(monkeypatch, value, said):
    monkeypatch.setenv("SISCM_DATA", value)
    shown = pages.banner()
    assert said in shown._repr_html_()
    assert said in repr(shown)


def test_banner_refuses_another_setting(monkeypatch):
    monkeypatch.setenv("SISCM_DATA", "reel")
    with pytest.raises(ValueError, match="reel"):
        pages.banner()


@pytest.mark.parametrize("data", pages.LABELS)
def test_table_says_which_data_in_both_forms(data):
    shown = pages.table(pd.DataFrame({"a": [1]}), "What to see & why.", data, note="a < b")
    assert pages.LABELS[data] in shown._repr_html_()
    assert "What to see &amp; why." in shown._repr_html_()
    assert "a &lt; b" in shown._repr_html_()
    assert f"[{pages.LABELS[data]}] What to see & why." in repr(shown)


def test_alarm_is_red_and_only_where_a_cell_holds_its_word():
    frame = pd.DataFrame({"a": ["FAILS", "FAILS not"], "b": ["<td>FAILS</td>", "ok"]})
    quiet, loud = (
        pages.table(frame, "FAILS", "example", alarm=word)._repr_html_() for word in (None, "FAILS")
    )
    assert "siscm-alarm" not in quiet
    assert loud.count("siscm-alarm") == 1
    assert f'<td class="siscm-alarm" {pages.ALARM_STYLE}>FAILS</td>' in loud
    assert loud.replace(f' class="siscm-alarm" {pages.ALARM_STYLE}', "") == quiet


def test_table_follows_the_switch(monkeypatch):
    for value in ("simulated", "real"):
        monkeypatch.setenv("SISCM_DATA", value)
        assert f"[{value} data]" in repr(pages.table(pd.Series({"a": 1}, name="n"), "c"))


def test_table_shows_an_index_only_if_it_says_something():
    counted = repr(pages.table(pd.DataFrame({"a": [7, 8]}), "c", "example"))
    named = repr(pages.table(pd.DataFrame({"a": [7]}, index=["row name"]), "c", "example"))
    assert "row name" in named
    assert "0" not in counted


def test_stamp_is_in_the_figure(monkeypatch):
    mpl.use("agg")
    monkeypatch.setenv("SISCM_DATA", "real")
    figure = plt.figure()
    pages.stamp(figure)
    pages.stamp(figure, "example")
    assert [text.get_text() for text in figure.texts] == ["real data", "worked example"]
    plt.close(figure)


def test_stamp_has_a_strip_of_its_own():
    figure, axes = plt.subplots(layout="constrained")
    axes.set_xlabel("a label at the foot")
    pages.stamp(figure, "example")
    figure.canvas.draw()
    stamp = figure.texts[0].get_window_extent()
    assert stamp.y1 < axes.xaxis.label.get_window_extent().y0
    plt.close(figure)


@pytest.mark.parametrize("value", ["simulated", "real"])
def test_stamp_follows_the_switch(monkeypatch, value):
    monkeypatch.setenv("SISCM_DATA", value)
    figure = plt.figure()
    pages.stamp(figure)
    assert [text.get_text() for text in figure.texts] == [f"{value} data"]
    plt.close(figure)


def test_recorded_scores_tell_known_groups_from_learned():
    learned, known = (repr(pages.recorded_scores("HS-Brexit", g)) for g in ("learned", "known"))
    assert "with the learned groups" in learned
    assert "with the known groups" in known
    assert "same group" in known
    assert "same group" not in learned


def test_recorded_tables_name_files_and_date():
    entry = pages.expected("panels")["HS-Brexit"]
    for shown in (
        pages.recorded_scores("HS-Brexit", "known"),
        pages.recorded_scores("MD-Agreement", "learned"),
        pages.recorded_sizes(),
    ):
        text = repr(shown)
        assert text.startswith("[recorded on the real files]")
        assert entry["date"] in text
        assert "SHA-256" in text
    for path, sha in entry["files"].items():
        assert f"{path.rsplit('/', 1)[1]} {sha[:8]}" in repr(pages.recorded_sizes())


def test_recorded_scores_quote_the_file():
    recorded = pages.expected("panels")["MD-Agreement"]["figures"]["scores"]["copy"]["all pairs"]
    text = repr(pages.recorded_scores("MD-Agreement", "learned"))
    assert f"{recorded['accuracy']:.3f} [{recorded['accuracy_low']:.3f}" in text


def test_a_missing_record_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"expected/panels\.json"):
        pages.expected("panels")


def test_sizes_keep_their_order_where_one_panel_lacks_a_figure():
    full = dict.fromkeys(pages.SIZES, 1000)
    lacking = {key: value for key, value in full.items() if key != "median_meetings_of_other_pairs"}
    frame = pd.DataFrame({"a": pages.sizes(full), "b": pages.sizes(lacking)})
    assert list(frame.index) == list(pages.SIZES.values())
    assert set(frame["a"]) == {"1,000"}
    assert list(frame["b"]).count("") == 1


def test_a_page_without_a_panel_says_so():
    assert repr(pages.banner("example")).startswith("WORKED EXAMPLE")


def test_long_text_is_read_from_the_left():
    words = pd.DataFrame({"what": ["a sentence that is too long to be aligned right"], "n": [1]})
    assert "siscm-words" in pages.table(words, "Caption.", "example").markup
    assert "siscm-words" not in pages.table(words[["n"]], "Caption.", "example").markup


def test_the_code_of_a_check_is_shown_as_it_is():
    shown = pages.source(pages.source)
    assert repr(shown).startswith("def source(function")
    assert shown._repr_markdown_() == f"```python\n{shown}```"


def test_sentences_are_joined_and_percent_signs_set_off():
    said = pages.say(
        f"""
        It is {0.5:.0%} of
        them.

        - One,
          and more.
        - Two: 3 %.
        """
    )
    text = "It is 50\N{NO-BREAK SPACE}% of them.\n\n- One, and more.\n- Two: 3 %."
    assert repr(said) == text
    assert said._repr_markdown_() == text
    assert repr(pages.say("One line.")) == "One line."


def test_an_interval_stays_on_one_line():
    shown = pages.table(pd.Series({"a": "0.5 [-0.1, +1.0]", "b": "x, [y, z]"}), "A.", "example")
    assert "<td>0.5 [-0.1,&nbsp;+1.0]</td>" in shown._repr_html_()
    assert "<td>x, [y, z]</td>" in shown._repr_html_()
    assert "[-0.1, +1.0]" in repr(shown)
