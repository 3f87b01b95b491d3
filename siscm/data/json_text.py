"""JSON in a file: read without trusting the file, every trouble in it named."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(content: bytes, name: str) -> Any:
    """What a file in JSON holds.

    Stricter than Python's reader, which takes ``NaN`` for a number and keeps the last of two equal
    keys. What the file holds stands in no error, nor in its traceback: it may be a text that
    offends.

    Parameters
    ----------
    content
        The file.
    name
        What errors call it.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        # The text may stand in the traceback of the parser: leave it out.
        raise ValueError(f"{name} is not readable as JSON: {error}.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's content; json would silently keep the last of two equal keys."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return content


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no JSON")
