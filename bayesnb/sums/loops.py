"""Whether a sum over many rows goes through a compiled loop.

Each loop of `_compiled` stands for a formula of this package, which is its slow twin in the tests: the function that a
page calls decides between the two by the work at hand. Loops release Python's lock and run in the threads of
`core.threads`, a slice of rows each. `_compiled` imports numba, and is imported where it is used.
"""

import functools

import numpy as np

from ..core.arrays import Array, Sparse, is_sparse
from ..core.threads import n_sibling_tasks

WORTH = 1 << 23  # cells times classes from which on loops are loaded, eight for a cell of a fit: NumPy takes some 20 ms


@functools.cache
def available() -> bool:
    """Whether numba is there and may compile; all formulas work without it."""
    try:
        from numba import config
    except Exception:  # no wheel for this Python, or a system that forbids to make code at run time
        return False
    return not getattr(config, "DISABLE_JIT", 0)


def worth(work: int) -> bool:
    """Whether compiled loops should do some work, in cells times classes, of which this is one of several pieces."""
    return n_sibling_tasks() * work >= WORTH and available()


def contiguous(x: np.ndarray) -> np.ndarray:
    """Cells row by row in a type that loops are compiled for."""
    return np.ascontiguousarray(x, np.uint8 if x.dtype == np.uint8 else np.float64)


def stored(x: Array | Sparse) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Ends of the rows, columns and cells, as CSR has them; dense rows have all columns, which are not written out."""
    if is_sparse(x):
        x = x.tocsr()
        return x.indptr, x.indices, contiguous(x.data)
    return np.arange(len(x) + 1) * x.shape[1], None, contiguous(x).ravel()
