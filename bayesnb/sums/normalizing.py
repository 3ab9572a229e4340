"""Tables of log joint densities, normalised: many rows by a loop, `core.special.log_normalize` being the formula."""

import numpy as np

from ..core.arrays import Float
from ..core.special import log_normalize
from ..core.threads import in_order
from ..loops import worth
from .slicing import row_slices

_ENTRY = 8  # cells of other sums that take as long as an exponential and its share of a logarithm


def log_normalized(
    table: Float[np.ndarray, "n c"], out: Float[np.ndarray, "n c"] | None = None
) -> Float[np.ndarray, "n c"]:
    """log exp(t) / Σ exp(t) along the rows of a table, written into `out` if given, which may be the table itself."""
    found = np.empty(table.shape, table.dtype) if out is None else out

    def put(part: slice) -> None:
        rows = table[part]
        if not worth(_ENTRY * rows.size) or not rows.flags.c_contiguous or rows.dtype != np.float64:
            log_normalize(rows, found[part])
            return
        from ..loops.normalizing import normalize

        normalize(rows, found[part])

    for _ in in_order(put, row_slices({"x": table})):
        pass
    return found
