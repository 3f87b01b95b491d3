"""What readers meet who come with keys, with a finger, in the dark, or with paper."""

from __future__ import annotations

import pytest
from visits import CONTRAST, THEME, Reader

CHAPTER = "notebooks/03_would_have_said.html"


@pytest.mark.parametrize(
    ("focused", "marked"),
    [
        (".bd-header-article .primary-toggle", ".primary-toggle"),
        (".bd-header-article .dropdown-toggle", ".dropdown-toggle"),
        (".bd-content .sd-stretched-link", ".sd-card"),
    ],
)
def test_where_the_keys_are_is_marked(reader: Reader, focused: str, marked: str) -> None:
    page, _ = reader.open(reader.light, reader.address, "book/intro.html")
    style = "([at, on]) => getComputedStyle(document.querySelector(at).closest(on)).outlineStyle"
    assert page.evaluate(style, [focused, marked]) == "none"
    page.keyboard.press("Tab")
    page.locator(focused).first.focus()
    assert page.evaluate(style, [focused, marked]) == "solid"
    page.close()


def test_a_box_is_opened_by_keys_and_its_button_says_which(reader: Reader) -> None:
    page, _ = reader.open(reader.light, reader.address, CHAPTER)
    button = page.get_by_role("button", name="Click to show Proof idea").first
    button.press("Enter")
    button = page.get_by_role("button", name="Click to hide Proof idea")
    assert button.get_attribute("aria-expanded") == "true"
    page.close()


def test_a_dark_page_is_light_on_paper_and_dark_again(reader: Reader) -> None:
    page, _ = reader.open(reader.dark, reader.address, CHAPTER)
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {theme})")
    page.pdf()
    assert page.evaluate(f"[window.printed, {theme}]") == ["light", "dark"]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(CONTRAST) == []
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_a_search_found_can_be_read(reader: Reader, theme: str) -> None:
    page, _ = reader.open(reader.light, reader.address, "search.html?q=violation")
    page.locator("#search-results li a .highlighted").first.wait_for()
    page.evaluate(THEME, theme)
    assert page.evaluate(CONTRAST) == []
    page.close()


def test_letters_of_the_index_are_as_wide_as_a_finger_needs(reader: Reader) -> None:
    page, _ = reader.open(reader.dark, reader.address, "genindex.html")
    boxes = [link.bounding_box() for link in page.locator(".genindex-jumpbox a").all()]
    assert len(boxes) > 20
    assert all(box and min(box["width"], box["height"]) >= 24 for box in boxes)
    page.close()


def test_nothing_slides_for_a_reader_who_minds_motion(reader: Reader) -> None:
    page = reader.light.new_page()
    page.goto(reader.address + CHAPTER)
    slow = """() => [...document.querySelectorAll("body *")]
        .filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"""
    assert page.evaluate(slow) == 0
    page.close()


@pytest.mark.parametrize("path", ["book/intro.html", CHAPTER])
def test_a_tab_names_the_page_and_the_book_once_each(reader: Reader, path: str) -> None:
    page, _ = reader.open(reader.light, reader.address, path)
    named = page.title().split(" — ")
    assert named[-1] == "Counterfactual Inference of Second Opinions"
    assert len(named) == len(set(named)) == (1 if path == "book/intro.html" else 2)
    page.close()
