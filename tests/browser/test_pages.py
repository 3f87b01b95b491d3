"""Every page of the built book in a real browser, as its readers see it."""

from __future__ import annotations

from pathlib import Path

import pytest
from visits import LAPTOP, PHONE, Reader, pages_of

KNOWN_WORD = "chemotherapy"
ITS_CHAPTER = "04_similar_experts"


def test_every_chapter_is_a_page(book: Path) -> None:
    names = pages_of(book)
    assert "search.html" in names
    assert len([name for name in names if name.startswith("notebooks/")]) > 10


def test_asks_nobody_outside(reader: Reader, page: str) -> None:
    asked = reader.served(page).requests
    assert asked
    assert [url for url in asked if not url.startswith((reader.address, "data:"))] == []


def test_complains_of_nothing(reader: Reader, page: str) -> None:
    assert reader.served(page).complaints == []


def test_sets_every_formula(reader: Reader, page: str) -> None:
    seen = reader.served(page).seen
    assert seen["unrendered"] == []
    assert seen["raw"] == []


def test_shows_every_image_and_says_what_is_on_it(reader: Reader, page: str) -> None:
    images = reader.served(page).seen["images"]
    assert [image["address"] for image in images if not image["shown"]] == []
    # Sphinx gives its file's name to an image for which nobody has written a text.
    told = [image["alt"] and name_of(image["alt"]) != name_of(image["src"]) for image in images]
    assert [image["address"] for image, good in zip(images, told, strict=True) if not good] == []


def name_of(address: str) -> str:
    """The last part of an address, without what comes after the file."""
    return address.partition("?")[0].rpartition("/")[2]


def test_links_to_what_exists(reader: Reader, page: str) -> None:
    assert reader.dead_links(reader.served(page)) == []


def test_is_never_wider_than_the_screen(reader: Reader, page: str) -> None:
    width = reader.served(page).width
    assert width["laptop"] <= LAPTOP[0]
    assert width["phone"] <= PHONE[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_can_be_read(reader: Reader, page: str, theme: str) -> None:
    assert reader.served(page).faint[theme] == []


def test_reads_the_same_from_the_disk(reader: Reader, page: str) -> None:
    served, visit = reader.served(page), reader.as_file(page)
    folder = reader.book.as_uri()
    assert [url for url in visit.requests if not url.startswith((folder, "data:"))] == []
    assert visit.complaints == []
    assert visit.seen["unrendered"] == []
    assert visit.seen["formulas"] == served.seen["formulas"]
    assert [image["address"] for image in visit.seen["images"] if not image["shown"]] == []
    assert visit.faint["dark"] == []
    assert visit.width["phone"] <= PHONE[0]


def test_search_finds_a_known_word(reader: Reader) -> None:
    page = reader.light.new_page()
    page.goto(f"{reader.address}book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type(KNOWN_WORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?*")
    found = page.locator("#search-results li a").filter(visible=True)
    found.first.wait_for()
    assert any(ITS_CHAPTER in (link.get_attribute("href") or "") for link in found.all())
    page.close()


def test_formulas_and_links_are_there_to_be_tested(reader: Reader) -> None:
    seen = reader.served(f"notebooks/{ITS_CHAPTER}.html").seen
    assert seen["formulas"] > 20
    assert seen["images"]
    assert len(seen["links"]) > 20
