"""Leave-one-out of the softmax regression by one step of Newton's method, for each row or group of rows.

Without row i the step leads from η_i at the mode to η_i + (I − G_i S_i)⁻¹ G_i r_i, with G_i = F_i (∂²f)⁻¹ F_iᵀ,
S_i = l_i Kᵀ(diag p_i − p_i p_iᵀ)K and r_i = l_i Kᵀ(p_i − onehot y_i), where l_i is the weight that leaves: 1 of a row
that stands for a count of rows, all of it where the weight is an importance. Rows that leave together are one row of
all their contrasts.

References
----------
Rad & Maleki (2020), A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
cross-validation, JRSS B 82.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..numerics.arrays import Float, Int, Table
from ..sums.rows import batches
from .softmax_regression import AbstractPrecision, Regression, WeightsMode, label_curvature, precision_at, residuals

_NUMBERS = 1 << 19  # of t, z and their products at a time


def loo_log_proba(
    rows: Regression, mode: WeightsMode, p: Table | None = None, precision: AbstractPrecision | None = None
) -> Table:
    """log p(y = c | x_i, all other rows), (n, c), of a softmax regression: leave-one-out without fitting it again.

    The log odds of a row are linear in m = c − 1 numbers a_i = Σ_j w_j t_ij + Bᵀ z_i, its *contrasts*. Fitted without
    the row, w and B would be others, and so would a_i. One step of Newton's method from the fit to all rows gives
    nearly the same, for each row:

    1. the gradient r_i (m,) and the Hessian S_i (m, m), in a_i, of the loss −l_i log p_i,y(i) that is taken out;
    2. the covariance G_i (m, m) of a_i under the posterior of w and B, by Laplace's approximation;
    3. the change of a_i without the row, (I − G_i S_i)⁻¹ G_i r_i;
    4. log p by the softmax of the log odds at the changed contrasts.

    Rows of a group are left out together: they count as one row that has the contrasts of all of them.

    Parameters
    ----------
    rows : training rows; `leaving_weight` is l_i, how much of the weight of a row is taken out: 1 if the weight counts
        equal rows, of which one is left out, and all of it if it is an importance. `group` numbers the groups, if any
    mode : w and B that were fitted to all rows
    p, precision : (n, c) class probabilities, and the factored Hessian of −log posterior, at the mode; both are
        computed if they are not given
    """
    if p is None:
        p = np.exp(rows.log_proba(mode.w, mode.b))
    if precision is None:
        precision = precision_at(rows, mode, p)

    gradient = residuals(rows, p, rows.leaving_weight)  # r_i, (n, m)
    change = np.empty(gradient.shape)  # of a_i, (n, m)
    single, groups = _leaving_together(rows)  # positions of rows that are left out alone; of the rows of each group

    # Steps 1 to 3 for rows that are left out alone: some at a time, as their covariances take much memory.
    numbers_of_row = rows.t.shape[1] * rows.n_parameters
    for batch in batches(len(single), max(1, _NUMBERS // numbers_of_row)):
        members = single[batch]
        hessian = label_curvature(p[members], rows.leaving_weight[members])  # S_i, (members, m, m)
        covariance = precision.leverage(members)  # G_i, (members, m, m)
        change[members] = _change_of_contrasts(covariance, hessian, gradient[members])

    # Steps 1 to 3 for groups, one after the other: the contrasts of all members have one covariance.
    for members in groups:
        hessian = label_curvature(p[members], rows.leaving_weight[members])  # (members, m, m)
        covariance = precision.group_leverage(members)  # (members · m, members · m)
        change[members] = _change_of_contrasts_in_group(covariance, hessian, gradient[members])

    # Step 4.
    return rows.log_proba(mode.w, mode.b, change)


def _change_of_contrasts_in_group(
    covariance: Float[np.ndarray, "q q"], hessian: Float[np.ndarray, "k m m"], gradient: Float[np.ndarray, "k m"]
) -> Float[np.ndarray, "k m"]:
    """How much the m contrasts of each of k rows change when all these rows are left out together.

    The group is treated as one row whose contrasts are those of all its members, one after the other: q = k · m.

    Parameters
    ----------
    covariance : of all q contrasts
    hessian, gradient : of the loss of each member in its own contrasts
    """
    # The loss of a member depends on its own contrasts only: its Hessian is a block (m, m) on the diagonal of that of
    # the group, which is 0 elsewhere. `[None]` makes a table of one row.
    of_all = linalg.block_diag(*hessian)  # (q, q)
    change = _change_of_contrasts(covariance[None], of_all[None], gradient.reshape(1, -1))  # (1, q)
    return change.reshape(gradient.shape)


def _change_of_contrasts(
    g: Float[np.ndarray, "b q q"], s: Float[np.ndarray, "b q q"], r: Float[np.ndarray, "b q"]
) -> Float[np.ndarray, "b q"]:
    """How much the q contrasts of each of b rows change when the row is left out: (I − G S)⁻¹ G r, a step of Newton's.

    Contrasts are linear in the parameters. A row of high leverage, with G S near I, changes much.

    Parameters
    ----------
    g : G = F H⁻¹ Fᵀ of each row, the covariance of its contrasts by Laplace: H is the Hessian of −log posterior, and F
        the derivative of the contrasts in the parameters
    s, r : Hessian and gradient of the row's own loss in its contrasts
    """
    # Without the row the Hessian is H − FᵀSF, and the gradient at the mode −Fᵀr. The step of the parameters is
    # (H − FᵀSF)⁻¹ Fᵀr, and F times it that of the contrasts. By Woodbury's identity this needs small matrices only:
    # F (H − FᵀSF)⁻¹ Fᵀ = G + G S (I − G S)⁻¹ G = (I − G S)⁻¹ G.
    q = g.shape[1]
    if q == 1:  # numbers in place of matrices: division is much faster than solving 1 × 1 systems
        covariance = g[:, 0]  # (b, 1)
        hessian = s[:, 0]
        return covariance * r / (1 - covariance * hessian)

    column = r[..., None]  # r as (b, q, 1), for products with matrices
    return np.linalg.solve(np.eye(q) - g @ s, g @ column)[..., 0]


class _Leaving(NamedTuple):
    """Which rows leave together.

    Fields
    ------
    single : positions of rows that leave alone
    groups : positions of the members of each group of two and more
    """

    single: Int[np.ndarray, " k"]
    groups: list[np.ndarray]


def _leaving_together(rows: Regression) -> _Leaving:
    """The positions of rows that leave alone, and of the members of groups of two and more that leave together.

    The rows 0 … 3 of the groups 1, 0, 1, 2 have `single` 1 and 3, and one group of the rows 0 and 2.

    Parameters
    ----------
    rows : `group` has the number of the group of each row, (n,); None where each row leaves alone
    """
    if rows.group is None:
        return _Leaving(np.arange(rows.n_rows), [])
    size = np.bincount(rows.group)  # number of rows of each group: 1, 2, 1 in the example

    # Sorted by group, the rows of a group stand side by side: 1 | 0 2 | 3. The list is cut behind 1 and behind 3 rows,
    # which are the cumulative sums of the sizes without the last one.
    order = np.argsort(rows.group, kind="stable")
    members = np.split(order, np.cumsum(size)[:-1])
    return _Leaving(np.flatnonzero(size[rows.group] == 1), [group for group in members if len(group) > 1])
