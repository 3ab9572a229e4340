"""Whether rows can be among those that an estimator has learnt from: a row that is left out has to be in there."""

from typing import Any

import numpy as np

from ..class_statistics import NEVER_FITTED
from ..core.arrays import Sparse
from ..naive_bayes import Rows
from ..statistics import Moments, Scatter, class_totals


def check_weights(estimator: Any, r: Sparse) -> None:
    """Raise a ValueError where the rows have more weight in a class than was fitted."""
    held = estimator.statistics_.n
    if (class_totals(r) > held + 1e-9 * np.maximum(held, 1)).any():
        raise ValueError(NEVER_FITTED.format("counts"))


def check_known(estimator: Any, rows: Rows, r: Sparse) -> None:
    """Raise a ValueError where removing the rows would leave negative counts or squares.

    Where it does not, no single row or group of them leaves negative ones either: what they leave are the statistics of
    the other rows given and of what is left after all, and both can be.

    Parameters
    ----------
    rows, r : encoded rows, and their weights (n, c)
    """
    gone = estimator.prior_.suffstats(rows, r).in_floats()
    left, held = estimator.statistics_without(gone), estimator.statistics_
    if any(_too_far(left.blocks[name], taken, held.blocks[name]) for name, taken in gone.blocks.items()):
        raise ValueError(NEVER_FITTED.format("squares"))


def _too_far(left: Any, taken: Any, held: Any) -> bool:
    """Whether rows lie further out than all squares held allow: put back, they would make more of them."""
    if not isinstance(held, Moments | Scatter) or held.ss.shape != taken.ss.shape:
        return False
    left, taken, held = (part.moments() for part in (left, taken, held))
    again = Moments(left.n, left.mean, np.maximum(left.ss, 0)) + taken
    squares = again.ss + held.n * (again.mean - held.mean) ** 2
    return bool((squares > (1 + 1e-3) * held.ss + held.n * (1e-6 * held.mean) ** 2).any())
