"""Arrays in NumPy's files: read without trusting the file, and never as a pickle."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt


def read_array(content: bytes, name: str) -> npt.NDArray[Any]:
    """The one array of a ``.npy`` file.

    Parameters
    ----------
    content
        The file.
    name
        What errors call it.

    Raises
    ------
    ValueError
        If it cannot be read, holds Python objects, or is an archive of arrays.
    """
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged file raises nearly anything
        raise ValueError(f"{name} is not a NumPy array file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is not a NumPy array file: it is an archive of arrays")
    return array


def read_arrays(content: bytes, name: str, wanted: Sequence[str]) -> list[npt.NDArray[Any]]:
    """The arrays with these names in a ``.npz`` archive.

    Parameters
    ----------
    content
        The archive.
    name
        What errors call it.

    Raises
    ------
    ValueError
        If it cannot be read, lacks one of them, or holds anything but arrays under these names.
    """
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            arrays = [archive[one] for one in wanted]
    except Exception as error:  # a damaged archive raises nearly anything
        raise ValueError(f"{name} does not hold {' and '.join(wanted)}: {error}") from None
    if not all(isinstance(array, np.ndarray) for array in arrays):  # else the member's bytes
        raise ValueError(f"{name} does not hold {' and '.join(wanted)} as arrays.")
    return arrays
