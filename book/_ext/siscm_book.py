"""Sphinx extension of this book: a bar that names the data, numbers, no outside host, the API."""

import ast
import functools
import html
import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

import numpy as np
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config

import siscm
from siscm import GumbelMaxSISCM, partition
from siscm.cifar10h import released
from siscm.cifar10h.pipeline import experiment_kind
from siscm.cifar10h.preprocessing import preprocess
from siscm.compendium.kinds import LABELS
from siscm.compendium.pages import expected
from siscm.compendium.paper import default
from siscm.data.registry import setting

LONGEST_VALUE = 100
"""Characters of a constant's value in the reference; what is longer is left to its docstring."""

DESCRIBED = 250
"""Characters of a page that tell what it is about."""

ANNOUNCEMENTS = {
    "simulated": "This build shows SIMULATED data: made-up opinions, shaped like the real panels.",
    "real": "This build shows REAL data: opinions of real people, from the published files.",
    "mixed": "REAL panels and counts, but a SIMULATED twin of CIFAR-10H's raw file: look at each "
    "table's and figure's mark.",
    "own": "This page shows YOUR data: the files that you named, but where a table or a figure is "
    "marked otherwise.",
}


def announce_the_data(app: Sphinx, config: Config) -> None:
    """Put a bar on top of every page that says which data this build shows."""
    data = "mixed" if setting() == "real" and experiment_kind() == "twin" else setting()
    config.html_theme_options["announcement"] = _bar(data)


def announce_own_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let the bar say what the page's own banner does, if that names the reader's own files."""
    shown = doctree.findall(nodes.raw) if doctree else ()
    banners = [raw for raw in map(nodes.raw.astext, shown) if 'class="siscm-banner"' in raw]
    if banners and all(LABELS["own"].upper() in raw for raw in banners):
        context["theme_announcement"] = _bar("own")


def _bar(data: str) -> str:
    return f'<span class="siscm-data siscm-data-{data}">{ANNOUNCEMENTS[data]}</span>'


def mark_the_heads(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Say of each head of a table what it heads, which Sphinx and pandas do not.

    And leave out the one id that every statement of a page has, for an id names one thing.
    """
    if "body" in context:
        body = context["body"].replace(' id="proof-content"', "")
        for part, heads in (("thead", "col"), ("tbody", "row")):
            pieces = re.split(rf"(<{part}>.*?</{part}>)", body, flags=re.DOTALL)
            pieces[1::2] = [re.sub(r"<th\b", f'<th scope="{heads}"', one) for one in pieces[1::2]]
            body = "".join(pieces)
        context["body"] = body


def describe_the_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell search engines and previews what a page is about: what its first paragraph says.

    The start page's own title is the book's, which Sphinx would append to it once more.
    """
    if page == app.config.root_doc:
        context["docstitle"] = ""
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if first is not None:
        words = first.astext().removeprefix("What you will see. ")
        said = html.escape(textwrap.shorten(words, DESCRIBED, placeholder=" …"))
        context["metatags"] += f'<meta name="description" content="{said}">'


def link_the_repository(app: Sphinx, config: Config) -> None:
    """Show the buttons that need the repository's address only where one is set."""
    if config.html_theme_options.get("repository_url"):
        config.html_theme_options |= {
            "use_repository_button": True,
            "launch_buttons": {
                "binderhub_url": "https://mybinder.org",
                "notebook_interface": "jupyterlab",
            },
        }


def quote_numbers(app: Sphinx, config: Config) -> None:
    """Tell pages without cells the numbers that they quote, as ``{{ name }}``: none is typed."""
    paper = expected("cifar10h")["paper"]
    setup, synthetic = paper["setup"], expected("synthetic")["paper"]["setup"]
    config.myst_substitutions = {
        "images": f"{paper['sizes']['images']:,}",
        "images_kept": f"{setup['images_in_the_experiment']:,}",
        "least_training": f"{setup['least_training_opinions']}",
        "least_test": f"{setup['least_test_opinions']}",
        "features": f"{setup['features']}",
        "test_share": f"{default(preprocess, 'test_size'):.0%}",
        "split_seed": f"{default(preprocess, 'seed')}",
        "synthetic_samples": f"{synthetic['samples']}",
        "synthetic_repeats": f"{synthetic['repeats']}",
        "zero": _power(released.ZERO),
        "min_proba": _power(GumbelMaxSISCM().min_proba),
        "rounding": _power(partition.ROUNDING),
    }


