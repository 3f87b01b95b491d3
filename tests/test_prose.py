"""No figure in a sentence of the book is typed: code computes it, or reads it from a record.

Read are README, the pages of the book, the text of the notebooks, the captions and alternative
texts of their figures, and what their cells type themselves of sentences and captions. What stands
between the braces of an f-string is computed, and so is what a page has as ``{{ name }}``
(``book/_ext``). All other numbers must be of those that name or define something.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").rglob("*.md"))]

NO_TEXT = [
    r"^(`{3,})\w*$.*?^\1$",  # a block of code
    r"`[^`]*`",
    r"\$\$.*?\$\$",
    r"\]\([^)]*\)",  # where a link leads
    r"\{\{.*?\}\}",
    r"^ *\d\. ",  # of a numbered list
    r"^:(link|width|gutter): .*$|^`*\{grid\}.*$",
]

NAMES = [
    r"(Section|Table|Algorithm|Eq\.|Step) \d",
    r"Le-Wi-Di 2023",
    r"UAI 2022",
    r"CIFAR-10H?",
    r"VGG19",
    r"SHA-256",
    r"Python 3\.11",
    r"CC BY(-NC-SA)? 4\.0",
    r"BSD 3-Clause",
    r"0/1 loss",
    r"0 to 100 per cent",  # a range
    r"([Oo]f|[Ii]n) a thousand opinions",  # a unit
    r"95 (%|per cent)( bootstrap)? intervals?",
]
"""What numbers are part of, without saying how much of anything there is."""

TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
LARGE = "hundred thousand million"

FIGURE = re.compile(
    r"(?<![\w.])[+−-]?(?![012](?![\w%.,  ]))\d[\d.,]*\d"  # of several digits
    r"|(?<![\w.,\d])\d[  ]?%"
    r"|(?<![\w.,\d])[3-9](?![\w\d])"
    rf"|\b({'|'.join(f'{TENS} {TEENS} {LARGE}'.split())})\b",
    re.IGNORECASE,
)
"""All numbers but 0, 1, 2 and the words to twelve: those are labels, bounds, and what one sees."""

SAYING = {"say", "print", "table"}
"""Functions whose texts a page shows."""


def figures(text: str) -> list[str]:
    """The numbers of a text that say how much of something there is."""
    for pattern in NO_TEXT:
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    text = " ".join(text.split())
    for pattern in NAMES:
        text = re.sub(rf"\b{pattern}\b", "", text)
    return [match.group().strip() for match in FIGURE.finditer(text)]


def literals(node: ast.expr) -> Iterator[str]:
    """What is typed of a text, whatever is computed into it."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield from literals(part)
        case ast.BinOp(left=left, right=right):
            yield from literals(left)
            yield from literals(right)


def typed(code: str) -> Iterator[str]:
    """The sentences and captions of a cell, as far as they are typed."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in SAYING:
                for argument in node.args:
                    yield from literals(argument)


def texts(path: Path) -> Iterator[str]:
    """All that a notebook says to its reader."""
    for cell in jupytext.read(path, fmt="md:myst").cells:
        if cell.cell_type == "markdown":
            yield cell.source
        else:
            shown = cell.metadata.get("mystnb", {})
            yield shown.get("image", {}).get("alt", "")
            yield shown.get("figure", {}).get("caption", "")
            yield from typed(cell.source)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_figure_in_a_sentence_of_a_notebook_is_typed(path: Path) -> None:
    assert [(found, text) for text in texts(path) for found in figures(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_figure_on_a_page_is_typed(path: Path) -> None:
    assert figures(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "It is 43.9 % of them.",
        "We have 114 experts.",
        "There are 3 of them.",
        "About thirty of them.",
        "A hundred.",
        "1,000 instances.",
        "From 0.4 on",
        "Up by 5 %",
        "From 2 % on",
        "where $T = 500$",
        "T\n=\n500",
        "```\nx\n```\n5 more",
        "at 95 % of the images",
        "(of 15)",
        "one, 7",
    ],
)
def test_a_figure_is_noticed(text: str) -> None:
    assert figures(text)
    assert list(typed(f"pages.say({text!r})")) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Section 4, Table 1, Eq. 5 and Algorithm 1",
        "1. Labels 0, 1 and 2, or −1.",
        "with 95 % intervals",
        "CIFAR-10H by VGG19",
        "Two of twelve, hundreds.",
        "as `range(34)` and $x = 1$ [here](07_x.md)",
        "with 95 % bootstrap\nintervals; {{ five }}",
        "```python\nx = 5\n```\n",
        "in [0, 1].",
    ],
)
def test_a_name_is_no_figure(text: str) -> None:
    assert figures(text) == []


def test_what_is_computed_is_not_typed() -> None:
    code = 'pages.say(f"It is {34 * x:,.3f} of 5 " "and 6" + "7")\nother("8")\nprint("9")'
    assert "".join(typed(code)) == "It is  of 5 and 679"
