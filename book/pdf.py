"""Print the book as one PDF.

    make pdf                             the book on simulated data, as `make book` built it
    SISCM_DATA=real python book/pdf.py   that on the real files, as `make book-real` built it

The first is _build/siscm.pdf, whichever book was built last, the second _build/siscm-real.pdf.
Takes the notebooks that the build ran, and runs none itself. Needs Chromium or Chrome; the
environment variable SISCM_CHROMIUM may name one.
"""

import sys
from pathlib import Path
from typing import Any

from build import ROOT, BuildError, jupyter_book, suffix
from chromium import find_chromium
from playwright.sync_api import sync_playwright

from siscm.data.registry import setting

FIRST = "book/intro.html"
SECONDS_TO_OPEN = 180
TEXT_WIDTH = 680  # of a printed page, in CSS pixels: 210 mm less both margins
FOOTER = """
<div style="width: 100%; font: 8px sans-serif; text-align: center">
  <span class="pageNumber"></span>
</div>
"""

# Bookmarks for chapters only, and no link that leads to a file of this machine.
PREPARE = """async () => {
  document.querySelectorAll(".bd-sidebar, .bd-header").forEach((part) => part.remove());
  document.querySelectorAll("[role=heading]").forEach((part) => part.removeAttribute("role"));
  [...document.links]
    .filter((link) => link.protocol === "file:" && !link.getAttribute("href").startsWith("#"))
    .forEach((link) => link.removeAttribute("href"));
  await window.MathJax?.startup?.promise;
  for (const image of document.images) image.loading = "eager"; // a lazy one would wait for ever
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
}"""
FAULTS = """() => [
  ...["h1", "h2", ".math", "img"].filter((kind) => !document.querySelector(kind))
    .map((kind) => `the page has no chapters on it: no ${kind}`),
  ...[...document.querySelectorAll(".math:not(:has(mjx-container)), [data-mml-node=merror]")]
    .map((formula) => `a formula is not set: ${formula.textContent.trim().slice(0, 60)}`),
  ...[...document.images].filter((image) => !image.naturalWidth)
    .map((image) => `an image is missing: ${image.getAttribute("src")}`),
  ...[...document.querySelectorAll(".bd-article figure, .bd-article table, .bd-article pre")]
    .filter((element) => element.scrollWidth > element.clientWidth + 1)
    .map((element) => `wider than the page: ${element.textContent.trim().slice(0, 60)}`),
]"""


def single_page(source: Path, data: str) -> Path:
    """Set all pages as one, from the notebooks that were run for them."""
    if not list((source / "notebooks").glob("*.ipynb")):
        raise BuildError(f"no book to print: {source} holds no notebook; run `make book` first")
    jupyter_book(source, data, "--builder", "singlehtml")
    folder = source / "_build" / "singlehtml"
    # It lies beside the first page but addresses everything from the folder above.
    page = folder / "siscm.html"
    text = (folder / FIRST).read_text(encoding="utf-8")
    page.write_text(text.replace(f'href="{FIRST}#', 'href="#'), encoding="utf-8")
    return page


def print_page(page: Path, target: Path, chromium: str) -> None:
    """Open a page, stop if anything on it is missing, and print it with bookmarks and numbers."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(viewport={"width": TEXT_WIDTH, "height": 960})
        opened.emulate_media(media="print")
        opened.goto(page.as_uri(), timeout=1000 * SECONDS_TO_OPEN)
        opened.evaluate(PREPARE)
        found: Any = opened.evaluate(FAULTS)
        if found:
            raise BuildError("\n".join(found))
        opened.pdf(
            path=target,
            prefer_css_page_size=True,
            print_background=True,
            outline=True,
            tagged=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
        )
        browser.close()


def main() -> int:
    """Print the book; 1 if that failed."""
    browser = find_chromium()
    if browser is None:
        print(
            "no Chromium to print with: install Debian's with `apt-get install chromium`, or let "
            "SISCM_CHROMIUM name one",
            file=sys.stderr,
        )
        return 1
    try:
        data = setting()
        page = single_page(ROOT / "_build" / f"source{suffix(data)}", data)
        target = ROOT / "_build" / f"siscm{suffix(data)}.pdf"
        print_page(page, target, browser)
    except (BuildError, ValueError) as error:
        print(f"book/pdf.py failed\n{error}", file=sys.stderr)
        return 1
    print(f"The book is printed: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
