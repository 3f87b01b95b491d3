"""Opening the book's pages in a browser, and noting what a reader would see of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

HERE = Path(__file__).parent
LOOK = (HERE / "look.js").read_text(encoding="utf-8")
CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")
BARRED = (HERE / "barred.js").read_text(encoding="utf-8")

LAPTOP, PHONE, NARROW = (1366, 768), (390, 844), (320, 640)
SECONDS_TO_OPEN = 60
TALLEST = 16_000
"""Pixels of a picture: Chromium draws no more at once."""

CHOSEN = '{"explorer": true, "collapsible": true, "renderer": "CHTML"}'
"""What the menu of a formula stores, in any book on the disk, and takes files that are not here."""

Theme = Literal["light", "dark"]
THEME = """(theme) => Object.assign(document.documentElement.dataset, {theme, mode: theme})"""
STILL = """*, *::before, *::after { transition: none !important; animation: none !important; }"""


def pages_of(book: Path) -> list[str]:
    """Every page of a built book: those that lie there, and those that the first page lists."""
    lying = {path.relative_to(book).as_posix() for path in book.rglob("*.html")}
    lying = {name for name in lying if not name.startswith(("_static/", "_sources/"))}
    first = (book / "book" / "intro.html").read_text(encoding="utf-8")
    listed = re.findall(r'<a class="[^"]*\binternal" href="([^"#]+\.html)"', first)
    resolved = {(book / "book" / name).resolve().relative_to(book).as_posix() for name in listed}
    return sorted(lying | resolved)


class _Names(HTMLParser):
    """Collects the names that a link can point to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value for name, value in attrs if name in ("id", "name") and value}


@cache
def names_in(page: Path) -> frozenset[str]:
    """The names in a page that a link can point to."""
    parser = _Names()
    parser.feed(page.read_text(encoding="utf-8"))
    return frozenset(parser.found)


@dataclass
class Visit:
    """One page, opened in one way: what it asked for, complained of and shows."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    seen: Mapping[str, Any] = field(default_factory=dict)
    faint: dict[Theme, list[str]] = field(default_factory=dict)
    barred: list[str] = field(default_factory=list)
    width: dict[str, int] = field(default_factory=dict)


class Reader:
    """A browser with the book in it; what was opened once is kept."""

    def __init__(self, browser: Browser, book: Path, address: str, pictures: Path) -> None:
        self.browser, self.book, self.address, self.pictures = browser, book, address, pictures
        self._served: dict[str, Visit] = {}
        self._filed: dict[str, Visit] = {}

    @cached_property
    def light(self) -> BrowserContext:
        """Windows of a reader who has set nothing."""
        return self.browser.new_context(viewport=_size(LAPTOP), reduced_motion="reduce")

    @cached_property
    def dark(self) -> BrowserContext:
        """Windows of a reader with a phone who has chosen dark pages, and from a formula's menu."""
        context = self.browser.new_context(viewport=_size(PHONE), reduced_motion="reduce")
        context.add_init_script(
            "for (const key of ['mode', 'theme']) localStorage.setItem(key, 'dark')"
        )
        context.add_init_script(f"localStorage.setItem('MathJax-Menu-Settings', '{CHOSEN}')")
        return context

    def served(self, name: str) -> Visit:
        """A page as it is served: at a laptop's width, light and dark, and at two phones'."""
        if name not in self._served:
            page, visit = self.open(self.light, self.address, name)
            visit.faint["light"] = page.evaluate(CONTRAST)
            self._picture(page, name, "laptop-light")
            page.evaluate(THEME, "dark")
            visit.faint["dark"] = page.evaluate(CONTRAST)
            self._picture(page, name, "laptop-dark")
            page.evaluate(THEME, "light")
            visit.width["laptop"] = page.evaluate("document.scrollingElement.scrollWidth")
            page.set_viewport_size(_size(PHONE))
            visit.width["phone"] = page.evaluate("document.scrollingElement.scrollWidth")
            self._picture(page, name, "phone-light")
            page.clock.fast_forward(1000)  # a page sees, and settles at, its new width
            visit.barred = page.evaluate(BARRED)
            page.set_viewport_size(_size(NARROW))
            visit.width["narrow"] = page.evaluate("document.scrollingElement.scrollWidth")
            page.close()
            self._served[name] = visit
        return self._served[name]

    def as_file(self, name: str) -> Visit:
        """A page opened from the disk, dark and on a phone."""
        if name not in self._filed:
            page, visit = self.open(self.dark, f"{self.book.as_uri()}/", name)
            visit.faint["dark"] = page.evaluate(CONTRAST)
            visit.width["phone"] = page.evaluate("document.scrollingElement.scrollWidth")
            self._picture(page, name, "phone-dark")
            page.close()
            self._filed[name] = visit
        return self._filed[name]

    @staticmethod
    def follow(page: Page) -> Visit:
        """Note from now on what a page asks for and complains of."""
        visit = Visit()
        page.on("request", lambda request: visit.requests.append(request.url))
        page.on(
            "response",
            lambda answer: (  # 304: the file that the browser has kept is still the same
                answer.ok
                or answer.status == 304
                or visit.complaints.append(f"{answer.status}: {answer.url}")
            ),
        )
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and visit.complaints.append(said.text),
        )
        return visit

    def open(self, context: BrowserContext, folder: str, name: str) -> tuple[Page, Visit]:
        """Open a page, wait until formulas and images are there, and let a minute seem to pass."""
        page = context.new_page()
        visit = self.follow(page)
        page.clock.install()
        page.goto(folder + name, timeout=1000 * SECONDS_TO_OPEN)
        if name == "index.html":  # it only leads to the first page
            page.wait_for_url("**/book/intro.html")
        page.add_style_tag(content=STILL)
        visit.seen = page.evaluate(LOOK)
        page.clock.fast_forward(60_000)  # what a page would ask for later, it asks for now
        return page, visit

    def _picture(self, page: Page, name: str, kind: str) -> None:
        """Keep a picture of a page, of a very long one its upper part."""
        stem = name.removesuffix(".html").replace("/", "-")
        size = page.evaluate("[innerWidth, document.scrollingElement.scrollHeight]")
        shown = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], TALLEST)}
        path = self.pictures / f"{stem}-{kind}.png"
        page.screenshot(path=path, full_page=True, clip=shown)

    def dead_links(self, visit: Visit) -> list[str]:
        """Links of a served page to a file, or a place in a page, that the book does not have."""
        dead = []
        for link in sorted({link for link in visit.seen["links"] if link.startswith(self.address)}):
            parts = urlsplit(link.removeprefix(self.address))
            target = self.book / unquote(parts.path)
            place = unquote(parts.fragment)
            found = target.is_file()
            if found and place and target.suffix == ".html":
                found = place in names_in(target)
            if not found:
                dead.append(link)
        return dead


def _size(size: tuple[int, int]) -> Any:
    return {"width": size[0], "height": size[1]}
