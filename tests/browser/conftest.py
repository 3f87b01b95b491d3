"""The built book, a server of it, and every page as a reader's browser shows it.

`make test-browser` collects these tests, no other command does. SISCM_BOOK names the folder of the
pages, by default _build/html; pictures of all of them are kept in the folder beside it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book"))

from chromium import find_chromium
from visits import Reader, pages_of

ROOT = Path(__file__).resolve().parents[2]
BOOK = (ROOT / os.environ.get("SISCM_BOOK", "_build/html")).resolve()
PICTURES = BOOK.with_name(BOOK.name.replace("html", "screenshots"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a ``page`` runs once a page; all of a page's tests in one process."""
    if "page" in metafunc.fixturenames:
        names = pages_of(BOOK) if BOOK.exists() else ["index.html"]
        marked = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]
        metafunc.parametrize("page", marked, ids=names, scope="module")


@pytest.fixture(scope="session")
def book() -> Path:
    """The folder of the built pages."""
    if not BOOK.exists():
        pytest.fail(f"no book to read: there is no {BOOK}; run `make book` first")
    return BOOK


class Quiet(SimpleHTTPRequestHandler):
    """A server that keeps no log."""

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="session")
def address(book: Path) -> Iterator[str]:
    """Where the book is served, on this machine only."""
    handler = partial(Quiet, directory=str(book))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}/"
        http.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def reader(book: Path, address: str) -> Iterator[Reader]:
    """A browser that opens every page at most once served and once as a file."""
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium here: `apt-get install chromium`, or let SISCM_CHROMIUM name one")
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        yield Reader(browser, book, address, PICTURES)
        browser.close()
