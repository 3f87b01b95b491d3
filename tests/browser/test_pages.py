"""Every page of the built book in a real browser, as its readers see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize
from visits import LAPTOP, NARROW, PHONE, Reader, pages_of

from siscm.theory.statements import STATEMENTS

KNOWN_WORD = "chemotherapy"
ITS_CHAPTER = "04_similar_experts"
LEAST_WORDS = 4
"""Of a picture's text: fewer are a file's name or a word such as "image"."""


def test_every_chapter_is_a_page(book: Path) -> None:
    names = pages_of(book)
    assert "search.html" in names
    assert len([name for name in names if name.startswith("notebooks/")]) > 10


def test_asks_nobody_outside(reader: Reader, page: str) -> None:
    visit = reader.served(page)
    assert visit.requests
    named = [*visit.requests, *visit.seen["hints"]]  # a browser may look up a host in silence
    assert [url for url in named if not url.startswith((reader.address, "data:"))] == []


def test_complains_of_nothing(reader: Reader, page: str) -> None:
    assert reader.served(page).complaints == []


def test_sets_every_formula(reader: Reader, page: str) -> None:
    seen = reader.served(page).seen
    assert seen["unrendered"] == []
    assert seen["raw"] == []
    assert seen["spoken"] == seen["formulas"]


def test_shows_every_image_and_says_what_is_on_it(reader: Reader, page: str) -> None:
    images = reader.served(page).seen["images"]
    assert [image["address"] for image in images if not image["shown"]] == []
    told = [image["address"] for image in images if len(image["alt"].split()) >= LEAST_WORDS]
    assert [image["address"] for image in images] == told


def test_links_to_what_exists(reader: Reader, page: str) -> None:
    assert reader.dead_links(reader.served(page)) == []


def test_is_never_wider_than_the_screen(reader: Reader, page: str) -> None:
    width = reader.served(page).width
    assert width["laptop"] <= LAPTOP[0]
    assert width["phone"] <= PHONE[0]
    assert width["narrow"] <= NARROW[0]


def test_bars_nobody_who_has_no_mouse_or_hears_it(reader: Reader, page: str) -> None:
    assert reader.served(page).barred == []


def test_statements_are_numbered_as_their_checks(book: Path) -> None:
    """The checks have the paper's numbers; what a page prints, Sphinx counts."""
    page = (book / "book" / "statements.html").read_text("utf-8")
    printed = re.findall(r">((?:Definition|Theorem|Corollary) \d+)</a></p></td>", page)
    names = [statement.check.__name__ for statement in STATEMENTS]
    assert [number.lower().replace(" ", "_") for number in printed] == names


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


def test_keeps_its_formulas_whatever_a_menu_has_stored(reader: Reader) -> None:
    page, visit = reader.open(reader.dark, reader.address, f"notebooks/{ITS_CHAPTER}.html")
    page.close()
    assert visit.seen["formulas"] > 20
    assert visit.seen["unrendered"] == []
    assert visit.complaints == []


def test_a_formula_has_no_menu(reader: Reader) -> None:
    page, _ = reader.open(reader.light, reader.address, f"notebooks/{ITS_CHAPTER}.html")
    page.locator("mjx-container").first.click(button="right")
    assert page.locator("[role=menu]").count() == 0
    page.close()


def test_a_wide_figure_is_seen_up_to_the_edge_while_it_is_moved(reader: Reader) -> None:
    """On a phone it fades where it goes on, and nowhere before."""
    size: ViewportSize = {"width": PHONE[0], "height": PHONE[1]}
    page = reader.browser.new_page(viewport=size)  # of a reader who does not mind motion
    page.goto(f"{reader.address}notebooks/02_experts_who_dont_talk.html")
    for share in (0, 0.25, 0.45, 0.8):
        seen, edge = page.evaluate(
            """async share => {
                const image = document.querySelector("img.siscm-wide");
                const figure = image.closest("figure");
                figure.scrollLeft = share * (figure.scrollWidth - figure.clientWidth);
                for (let frame = 0; frame < 3; frame++)
                    await new Promise(requestAnimationFrame);
                const seen = getComputedStyle(image).getPropertyValue("--siscm-seen");
                return [parseFloat(seen), figure.scrollLeft + figure.clientWidth];
            }""",
            share,
        )
        assert edge - 5 < seen < edge + 120
    page.close()


@pytest.mark.parametrize("served", [True, False])
def test_search_finds_a_known_word(reader: Reader, served: bool) -> None:
    page = reader.light.new_page()
    visit = reader.follow(page)
    page.goto(f"{reader.address if served else reader.book.as_uri() + '/'}book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type(KNOWN_WORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?*")
    page.get_by_text("Search finished").wait_for()
    found = page.locator("#search-results li a").filter(visible=True)
    assert any(ITS_CHAPTER in (link.get_attribute("href") or "") for link in found.all())
    if served:
        page.locator("#search-results .context").first.wait_for()  # lines of the pages found
    page.close()
    assert visit.complaints == []