def _power(number: float) -> str:
    written = np.format_float_scientific(number, trim="-", exp_digits=1)
    return written.replace("-", "\N{NON-BREAKING HYPHEN}")


def drop_thebe(app: Sphinx, config: Config) -> None:
    """Unhook sphinx-thebe, which Jupyter Book always loads and which asks a CDN for its script."""
    for event in ("env-before-read-docs", "doctree-resolved"):
        listeners = app.events.listeners[event]
        listeners[:] = [
            listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"
        ]


def dress_the_docstring(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Head what the reference says of a module with its name; leave colons in sentences alone."""
    if what == "module":
        lines[:0] = [f".. rubric:: ``{name}``", "   :heading-level: 3", ""]
    elif what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # a comment: else Napoleon takes words before a colon for a type


def only_our_own(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool:
    """Leave out of the reference what scikit-learn adds to every estimator."""
    return skip or "sklearn" in str(getattr(obj, "__module__", ""))


@functools.cache
def written(module: str) -> dict[str, str]:
    """The values of a module's constants as its source has them, where a reader can use that."""
    source, found = inspect.getsource(import_module(module)), {}
    for node in ast.parse(source).body:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    match target, value:
                        case ast.Tuple(elts=names), ast.Tuple(elts=values):
                            pairs += zip(names, values, strict=True)
                        case _:
                            pairs.append((target, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs.append((target, value))
        for name, value in pairs:
            said = ast.get_source_segment(source, value) or ""
            if len(said) <= LONGEST_VALUE and not re.search(r"\n|\b_[A-Za-z]", said):
                found[ast.unparse(name)] = said
    return found


def as_written(app: Sphinx, domain: str, objtype: str, content: addnodes.desc_content) -> None:
    """Give a constant its value as its source does, on one line or not at all.

    Sphinx shows what came of it: all runs of a grid, addresses of functions, the insides of numpy.
    """
    signature = next(iter(content.parent.findall(addnodes.desc_signature)), None)
    if objtype != "data" or signature is None:
        return
    aliases = (one for one in content.children if one.astext().startswith("alias of "))
    values = (
        one for one in signature.findall(addnodes.desc_annotation) if one.astext().startswith(" = ")
    )
    for generated in (*aliases, *values):
        generated.parent.remove(generated)
    value = written(signature["module"]).get(signature["fullname"])
    if value is not None:
        space, equals = addnodes.desc_sig_space, addnodes.desc_sig_punctuation("", "=")
        signature += addnodes.desc_annotation("", "", space(), equals, space(), nodes.Text(value))


def link_the_notation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Lead from the names on the page of notation to the reference; to the class, of what it has.

    Names are those of the package, ``violates`` or ``gumbel.sample_noise``; words such as ``label``
    are left alone.
    """
    if docname != "book/notation":
        return
    known = app.env.get_domain("py").objects  # type: ignore[attr-defined]
    modules = {full.rpartition(".")[2] for full in known if known[full].objtype == "module"}
    for literal in doctree.findall(nodes.literal):
        name = literal.astext()
        head, dot, _ = name.partition(".")
        if head not in siscm.__all__ and not (dot and head in modules):
            continue
        ends = (f".{name}", f".{name.rpartition('.')[0]}")
        target = next((full for end in ends for full in known if full.endswith(end)), None)
        if target is not None:
            page = app.builder.get_relative_uri(docname, known[target].docname)
            link = nodes.reference("", "", internal=True, refuri=f"{page}#{known[target].node_id}")
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect each to its moment."""
    app.connect("config-inited", announce_the_data)
    app.connect("html-page-context", announce_own_files)
    app.connect("html-page-context", mark_the_heads)
    app.connect("html-page-context", describe_the_page)
    app.connect("config-inited", link_the_repository)
    app.connect("config-inited", quote_numbers)
    app.connect("config-inited", drop_thebe)
    app.connect("autodoc-process-docstring", dress_the_docstring, priority=400)  # before Napoleon
    app.connect("autodoc-skip-member", only_our_own)
    app.connect("object-description-transform", as_written)
    app.connect("doctree-resolved", link_the_notation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
