"""The browser that the book is printed and tested with: one that is installed, never a download."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find_chromium() -> str | None:
    """Find Chromium or Chrome: the one that SISCM_CHROMIUM names, else the first on the path."""
    return os.environ.get("SISCM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
