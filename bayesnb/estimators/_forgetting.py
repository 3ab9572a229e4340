"""Forgetting rows: what remains of the posterior has nine digits, or is refused."""

from typing import TYPE_CHECKING

import numpy as np

from ..inference.remaining import find_doubt
from ._input import BLOCK

if TYPE_CHECKING:
    from ._fitted import State


def check_digits(after: "State", moved: "State") -> None:
    """Raise a ValueError if rounding may move a field of the posterior by more than 1e-9 of it.

    Parameters
    ----------
    after : the state without the forgotten rows
    moved : the same, with each statistic moved by the bound of its rounding. A field of its posterior differs from that
        of `after` by what rounding may do to it
    """
    with np.errstate(all="ignore"):  # an improper prior without rows: `posterior_` refuses it
        posterior = after.prior.update(after.statistics)
        moved_posterior = moved.prior.update(moved.statistics)
    doubt = find_doubt(posterior, moved_posterior)  # the first such field
    if doubt is None:
        return
    where = ""
    if doubt.block == BLOCK and doubt.column is not None:
        where = f" in column {after.columns.label(doubt.column)}"
    raise ValueError(
        f"Forgetting `X`, `y` would leave fewer than nine digits of the statistics{where}: what remains is small "
        "compared with what was added and removed. Fit the remaining rows again"
    )
