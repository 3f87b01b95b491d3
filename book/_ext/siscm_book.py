"""Sphinx extension of this book: a bar that names the data, and no request to any outside host."""

from sphinx.application import Sphinx
from sphinx.config import Config

from siscm.cifar10h_data import experiment_kind
from siscm.registry import setting

ANNOUNCEMENTS = {
    "simulated": "This build shows SIMULATED data: made-up opinions, shaped like the real panels.",
    "real": "This build shows REAL data: opinions of real people, from the published files.",
    "mixed": "REAL panels and counts, but a SIMULATED twin of CIFAR-10H's raw file: look at each "
    "table's and figure's mark.",
}


def announce_the_data(app: Sphinx, config: Config) -> None:
    """Put a bar on top of every page that says which data this build shows."""
    data = "mixed" if setting() == "real" and experiment_kind() == "twin" else setting()
    bar = f'<span class="siscm-data siscm-data-{data}">{ANNOUNCEMENTS[data]}</span>'
    config.html_theme_options["announcement"] = bar


def drop_thebe(app: Sphinx, config: Config) -> None:
    """Unhook sphinx-thebe, which Jupyter Book always loads and which asks a CDN for its script."""
    for event in ("env-before-read-docs", "doctree-resolved"):
        listeners = app.events.listeners[event]
        listeners[:] = [
            listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both to the moment when the configuration and all extensions are there."""
    app.connect("config-inited", announce_the_data)
    app.connect("config-inited", drop_thebe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
