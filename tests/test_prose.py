"""No figure in a sentence of the book is typed: code computes it, or reads it from a record.

Read are README, the pages of the book, the words of ``expected/``, the text of the notebooks, the
captions and alternative texts of their figures, and all strings of their cells but those that look
something up. What stands between the braces of an f-string is computed, if there is a name in it
that is not just a number typed elsewhere, and so is what a page has as ``{{ name }}``
(``book/_ext``). All other numbers must be of those that name or define something.

Not seen are the words one to twelve where they count ("two of the three", "half", "twice"), 0, 1
and 2 without a unit, a number that the cells use somewhere else too, those that reach a table or a
picture other than in a literal of ``DataFrame`` or ``Series``, ``"...".format(15)``, and comments.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").rglob("*.md")), ROOT / "expected/README.md"]

NO_TEXT = [
    r"^(`{3,})\w+$.*?^\1$",  # a block of code, which names its language; no directive
    r"(?<!`)`(007|(?![\d.,% ]+`)[^`]+)`(?!`)",  # code; a number alone is none
    r"\]\([^)]*\)",  # where a link leads
    r"\{\{ [a-z_]+ \}\}",
    r"^ *\d\. ",  # of a numbered list
    r"^:(link|width|gutter): [^\n]*$|^`*\{grid\}[^\n]*$",
]

NAMES = [
    r"\[95 %\]",  # heads a column of intervals
    r"(Section|Table|Figure|Theorem|Corollary|Algorithm|Eq\.|Step) \d",
    r"expert \d",
    r"10\^9 ordered pairs",  # a unit
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

LABEL = re.compile(r"\A(95 % ?|[\d.,]+ to [\d.,]*|\d+;.*)\Z")
"""Whole strings of a cell that are a column of intervals, a band of values, a row of a file."""

FEW = "three four five six seven eight nine ten eleven twelve"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
LARGE = "dozen hundred thousand million billion"

WORDS = "|".join(f"one two {FEW} {TENS} {TEENS}".split())

FIGURE = re.compile(
    r"(?<![\w.])[+−-]?(?![012](?![\w%.,  ]))\d[\d.,]*\d"  # of several digits
    r"|(?<![\w.,\d])\d[  ]?(%|per ?cent)"
    r"|(?<![\w.,\d])\d(e[−-]?\d+|[a-z]+)\b"  # a unit glued to it
    rf"|(?<![\w.,\d])(\d|{WORDS})[  ](percentage )?points?\b"
    rf"|\b({WORDS}) (per ?cent|percentage)\b"
    rf"|\b({'|'.join(FEW.split())}) (out of|of|in) (the )?({WORDS})\b"
    r"|\b(a|one) (third|quarter|fifth|tenth)( of\b|(?! ?\w))|\b(thirds|quarters)\b"
    r"|(?<![\w.,\d])[3-9](?![\w\d])"
    r"|[¼½¾⅓⅔]"
    rf"|\b({'|'.join(f'{TENS} {TEENS} {LARGE}'.split())})(th)?\b",
    re.IGNORECASE,
)
"""All numbers but 0, 1, 2 and the words to twelve without a unit: labels, bounds, what one sees."""


def figures(text: str) -> list[str]:
    """The numbers of a text that say how much of something there is."""
    for pattern in NO_TEXT:
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    text = " ".join(text.split())
    for pattern in NAMES:
        text = re.sub(rf"(?<!\w){pattern}(?!\w)", "", text)
    return [match.group().strip() for match in FIGURE.finditer(text)]


def typed(code: str) -> Iterator[str]:
    """What the cells of a notebook type themselves of what may be shown: strings, and numbers."""
    nodes = [*ast.walk(ast.parse(code))]
    looked_up = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
    keys = {id(inner) for node in looked_up for inner in ast.walk(node)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in keys:
                yield LABEL.sub("", text)
            case ast.FormattedValue(value=value):
                yield from constants(value)
            case ast.Call(args=args) if prints(node) or holds(node):
                yield from (number for shown in args for number in listed(shown))
    yield from only_said(nodes)


def prints(node: ast.AST) -> bool:
    """Whether it is a call of ``print``."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"


def holds(node: ast.Call) -> bool:
    """Whether it makes a table of what it is given."""
    return ast.unparse(node.func) in ("pd.DataFrame", "pd.Series", "pd.DataFrame.from_dict")


