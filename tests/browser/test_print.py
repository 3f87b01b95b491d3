"""The PDF's bookmarks, as Chromium makes them of headings under the book's stylesheet."""

from __future__ import annotations

import re
from pathlib import Path

from visits import Reader

STYLE = Path(__file__).resolve().parents[2] / "book" / "_static" / "siscm.css"
LONG = "A heading that takes more than a single line of the page on which it stands"
SHORT = [f"Heading {n}" for n in range(40)]


def test_bookmarks_say_what_the_headings_say(reader: Reader, tmp_path: Path) -> None:
    """Each once, spaces and all, wherever lines and pages end."""
    parts = "".join(
        f'<div style="height: {3 * n}mm"></div><h3>{name}</h3>'
        '<div style="height: 9cm" class="proof">·</div>'
        for n, name in enumerate(SHORT)
    )
    page = tmp_path / "page.html"
    tight = (
        "h1, h3 { font: 1.3rem/1 sans-serif; margin: 1rem 0 }"  # letters reach out of their lines
    )
    style = tight + STYLE.read_text(encoding="utf-8")
    page.write_text(
        f'<meta charset="utf-8"><style>{style}</style>'
        f'<article class="bd-article"><h1>{LONG}</h1>{parts}</article>',
        encoding="utf-8",
    )
    opened = reader.browser.new_page()
    opened.goto(page.as_uri())
    printed = opened.pdf(prefer_css_page_size=True, outline=True, tagged=True)
    opened.close()
    titles = re.findall(rb"/Title \(([^)]*)\)", printed)
    bookmarks = {title.decode() for title in titles}
    assert bookmarks - {"page.html", ""} == {LONG, *SHORT}
