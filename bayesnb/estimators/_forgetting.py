"""Forgetting rows: what remains of the posterior has nine digits, or is refused."""

from typing import TYPE_CHECKING

import numpy as np

from ..posterior.remaining import find_doubt
from ._input import BLOCK

if TYPE_CHECKING:
    from ._fitted import State


def check_digits(after: "State", moved: "State") -> None:
    """Raise a ValueError if rounding may have changed a field of the posterior by more than 1e-9 of it.

    Statistics of rows are forgotten by subtraction. If little remains of much, rounding has taken its digits: after the
    sum 1e16 + 1 the row 1e16 is forgotten, and what remains is 0, not 1. How large the rounding of each sum can be
    is known. So two posteriors are compared: one of the statistics as computed, one of statistics that are moved by as
    much as rounding can have moved them. Digits in which the two agree are certain.

    Parameters
    ----------
    after : the state without the forgotten rows, with the statistics as computed
    moved : the same state, with each statistic moved by the bound of its rounding
    """
    with np.errstate(all="ignore"):  # an improper prior without rows: `posterior_` refuses it
        posterior = after.prior.update(after.statistics)
        moved_posterior = moved.prior.update(moved.statistics)
    # a field is an array of hyperparameters of the posterior, such as m (c, d). `find_doubt` gives the block and the
    # column of the first one in which the two posteriors differ by more than 1e-9 of it; None if there is none
    doubt = find_doubt(posterior, moved_posterior)
    if doubt is None:
        return

    # estimators with a single block can name the column; in the parts of a `MixedNB` its position is another one
    where = ""
    if doubt.block == BLOCK and doubt.column is not None:
        where = f" in column {after.columns.label(doubt.column)}"
    raise ValueError(
        f"Forgetting `X`, `y` would leave fewer than nine digits of the statistics{where}: what remains is small "
        "compared with what was added and removed. Fit the remaining rows again"
    )
