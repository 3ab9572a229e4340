"""Tables of log joint densities, normalised: many rows by a loop, `core.special.log_normalize` being the formula."""

import numpy as np

from ..core.arrays import Float
from ..core.special import log_normalize
from ..loops import worth
from .slicing import by_rows

_FEW = 1 << 10  # rows for which a second core is not worth it
_ENTRY = 8  # cells of other sums that take as long as an exponential and its share of a logarithm


def log_normalized(
    table: Float[np.ndarray, "n c"], out: Float[np.ndarray, "n c"] | None = None
) -> Float[np.ndarray, "n c"]:
    """log exp(t) / Σ exp(t) along the rows of a table, written into `out` if given, which may be the table itself."""
    if len(table) < _FEW:
        return log_normalize(table)

    out = np.empty(table.shape, table.dtype) if out is None else out

    def piece(part: slice) -> np.ndarray:
        rows = table[part]
        if not worth(_ENTRY * rows.size) or not rows.flags.c_contiguous or rows.dtype != np.float64:
            return log_normalize(rows)
        from ..loops.normalizing import normalize

        normalize(rows, out[part])
        return out[part]

    return by_rows(piece, {"x": table}, out=out)
