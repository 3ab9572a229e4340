"""Log probabilities of the classes from tables of log joint densities, 128 rows at a time."""

from typing import Any

import numpy as np

from ._compile import FAST, loop
from .gaussian import TILE, log1p
from .kernels import exp


@loop(FAST)
def normalize(table: Any, out: Any) -> None:
    """out_ik = t_ik − log Σ_k exp t_ik, the largest t_ik taken out first; `out` may be the table itself."""
    n, c = table.shape
    tile, top, total = np.zeros((c, TILE)), np.empty(TILE), np.empty(TILE)
    for at in range(0, n, TILE):
        size = min(TILE, n - at)
        for i in range(size):
            row = table[at + i]
            for k in range(c):
                tile[k, i] = row[k]
        top[:] = tile[0]
        for k in range(1, c):
            own = tile[k]
            for i in range(TILE):
                top[i] = own[i] if own[i] > top[i] else top[i]
        total[:] = 0.0
        for k in range(c):
            own = tile[k]
            for i in range(TILE):
                own[i] -= top[i]
                total[i] += exp(own[i])
        for i in range(TILE):
            total[i] = log1p(total[i] - 1.0)
        for i in range(size):
            row = out[at + i]
            for k in range(c):
                row[k] = tile[k, i] - total[i]
