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
    r"^(`{3,})\w+$.*?^\1$",  # a block of code, which names its language; no directive
    r"(?<!`)`[^`]+`(?!`)",
    r"\]\([^)]*\)",  # where a link leads
    r"\{\{ [a-z_]+ \}\}",
    r"^ *\d\. ",  # of a numbered list
    r"^:(link|width|gutter): [^\n]*$|^`*\{grid\}[^\n]*$",
]

NAMES = [
    r"\[95 %\]",  # heads a column of intervals
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
    r"95 ?(%|per cent)( bootstrap)? intervals?",
]
"""What numbers are part of, without saying how much of anything there is."""

TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
LARGE = "dozen hundred thousand million billion"

FIGURE = re.compile(
    r"(?<![\w.])[+−-]?(?![012](?![\w%.,  ]))\d[\d.,]*\d"  # of several digits
    r"|(?<![\w.,\d])\d[  ]?(%|per ?cent)"
    r"|(?<![\w.,\d])\d(x|rd|th|e[−-]?\d+)\b"
    r"|(?<![\w.,\d])[3-9](?![\w\d])"
    r"|[¼½¾⅓⅔]"
    rf"|\b({'|'.join(f'{TENS} {TEENS} {LARGE}'.split())})(th)?\b",
    re.IGNORECASE,
)
"""All numbers but 0, 1, 2 and the words to twelve: those are labels, bounds, and what one sees."""

SAYING = {"say", "print", "table", "append", "set", "set_title", "set_xlabel", "set_ylabel"}
"""Functions whose texts a page shows; some are gathered in a list before they are said."""


def figures(text: str) -> list[str]:
    """The numbers of a text that say how much of something there is."""
    for pattern in NO_TEXT:
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    text = " ".join(text.split())
    for pattern in NAMES:
        text = re.sub(rf"(?<!\w){pattern}(?!\w)", "", text)
    return [match.group().strip() for match in FIGURE.finditer(text)]


def typed(code: str) -> Iterator[str]:
    """The sentences and captions of a cell, as far as they are typed, and constants in braces."""
    for call in ast.walk(ast.parse(code)):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            for node in ast.walk(call) if name in SAYING else ():
                match node:
                    case ast.Constant(value=str(text)):
                        yield text
                    case ast.FormattedValue(value=ast.Constant(value=number)):
                        yield str(number)


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_says_a_link_to_a_page(path: Path) -> None:
    """Only links of text cells are turned into those of the built pages."""
    for cell in jupytext.read(path, fmt="md:myst").cells:
        if cell.cell_type == "code":
            assert not re.search(r"\]\([^)]*\.(ipynb|md)", cell.source)


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
        "```text\nx\n```\n5 more",
        "at 95 % of the images",
        "(of 15)",
        "one, 7",
        "at 1 per cent",
        "3x as fast",
        "½ of them",
        "up to 2e-3",
        "$$r > 0.3$$",
        "{{ 15 }} groups",
        "the fifteenth",
        "a dozen",
        "```{note}\n15 groups\n```",
        "```{image} x.png\n:width: 100%\n```\n\n15 groups\n\n```{note}\nx\n```",
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
        "95% bootstrap intervals",
    ],
)
def test_a_name_is_no_figure(text: str) -> None:
    assert figures(text) == []


@pytest.mark.parametrize(
    "code",
    [
        'print("9")',
        'print(f"{x} of " + "15")',
        'pages.say("15 groups" if x else "none")',
        'pages.say("{} of 15".format(x))',
        'pages.say(", ".join(["15 groups"]))',
        'pages.say(f"{0.3} of")',
        'pages.table(x, caption="c", note="15 groups")',
        'pages.table(pd.Series({"15 groups": x}), "c")',
        'said.append(f"{x} of 15")',
        'axes.set_title("T = 500")',
    ],
)
def test_what_a_cell_types_is_noticed(code: str) -> None:
    assert [found for text in typed(code) for found in figures(text)]


def test_what_is_computed_is_not_typed() -> None:
    code = 'pages.say(f"It is {34 * x:,.3f} of {len(y)}")\nother("8")\nn = 15\nx.loc[20]'
    assert not [found for text in typed(code) for found in figures(text)]
