"""What a parser of numbers hides of a long text file, looked for in its bytes: zeros in front, and thousands.

The search finds too much rather than too little.
"""

from io import TextIOBase

import numpy as np

_BLOCK = 1 << 18  # characters that are searched together: they stay in the cache of a core
_NEWLINE, _QUOTE, _ZERO, _POINT, _BLANK = b'\n"0. '
_BLANKS = b" \t\xa0"


def columns_that_hide(lines: TextIOBase, sep: str, columns: int) -> set[int]:
    """The columns, counted from 0, that may hold a cell such as 007 or 15.000.

    Where quotes or rows of another length leave it open which column a cell is in, all columns are returned.
    """
    found: set[int] = set()
    rest, is_end = b"\n", False
    mark = sep.encode("latin-1", "replace")
    while not is_end:
        piece = lines.read(_BLOCK).encode("latin-1", "replace")
        is_end = not piece
        text = rest + (piece or b"\n")
        block = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(block == _QUOTE) if b'"' in text else np.empty(0, int)
        if not _all_open_cells(block, quotes[::2], mark[0]):
            return set(range(columns))
        end = _outside(np.flatnonzero(block == _NEWLINE), quotes)[-1] if len(quotes) else text.rfind(b"\n")
        if end == 0 and len(quotes):  # one is not closed
            return set(range(columns))
        rest, block = text[end:], block[: end + 1]  # each begins with a newline
        if len(hits := _hits(block, mark)):
            newlines, bounds = (_outside(np.flatnonzero(block == one), quotes) for one in (_NEWLINE, mark[0]))
            line = np.searchsorted(newlines, hits)
            first, at, last = (np.searchsorted(bounds, place) for place in (newlines[line - 1], hits, newlines[line]))
            if (last - first != columns - 1).any():
                return set(range(columns))
            found |= set(np.unique(at - first).tolist())
    return found


def _outside(places: np.ndarray, quotes: np.ndarray) -> np.ndarray:
    """Those that are not between two quotes."""
    return places[np.searchsorted(quotes, places) % 2 == 0] if len(quotes) else places


def _all_open_cells(block: np.ndarray, quotes: np.ndarray, mark: int) -> bool:
    """Whether each of these quotes begins its cell, or is the second of two that stand for one."""
    before = block[quotes - 1]
    indented = (before == _BLANK) & np.isin(block[quotes - 2], (mark, _NEWLINE))
    return bool((np.isin(before, (mark, _NEWLINE, _QUOTE)) | indented).all())


def _hits(block: np.ndarray, mark: bytes) -> np.ndarray:
    """Where a cell may begin with 0 and a digit, or end with .000."""
    bounds = np.frombuffer(mark + b'\n"' + _BLANKS, np.uint8)
    is_zero, is_digit = block == _ZERO, block - _ZERO < 10  # bytes wrap around
    first = np.flatnonzero((is_zero[1:-1] & is_digit[2:]) > is_digit[:-2]) + 1
    last = np.flatnonzero(is_zero[1:-3] & is_zero[2:-2] & is_zero[3:-1])
    last = last[block[last] == _POINT]
    return np.concatenate([first[np.isin(block[first - 1], bounds)], last[np.isin(block[last + 4], bounds)]])