@pytest.mark.parametrize(("status", "complaints"), [(304, 0), (404, 2), (500, 2)])
def test_an_answer_without_the_file_is_trouble_but_where_the_browser_has_kept_it(
    reader: Reader, status: int, complaints: int
) -> None:
    """With 304 a server says that a file has not changed."""
    page = reader.light.new_page()
    visit = reader.follow(page)
    page.route("**/basic.css*", lambda route: route.fulfill(status=status))
    page.goto(f"{reader.address}book/intro.html")
    page.close()
    assert len(visit.complaints) == complaints, visit.complaints


def test_formulas_and_links_are_there_to_be_tested(reader: Reader) -> None:
    seen = reader.served(f"notebooks/{ITS_CHAPTER}.html").seen
    assert seen["formulas"] > 20
    assert seen["images"]
    assert len(seen["links"]) > 20


def test_the_notation_leads_to_the_reference(reader: Reader) -> None:
    links = reader.served("book/notation.html").seen["links"]
    for name in (
        "violations.violates",
        "partition.Step",
        "theory.scm.FiniteSCM",
        "opinions.Opinions",
    ):
        assert any("/api/" in link and link.endswith(f"#siscm.{name}") for link in links)


# --- the tests above, on pages that are broken on purpose


SOUND = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Toy</title>
<link rel="icon" href="data:,"><style>body {{ color: black; background: white }}</style>
<svg width="9" height="9" aria-label="A disc, a little cut off"><circle r="9"/></svg>{}
<a href="page.html"><svg width="9" height="9"><circle r="9"/></svg>at $5</a><code>$ x $</code>"""
PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
WIDE = '<div style="overflow-x: auto"><p style="width: 900px">wide</div>'
CUT = """<div style="width: 9px"><span class="math" style="display: flex; overflow: hidden">
<svg width="99" height="9" style="flex: none" aria-hidden="true"></svg></span></div>"""
LATE = "<script>setTimeout(() => fetch('https://host.invalid/'), 3000)</script>"

Check = Callable[[Reader, str], None]


def open_toy(reader: Reader, folder: Path, fragment: str) -> Reader:
    """A book of one page, sound but for a fragment."""
    (folder / "page.html").write_text(SOUND.format(fragment), encoding="utf-8")
    return Reader(reader.browser, folder, f"{folder.as_uri()}/", folder)


@pytest.mark.parametrize(
    ("check", "fragment"),
    [
        (test_asks_nobody_outside, LATE),
        (test_asks_nobody_outside, '<link rel="preconnect" href="https://host.invalid">'),
        (test_asks_nobody_outside, '<link rel="dns-prefetch" href="//host.invalid">'),
        (test_complains_of_nothing, "<script>setTimeout(() => console.error(9), 3000)</script>"),
        (test_sets_every_formula, "<p>Let $ x $ be."),
        (test_sets_every_formula, r"<p>Entropy \H is."),
        (test_sets_every_formula, r'<span class="math">\(x\)</span>'),
        (test_shows_every_image_and_says_what_is_on_it, f'<img alt="image" src="{PICTURE}">'),
        (test_shows_every_image_and_says_what_is_on_it, "<svg><circle r='9'/></svg>"),
        (test_links_to_what_exists, '<a href="page.html#nowhere">there</a>'),
        (test_is_never_wider_than_the_screen, '<div style="width: 400px">wide</div>'),
        (test_is_never_wider_than_the_screen, '<div style="width: 350px">wide</div>'),
        (test_bars_nobody_who_has_no_mouse_or_hears_it, WIDE),
        (test_bars_nobody_who_has_no_mouse_or_hears_it, CUT),
        (test_bars_nobody_who_has_no_mouse_or_hears_it, "<button><svg></svg></button>"),
        (test_bars_nobody_who_has_no_mouse_or_hears_it, "<table><tr><th>label</table>"),
        (test_bars_nobody_who_has_no_mouse_or_hears_it, '<i id="a">a</i><i id="a">a</i>'),
    ],
)
def test_a_broken_page_is_noticed(
    reader: Reader, tmp_path: Path, check: Check, fragment: str
) -> None:
    with pytest.raises(AssertionError):
        check(open_toy(reader, tmp_path, fragment), "page.html")


def test_a_sound_page_passes(reader: Reader, tmp_path: Path) -> None:
    toy = open_toy(reader, tmp_path, f'<img alt="A grey dot, hard to see" src="{PICTURE}">')
    for check in (
        test_asks_nobody_outside,
        test_complains_of_nothing,
        test_sets_every_formula,
        test_shows_every_image_and_says_what_is_on_it,
        test_links_to_what_exists,
        test_is_never_wider_than_the_screen,
        test_bars_nobody_who_has_no_mouse_or_hears_it,
    ):
        check(toy, "page.html")
