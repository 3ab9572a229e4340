"""What is left of a hyperparameter without a row, and how a row shows that it cannot have been there.

Rounding leaves at least ε of a hyperparameter that a row has a share in. A row that has more than all of it was never
counted there: while rows are marked (`marked`), what is left of it is NaN, and so is its log density. One table of
leave-one-out then tells which rows are strangers, and no pass over the rows is needed beforehand.
"""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..core.arrays import Array, Value
from ..core.special import namespace

_marked = contextvars.ContextVar("whether what a row leaves is NaN where the row cannot have been there", default=False)


@contextmanager
def marked(on: bool = True) -> Iterator[None]:
    """Whether strangers are marked by NaN, on the host, in this thread and in those that work for it."""
    token = _marked.set(on)
    try:
        yield
    finally:
        _marked.reset(token)


def floored(left: Array, whole: Value) -> Array:
    """What is left of the whole, at least its rounding; NaN where rows are marked and nothing is left."""
    xp = namespace(left, whole)
    whole = xp.asarray(whole)
    least = xp.finfo(whole.dtype).eps * abs(whole)
    if xp is np and _marked.get():
        return xp.where((left <= least) & (left < whole), xp.nan, left)
    return xp.maximum(left, least)