def only_said(nodes: list[ast.AST]) -> Iterator[str]:
    """Numbers that have a name but no use, except in a sentence: between braces, or printed."""
    shown = [node for node in nodes if isinstance(node, ast.FormattedValue) or prints(node)]
    said = {id(inner) for node in shown for inner in ast.walk(node)}
    names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in said]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
    used |= {name for text in texts for name in re.findall(r"@(\w+)", text)}  # in a query
    for node in nodes:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            values = node.value.elts if several else [node.value]
            for name, value in zip(target.elts if several else [target], values, strict=False):
                if isinstance(name, ast.Name) and name.id not in used:
                    yield from constants(value)


def constants(value: ast.expr) -> Iterator[str]:
    """The numbers of an expression in which nothing has a name but the functions called."""
    nodes = [*ast.walk(value)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    if not any(isinstance(node, ast.Name) and id(node) not in called for node in nodes):
        yield from (str(n.value) for n in nodes if isinstance(n, ast.Constant))


def listed(value: ast.expr) -> Iterator[str]:
    """The numbers of a literal: by itself, or in lists and dictionaries."""
    match value:
        case ast.Constant(value=int() | float() as number):
            yield str(number)
        case ast.Dict(values=inner) | ast.List(elts=inner) | ast.Tuple(elts=inner):
            for one in inner:
                yield from listed(one)


def texts(path: Path) -> Iterator[str]:
    """All that a notebook says to its reader."""
    cells = jupytext.read(path, fmt="md:myst").cells
    for cell in cells:
        if cell.cell_type == "markdown":
            yield cell.source
        else:
            shown = cell.metadata.get("mystnb", {})
            yield shown.get("image", {}).get("alt", "")
            yield shown.get("figure", {}).get("caption", "")
    yield from typed("\n".join(cell.source for cell in cells if cell.cell_type == "code"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_figure_in_a_sentence_of_a_notebook_is_typed(path: Path) -> None:
    assert [(found, text) for text in texts(path) for found in figures(text)] == []


def test_no_figure_in_what_the_list_of_the_papers_items_says_is_typed() -> None:
    content = tomllib.loads((ROOT / "expected" / "paper.toml").read_text("utf-8"))
    items = [item for entries in list(content.values())[1:] for item in entries]
    for item in items:
        said = [item.get(part, "") for part in ("what", "why", "twin", "real")]
        said += [*item.get("seeds", ()), *item.get("drawn", ())]
        assert [(found, text) for text in said for found in figures(text)] == []
    assert len(items) > 30


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
        "We have 5k opinions",
        "It takes 8GB.",
        "It rises by 2 points.",
        "by two points",
        "two per cent more",
        "one percentage point",
        "nine of eleven",
        "Nine in ten are",
        "three of the twenty",
        "a third of them",
        "That is a third.",
        "two thirds",
        "`15` groups and `x`",
        "`15 %` of them",
        "All 45 means",
        "What 500 draws would change",
        "Above 0.3 the groups are found",
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
        "One of two; a third expert; one of the three.",
        "`x_15`, `007` and expert 3",
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
        'said = "In 15 of 20 runs"\npages.say(said)',
        'caption = "15 groups"\npages.table(x, caption)',
        'n = 0.911\npages.say(f"{n}")',
        'n, x = 0.911, y\npages.say(f"{n} {x}")\nprint(x)',
        'pages.say(f"{66.8 + 0}")',
        'pages.say(f"{round(66.8)}")',
        'print("accuracy", 0.911)',
        'n = 0.911\nprint("accuracy", n)',
        'pages.table(pd.DataFrame({"paper": [66.8]}), "c")',
        'frame = pd.DataFrame([{"paper": 66.8}])\npages.table(frame, "c")',
        'axes.text(0, 0, "T = 500")',
        'axes.annotate("T = 500", (0, 0))',
        'axes.plot(x, label="T = 500")',
        'figure.suptitle("15 groups")',
        'axes.legend(title="15 groups")',
        'Markdown("15 groups")',
    ],
)
def test_what_a_cell_types_is_noticed(code: str) -> None:
    assert [found for text in typed(code) for found in figures(text)]


def test_what_is_computed_is_not_typed() -> None:
    code = """
n, m, x = 15, 400, rows["code, m = 400"].loc[20]
pages.say(f"It is {34 * x:,.3f} of {len(y)}, {n} and {m}")
frame = pd.DataFrame({"1 to 5": draw(n)}, index=range(m))
"""
    assert not [found for text in typed(code) for found in figures(text)]
