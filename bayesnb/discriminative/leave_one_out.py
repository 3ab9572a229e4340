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
    """log p(y = c | D₋ᵢ) of each row, (n, c), by one step of Newton's method from the mode of all rows.

    The model is a softmax regression: a row has c log odds η_i = offset_i + K a_i, which are a function of its
    m = c − 1 *contrasts* a_i = Σ_j w_j t_ij + Bᵀ z_i. Fitted without the row, the parameters w and B would be others,
    and so would a_i. One step of Newton's method gives the change of a_i from three things: the gradient r_i and the
    Hessian S_i of the loss −l_i log p_i,y(i) that leaves with the row, in a_i; and the *leverage* G_i of the row, the
    covariance of a_i by Laplace's approximation. The log densities t_i saw no label of the row in the first place.

    Parameters
    ----------
    rows : training rows. `weight` is how much a row counts in the fit, and `leaving_weight`, l_i, the part of it that
        is taken away when the row is left out: 1 where the weight counts equal rows, of which one leaves; all of the
        weight where it is the importance of the row. Rows with the same number in `group` leave together
    mode : w and B that were fitted to all rows
    p, precision : (n, c) class probabilities, and the factored Hessian of −log posterior, at the mode; both are
        computed if they are not given
    """
    if p is None:
        p = np.exp(rows.log_proba(mode.w, mode.b))
    if precision is None:
        precision = precision_at(rows, mode, p)
    single, groups = _leaving_together(rows)  # positions of rows that leave alone; and of the members of each group
    residual = residuals(rows, p, rows.leaving_weight)  # gradient of each row's loss in its contrasts, (n, m)
    shift = np.empty(residual.shape)  # of these contrasts, (n, m)

    # Rows that leave alone: each has its own leverage G and curvature S, (m, m). They are worked on in batches, because
    # G needs `width` numbers for each row.
    width = rows.t.shape[1] * rows.n_parameters
    for batch in batches(len(single), max(1, _NUMBERS // width)):
        members = single[batch]
        curvature = label_curvature(p[members], rows.leaving_weight[members])  # Hessian of each row's loss
        shift[members] = _shift_when_left_out(precision.leverage(members), curvature, residual[members])

    # A group is treated as one row whose contrasts are those of all its members, one after the other: q = m · size. The
    # loss of a member depends on its own contrasts only, so that S has a block (m, m) for each member on its diagonal,
    # and 0 elsewhere. `[None]` makes a batch of this one row, as `_shift_when_left_out` takes several.
    for members in groups:
        curvature = label_curvature(p[members], rows.leaving_weight[members])  # (size, m, m)
        of_group = _shift_when_left_out(
            g=precision.group_leverage(members)[None],  # (1, q, q)
            s=linalg.block_diag(*curvature)[None],
            r=residual[members].reshape(1, -1),
        )
        shift[members] = of_group.reshape(len(members), -1)  # (size, m) again

    # log p by the softmax of η_i = offset_i + K (a_i + shift_i).
    return rows.log_proba(mode.w, mode.b, shift)


def _shift_when_left_out(
    g: Float[np.ndarray, "b q q"], s: Float[np.ndarray, "b q q"], r: Float[np.ndarray, "b q"]
) -> Float[np.ndarray, "b q"]:
    """(I − G S)⁻¹ G r of each of b rows: how far its contrasts move when it leaves.

    With F the derivative of the contrasts in the parameters, and ∂²f the Hessian of all rows, the Hessian without the
    row is ∂²f − FᵀSF, and the gradient at the mode is −Fᵀr. So the step moves the contrasts by F (∂²f − FᵀSF)⁻¹ Fᵀ r,
    which by Woodbury's identity needs only the small matrices G and S. A row of high leverage, G S near I, moves far.

    Parameters
    ----------
    g : F (∂²f)⁻¹ Fᵀ of each row, or group of rows with q stacked contrasts
    s, r : Hessian and gradient of its loss in its contrasts
    """
    # Derivation with Woodbury's identity, where H = ∂²f and G = F H⁻¹ Fᵀ:
    # F (H − FᵀSF)⁻¹ Fᵀ = G + G S (I − G S)⁻¹ G = (I − G S)⁻¹ G.
    q = g.shape[1]
    if q == 1:  # two classes, so m = 1: division is much faster than solving 1 × 1 systems
        leverage = g[:, 0]  # (b, 1)
        return leverage * r / (1 - leverage * s[:, 0])

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
