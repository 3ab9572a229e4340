"""The map from the class probabilities of a model to calibrated ones: four models of it.

With z = log p, the log probabilities of the model, and ρ the class frequencies, the calibrated probabilities are

    p'_c = (1 − ε) q_c + ε ρ_c,   q = softmax(η),   η_c = e^u z_c + e^û Σ_d z_d O_dc + b_c
    u ~ N(0, 1),   logit ε ~ N(−4, 2²),   b_c ~ N(0, t_b²),   O_cc ~ N(0, t_o²),   O_dc ~ N(0, t_x²)

û is the mode of u where O = 0, and only gives O its scale: in e^u (I + O) a search ends in wrong modes. With two
classes and ε = 0 this is the beta map. With O = 0 it is a power ("temperature") and shifts. Four models have prior
probabilities: p' = p (0.4), and 0.2 each for the widths (t_o, t_x, t_b) of `WIDTHS`. Without the first, 50 rows make
every fifth model worse. Beyond `MAX_FULL_CLASSES` classes O is diagonal.

A map is increasing: the log odds of a class against any other do not fall as its own log probability rises,

    ∂(η_c − η_k)/∂z_c = e^u + e^û (O_cc − O_ck) ≥ 0    for all k ≠ c

and the prior is restricted to such maps. Leave-one-out predictions of columns without information favour the wrong
class somewhat, as the row itself is missing among the rows of its own class. A map that falls would learn this and be
wrong on new rows, where it is not so.

With h = −log p'_y, r = (1 − ε) q_y / p'_y, e = q − onehot(y), λ = logit ε and J = ∂η/∂θ the derivatives are

    ∂h/∂θ = r Jᵀe,      ∂²h/∂θ∂θᵀ = r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ + [u] r e·(e^u z)
    ∂h/∂λ = r − 1 + ε,  ∂²h/∂λ² = ε (1 − ε) − r (1 − r),   ∂²h/∂λ∂θ = −r (1 − r) Jᵀe

References
----------
Kull, Silva Filho & Flach (2017), Beta calibration, AISTATS; Guo et al. (2017), ICML, for the power.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp, softmax
from sklearn.utils import gen_batches

from ..numerics.arrays import Bool, Float, Int, PerRow, Table
from ..numerics.pytrees import record

WIDTHS = ((0.0, 0.0, 0.3), (0.3, 0.1, 0.3), (1.0, 0.3, 1.0))  # t_o, t_x, t_b
MODELS = ("unchanged", "power and shifts", "matrix, narrow prior", "matrix, wide prior")
PROB_UNCHANGED = 0.4  # prior probability that the model is calibrated
MAX_FULL_CLASSES = 12  # with a full matrix O
LOGIT_EPS_MEAN = -4.0
LOGIT_EPS_WIDTH = 2.0
_LEAST_PROBA = 1e-9  # probability that no prediction goes below
_TINY = 1e-300  # keeps a logarithm finite
_N_NORMAL_NODES = 401  # of a standard normal number, by which the share of increasing maps is known to 1e-12
_CELLS_AT_A_TIME = 1 << 16  # rows times classes times draws, that fit into a processor's cache


class Labelled(NamedTuple):
    """Rows that the model has not seen. Tables in Fortran order are quicker: sums over classes are then vectorised.

    Fields
    ------
    z : (n, c) log probabilities
    y : (n, c) labels, one-hot
    weight : (n,) weights
    """

    z: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @property
    def rho(self) -> Float[np.ndarray, " c"]:
        """Class frequencies, with one row more of each class."""
        return class_frequencies(self.weight @ self.y)


def class_frequencies(class_weight: Float[np.ndarray, " c"]) -> Float[np.ndarray, " c"]:
    """Posterior mean of the class probabilities, under the prior Dirichlet(1, …, 1), by the weight of each class.

    It is (weight of the class + 1) / (total weight + number of classes), as if there were one row more of each class.
    """
    return (class_weight + 1) / (class_weight.sum() + len(class_weight))


class Layout(NamedTuple):
    """The parameters θ of a map: u, the entries of O and b with a prior, logit ε.

    Fields
    ------
    row, column : (p − 2,) position of each entry in [O; b], (c + 1, c), by columns
    mean, width : (p,) means and standard deviations of the prior of θ
    """

    row: Int[np.ndarray, " entries"]
    column: Int[np.ndarray, " entries"]
    mean: Float[np.ndarray, " p"]
    width: Float[np.ndarray, " p"]


class _Mapped(NamedTuple):
    """A map at given parameters, of rows.

    Fields
    ------
    q : (n, c) softmax(η)
    eps : ε
    proba : (n, c) p'
    """

    q: Table
    eps: float
    proba: Table


class Slope(NamedTuple):
    """f = −log p(y, θ) without the constants ½ log 2π of the prior, with its gradient (p,)."""

    height: float
    gradient: Float[np.ndarray, " p"]


class Derivatives(NamedTuple):
    """f = −log p(y, θ) without the constants ½ log 2π of the prior, with its gradient (p,) and Hessian (p, p)."""

    height: float
    gradient: Float[np.ndarray, " p"]
    hessian: Float[np.ndarray, "p p"]


@record
@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """One model of the map with its posterior.

    Fields
    ------
    model : 0 leaves the probabilities as they are, k > 0 has the widths WIDTHS[k − 1]
    rho : (c,) class frequencies
    scale : e^û
    probability : posterior probability of the model
    mode : (p,) u, the entries of O and b with a prior by columns, logit ε, at the mode of the largest evidence
    draws : (s, p) of the posterior, about all of its modes
    """

    model: int
    rho: Float[np.ndarray, " c"]
    scale: float
    probability: float
    mode: Float[np.ndarray, " p"]
    draws: Float[np.ndarray, "s p"]

    @classmethod
    def prior(cls, model: int, rho: np.ndarray, scale: float = 1.0) -> "CalibrationMap":
        """A map before it is fitted: its parameters are at the prior mean, and it has no draws.

        Parameters
        ----------
        model : 0 leaves the probabilities as they are and has no parameters; 1, 2, 3 have the prior widths `WIDTHS`
        rho : (c,) class frequencies
        scale : e^û, by which the matrix O of the map is multiplied
        """
        start = cls(model, rho, scale, 1.0, np.zeros(0), np.zeros((0, 0)))
        if model == 0:
            return start
        return replace(start, mode=start.layout.mean)

    @cached_property
    def layout(self) -> Layout:
        """Which entries of [O; b] are parameters, and the normal prior of all parameters θ = (u, entries …, logit ε).

        [O; b] is the table (c + 1, c) of the matrix O (c, c) above the shifts b (c,), of η = e^u z + e^û Oᵀz + b. An
        entry whose prior has the standard deviation 0 is always 0, and no parameter. With two classes the power map,
        where all of O is so, has the table

            0    0
            0    0
            b_0  b_1      the entries at row = (2, 2), column = (0, 1), so that θ = (u, b_0, b_1, logit ε)
        """
        # The prior's standard deviation of each entry, (c + 1, c): O outside of its diagonal, the diagonal, the shifts.
        # With many classes O has its diagonal only.
        c = len(self.rho)
        t_o, t_x, t_b = WIDTHS[self.model - 1]
        width = np.full((c + 1, c), t_x if c <= MAX_FULL_CLASSES else 0.0)
        np.fill_diagonal(width, t_o)
        width[c] = t_b

        # Positions of the entries that are parameters, column after column: `nonzero` goes row by row, hence the
        # transpose.
        column, row = np.nonzero(width.T)

        # Mean and standard deviation of θ: u ~ N(0, 1), the entries ~ N(0, width²), and logit ε has a mean of its own.
        mean = np.zeros(len(row) + 2)
        mean[-1] = LOGIT_EPS_MEAN
        widths = np.concatenate([[1.0], width[row, column], [LOGIT_EPS_WIDTH]])
        return Layout(row, column, mean, widths)

    def matrix(self, theta: Float[np.ndarray, "*s p"]) -> Float[np.ndarray, "*s d c"]:
        """The table [O; b], (…, c + 1, c), of parameters θ (…, p): O_dc says how z_d acts on class c, b_c shifts it.

        θ is u, the entries that are parameters, and logit ε: θ[…, 1:-1] are the entries. Where in the table each of
        them stands is in `layout.row` and `layout.column`. All other entries are 0.
        """
        c = len(self.rho)
        entries = np.zeros((*theta.shape[:-1], c + 1, c))
        entries[..., self.layout.row, self.layout.column] = theta[..., 1:-1]
        return entries

    def proba(self, theta: np.ndarray, z: Table) -> Table:
        """Calibrated probabilities p' (n, c) of rows with log probabilities z, for parameters θ; none is below 1e-9."""
        if self.model == 0:  # it leaves the probabilities as they are
            p = softmax(z, axis=1)
        else:
            p = self._mapped(theta, z).proba
        return (1 - _LEAST_PROBA) * p + _LEAST_PROBA * self.rho

    def probas(self, theta: Float[np.ndarray, "s p"], z: Table) -> Float[np.ndarray, "s n c"]:
        """Calibrated probabilities p' of n rows for s draws of the parameters at once.

        p' = (1 − ε) softmax(η) + ε ρ with η = e^u z + e^û Oᵀz + b, as in `_mapped`. ρ are the class frequencies. The
        tables below have the axes draw, class and row, as products with O are then quickest.

        Parameters
        ----------
        theta : draws (u, entries of O and b, logit ε): the first column is u, the last logit ε
        z : log probabilities of the rows before calibration
        """
        # The table [O; b] of each draw, but transposed, (s, c, c + 1): a class has a row of what multiplies each z_d,
        # and then its shift. `layout` has row and column of each parameter in [O; b], which are exchanged here. Entries
        # that are no parameters are 0.
        c = len(self.rho)
        transposed = np.zeros((len(theta), c, c + 1))
        transposed[:, self.layout.column, self.layout.row] = theta[:, 1:-1]
        o_transposed = transposed[:, :, :-1]  # Oᵀ, (s, c, c)
        shift = transposed[:, :, -1:]  # b, (s, c, 1)
        power = np.exp(theta[:, 0])[:, None, None]  # e^u, (s, 1, 1)
        eps = expit(theta[:, -1])[:, None, None]

        # η = e^û Oᵀz + b, then + e^u z; `scale` is e^û.
        eta = self.scale * (o_transposed @ z.T) + shift  # (s, c, n)
        eta += power * z.T

        # softmax over the classes, axis 1: without the largest η no exponential overflows.
        q = np.exp(eta - eta.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        proba = (1 - eps) * q + eps * self.rho[:, None]  # (s, c, n)
        return proba.transpose(0, 2, 1)  # (s, n, c)

    def is_increasing(self, theta: Float[np.ndarray, "s p"]) -> Bool[np.ndarray, " s"]:
        """Whether the map of each draw is increasing: the log odds η_c − η_k of a class never fall as its z_c rises.

        The map is η_c = e^u z_c + e^û Σ_d z_d O_dc + b_c. There z_c occurs in η_c with the factor e^u + e^û O_cc, and
        in η_k with e^û O_ck. So ∂(η_c − η_k)/∂z_c = e^u + e^û (O_cc − O_ck), which must be at least 0 for all k ≠ c.

        Parameters
        ----------
        theta : draws of the parameters: u, the entries of O and b that are not fixed to 0, logit ε. `scale` is e^û, the
            same for all draws
        """
        c = len(self.rho)
        if self.model == 0:  # it leaves the probabilities as they are
            return np.ones(len(theta), bool)

        matrix = self.matrix(theta)[:, :c]  # O of each draw, (s, c, c), without the row of b

        # The smallest O_cc − O_ck of a draw decides. In row c that is O_cc minus the largest other entry: for
        # O = [[1, 0], [3, 2]] it is 1 − 0 and 2 − 3, and so −1 in all. With −∞ on the diagonal the largest entry of a
        # row is one of the others.
        diagonal = np.diagonal(matrix, axis1=1, axis2=2)  # O_cc, (s, c)
        off_diagonal = np.where(np.eye(c, dtype=bool), -np.inf, matrix)
        largest_other = off_diagonal.max(2)  # max_k O_ck, (s, c)
        smallest_difference = (diagonal - largest_other).min(1)  # (s,)
        smallest_slope = np.exp(theta[:, 0]) + self.scale * smallest_difference
        return smallest_slope >= 0

    @cached_property
    def log_increasing_share(self) -> float:
        """Log probability, under the prior without the restriction, that a map is increasing.

        With t = e^u / e^û a map is increasing if O_cc + t ≥ O_ck for all k ≠ c, in each of c rows. Given u the rows of
        O are independent and have the same prior, so that the share is E_u[P(row | t)^c]. With O_cc = t_o v and v
        standard normal, each of the c − 1 other entries is below O_cc + t with probability Φ((t_o v + t) / t_x), and

            P(row | t) = E_v[Φ((t_o v + t) / t_x)^(c − 1)]

        Where O is diagonal the other entries are 0, and P(row | t) = P(t_o v + t ≥ 0) = Φ(t / t_o).
        """
        t_o, t_x, _ = WIDTHS[self.model - 1]
        if self.model == 0 or t_o == 0:  # without O the slope is e^u > 0
            return 0.0

        c = len(self.rho)
        normal = np.linspace(-8.5, 8.5, _N_NORMAL_NODES)  # u, and v
        density = np.exp(-0.5 * normal**2)
        probability = density / density.sum()  # of each node, by the trapezoid rule
        t = np.exp(normal)[:, None] / self.scale  # (u, 1)
        if c > MAX_FULL_CLASSES:
            log_row = log_ndtr(t[:, 0] / t_o)
        else:
            log_others_below = (c - 1) * log_ndtr((t_o * normal + t) / t_x)  # (u, v)
            log_row = logsumexp(log_others_below, axis=1, b=probability)
        return float(logsumexp(c * log_row, b=probability))

    def _mapped(self, theta: np.ndarray, z: np.ndarray) -> _Mapped:
        """p' = (1 − ε) q + ε ρ with q = softmax(e^u z + e^û Oᵀz + b) of rows z (n, c), and q and ε themselves.

        Parameters
        ----------
        theta : (p,) u, the entries of O and b that are not fixed to 0, logit ε
        z : log probabilities of the rows before calibration
        """
        table = self.matrix(theta)
        matrix = table[:-1]  # O, (c, c)
        shift = table[-1]  # b, (c,)
        of_matrix = (matrix.T @ z.T).T  # Σ_d z_d O_dc, (n, c); in the memory order of z
        eta = np.exp(theta[0]) * z + self.scale * of_matrix + shift

        # softmax: without the largest η of a row no exponential overflows.
        q = np.exp(eta - eta.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        eps = float(expit(theta[-1]))
        return _Mapped(q, eps, (1 - eps) * q + eps * self.rho)

    def relabelled(self, order: Int[np.ndarray, " c"]) -> "CalibrationMap":
        """The same map where class k is called order[k]: what belongs to a class moves to its new number.

        With the order (2, 0, 1) class 0 becomes 2, class 1 becomes 0 and class 2 becomes 1, so that the new classes
        0, 1, 2 are the old ones 1, 2, 0.
        """
        old_class = np.argsort(order)  # the old number of each new class: `argsort` of an order is its inverse
        renamed = replace(self, rho=self.rho[old_class])
        if self.model == 0:  # it has no parameters
            return renamed
        old_position = self._old_positions(old_class)
        return replace(renamed, mode=self.mode[old_position], draws=self.draws[:, old_position])

    def _old_positions(self, old_class: Int[np.ndarray, " c"]) -> Int[np.ndarray, " p"]:
        """Where each parameter θ = (u, entries of O and b, logit ε) of a map with renamed classes stood before, (p,).

        Example: two classes change their names in a map with θ = (u, b_0, b_1, logit ε). The new b_0 is the old b_1, at
        position 2, and the new b_1 is at 1. So the result is 0, 2, 1, 3.

        Parameters
        ----------
        old_class : the old number of each new class
        """
        # A table like [O; b], O above the shifts b, which has in place of each parameter its position in θ. θ[0] is u,
        # so that the entries have the positions 1, 2, …; what is no parameter has 0 here.
        c = len(self.rho)
        layout = self.layout
        position = np.zeros((c + 1, c), int)
        position[layout.row, layout.column] = 1 + np.arange(len(layout.row))

        # New entry (d, k) is the old entry (old_class[d], old_class[k]); the last row, of the shifts, stays the last.
        old_row = np.append(old_class, c)
        moved_position = position[np.ix_(old_row, old_class)]
        of_entries = moved_position[layout.row, layout.column]
        last = len(layout.mean) - 1
        return np.concatenate([[0], of_entries, [last]])  # u, the entries, logit ε

    # --- the density of its parameters ------------------------------------------------------------------------------

    def value(self, rows: Labelled, theta: np.ndarray) -> float:
        """f = −log p(y, θ) = −log p(θ) − Σ_i w_i log p'(y_i), without the constants ½ log 2π of the normal prior.

        Parameters
        ----------
        rows : log probabilities z, one-hot labels y and weights w of n rows
        theta : (p,) parameters of the map
        """
        layout = self.layout
        of_label = (self._mapped(theta, rows.z).proba * rows.y).sum(1)  # p' of the label of each row, (n,)

        # −log of normal densities.
        of_prior = np.log(layout.width).sum() + 0.5 * np.square((theta - layout.mean) / layout.width).sum()
        return float(of_prior - rows.weight @ np.log(np.maximum(of_label, _TINY)))

    def values(self, rows: Labelled, theta: Float[np.ndarray, "s p"]) -> Float[np.ndarray, " s"]:
        """f = −log p(y, θ) of s draws of the parameters at once, as `value`; infinite where numbers overflow.

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights (n,)
        theta : draws of u, the entries of O and b, and logit ε
        """
        # −log of the prior, which is normal.
        layout = self.layout
        standardised = (theta - layout.mean) / layout.width  # (s, p)
        height = np.log(layout.width).sum() + 0.5 * np.square(standardised).sum(1)  # (s,)

        # Minus the log likelihood, for so many draws at a time as fit into a processor's cache.
        at_a_time = max(1, _CELLS_AT_A_TIME // rows.z.size)
        for draws in gen_batches(len(theta), at_a_time):
            with np.errstate(over="ignore", invalid="ignore"):
                # p' of the label of each row by each draw, (s, n): the sum over c of p' (s, n, c) times one-hot labels
                of_label = np.einsum("snc,nc->sn", self.probas(theta[draws], rows.z), rows.y)
                height[draws] -= np.log(np.maximum(of_label, _TINY)) @ rows.weight
        return np.nan_to_num(height, nan=np.inf, posinf=np.inf)

    def slope(self, rows: Labelled, theta: np.ndarray) -> Slope:
        """f = −log p(y, θ) with its gradient, in a tenth of the time of `derivatives`.

        f is −log of the normal prior plus the weighted sum of the losses h = −log p'_y of the rows. The gradient of a
        loss is found by the chain rule, from p'_y to η and from η to the parameters u, O, b:

        1. p'_y = (1 − ε) q_y + ε ρ_y is a mixture, and r = (1 − ε) q_y / p'_y the share that q has in it, so that
           ∂h/∂log q_y = −r.
        2. q = softmax(η), so that ∂log q_y/∂η = onehot(y) − q, and together ∂h/∂η = r (q − onehot(y)).
        3. η_c = e^u z_c + e^û Σ_d z_d O_dc + b_c, so that ∂h/∂b_c = ∂h/∂η_c, ∂h/∂O_dc = e^û z_d ∂h/∂η_c and
           ∂h/∂u = Σ_c e^u z_c ∂h/∂η_c.
        4. With dε/dλ = ε (1 − ε) for λ = logit ε, and ε ρ_y / p'_y = 1 − r,
           ∂h/∂λ = −ε (1 − ε)(ρ_y − q_y) / p'_y = ε r − (1 − ε)(1 − r) = r − 1 + ε.

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights (n,)
        theta : (p,) u, the entries of O and b that are parameters, λ
        """
        layout = self.layout
        z, y, weight = rows
        mapped = self._mapped(theta, z)  # q and ε

        # Step 1.
        by_q = (1 - mapped.eps) * (mapped.q * y).sum(1)  # (1 − ε) q_y, (n,)
        of_label = np.maximum(by_q + mapped.eps * (y @ self.rho), _TINY)  # p'_y, (n,)
        r = by_q / of_label

        # Steps 2 and 3, each row times its weight, and then summed over the rows i of the data.
        of_eta = (weight * r)[:, None] * (mapped.q - y)  # w_i ∂h_i/∂η_ic, (n, c)
        z_of_eta = z.T @ of_eta  # Σ_i z_id w_i ∂h_i/∂η_ic, at (d, c)
        of_matrix = self.scale * z_of_eta
        of_shift = of_eta.sum(0)
        of_table = np.vstack([of_matrix, of_shift])  # like [O; b], (c + 1, c)

        # The gradient of −log prior, (θ − mean) / width², and then what the rows add. For u that is e^u times the trace
        # of `z_of_eta`, Σ_c Σ_i z_ic w_i ∂h_i/∂η_ic. Of the table `layout` picks the entries that are parameters.
        standardised = (theta - layout.mean) / layout.width
        gradient = standardised / layout.width
        gradient[0] += np.exp(theta[0]) * np.trace(z_of_eta)
        gradient[1:-1] += of_table[layout.row, layout.column]
        gradient[-1] += weight @ (r - 1 + mapped.eps)  # step 4

        height = np.log(layout.width).sum() + 0.5 * standardised @ standardised - weight @ np.log(of_label)
        return Slope(float(height), gradient)

    def derivatives(self, rows: Labelled, theta: np.ndarray) -> Derivatives:
        """f = −log p(y, θ) with its gradient (p,) and its Hessian (p, p).

        f is −log of the normal prior plus the weighted sum of the losses h = −log p'_y of the rows, where
        p' = (1 − ε) q + ε ρ and q = softmax(η). The derivatives of h follow from those of r = (1 − ε) q_y / p'_y, the
        share that q has in the mixture. With λ = logit ε, e = q − onehot(y), and J the derivatives of η in the other
        parameters θ₋ = (u, entries of O and b):

        1. First derivatives, as in `slope`: ∂h/∂η = r e, so that ∂h/∂θ₋ = r Jᵀe; and ∂h/∂λ = r − 1 + ε.
        2. r is a share, with log r/(1 − r) = log q_y − log ρ_y − λ, so that ∂r/∂η = −r (1 − r) e and
           ∂r/∂λ = −r (1 − r).
        3. ∂e/∂η = ∂q/∂η = diag q − q qᵀ. Step 1 differentiated once more is

               ∂²h/∂θ₋² = r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ + r Σ_c e_c ∂²η_c/∂θ₋²
               ∂²h/∂λ∂θ₋ = −r (1 − r) Jᵀe
               ∂²h/∂λ² = ε (1 − ε) − r (1 − r)

        Only u has a second derivative of η: ∂²η/∂u² = e^u z = ∂η/∂u.

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights (n,)
        theta : (p,) u, the entries of O and b that are parameters, λ
        """
        layout = self.layout
        z, y, weight = rows
        mapped = self._mapped(theta, z)  # q, ε and p'
        eps = mapped.eps
        of_label = np.maximum((mapped.proba * y).sum(1), _TINY)  # p'_y, (n,)
        r = (1 - eps) * (mapped.q * y).sum(1) / of_label
        weight_r = weight * r  # w r of each row
        weight_r_1_r = weight * r * (1 - r)  # w r (1 − r)

        # J: an entry of O is multiplied by e^û z_d, a shift by 1. `layout.row` is d, or c for a shift.
        multipliers = np.column_stack([self.scale * z, np.ones(len(z))])  # (n, c + 1)
        jacobian = _Jacobian(
            of_u=np.exp(theta[0]) * z,
            of_entries=multipliers[:, layout.row],
            column=layout.column,
        )
        je = jacobian.transposed_times(mapped.q - y)  # Jᵀe of each row, (n, p − 1)

        # The Hessian in θ₋, summed over rows with their weights: the three terms of ∂²h/∂θ₋².
        hessian = jacobian.covariance(mapped.q, weight_r) - _gram(je, weight_r_1_r)
        hessian[0, 0] += weight_r @ je[:, 0]

        # It is bordered by the derivatives in λ, to (p, p).
        cross = -(weight_r_1_r @ je)[:, None]
        corner = weight.sum() * eps * (1 - eps) - weight_r_1_r.sum()
        hessian = np.block([[hessian, cross], [cross.T, corner]])

        # The normal prior adds its gradient, and its precision on the diagonal.
        gradient = np.append(weight_r @ je, weight @ (r - 1 + eps))
        of_prior = (theta - layout.mean) / layout.width**2
        return Derivatives(self.value(rows, theta), gradient + of_prior, hessian + np.diag(layout.width**-2))


class _Jacobian(NamedTuple):
    """J = ∂η/∂(u, entries) of rows, without its many zeros: an entry of column k of [O; b] acts on η_k alone.

    Fields
    ------
    of_u : (n, c) ∂η_k/∂u of each class k
    of_entries : (n, entries) ∂η_k/∂entry, where k is the class that the entry acts on
    column : (entries,) that class of each entry
    """

    of_u: Table
    of_entries: Float[np.ndarray, "n entries"]
    column: Int[np.ndarray, " entries"]

    def transposed_times(self, v: Table) -> Float[np.ndarray, "n k"]:
        """Jᵀv = Σ_k v_k ∂η_k/∂(u, entries) of each row, for one v (c,) a row."""
        of_u = (v * self.of_u).sum(1)  # u acts on all classes
        of_entries = v[:, self.column] * self.of_entries  # an entry acts on one
        return np.column_stack([of_u, of_entries])

    def covariance(self, q: Table, weight: PerRow) -> Float[np.ndarray, "k k"]:
        """Σ_i w_i Jᵀ(diag q − q qᵀ)J: the covariance of ∂η_k/∂(u, entries) over a random class k, added over the rows.

        With j_k the derivatives of η_k, and k drawn with the probabilities q, it is the mean of j_k j_kᵀ minus the
        product of the mean Jᵀq with itself: Σ_i w_i (Σ_k q_k j_k j_kᵀ − Jᵀq qᵀJ). Most entries of j_k are 0 and are
        left out of the products.

        Parameters
        ----------
        q : (n, c) probabilities of the classes
        weight : (n,) w_i
        """
        mean = self.transposed_times(q)  # Jᵀq of each row
        total = -_gram(mean, weight)
        for k in range(q.shape[1]):
            # η_k depends on u, which is parameter 0, and on the entries of column k.
            entries = np.flatnonzero(self.column == k)
            j_k = np.column_stack([self.of_u[:, k], self.of_entries[:, entries]])  # without its zeros
            parameters = np.append(0, 1 + entries)  # which of all parameters these are
            total[np.ix_(parameters, parameters)] += _gram(j_k, weight * q[:, k])
        return total


def _gram(j: Float[np.ndarray, "n k"], weight: PerRow) -> Float[np.ndarray, "k k"]:
    """Σ_i w_i j_i j_iᵀ of the rows j_i: as √w j times itself, of which NumPy computes one half and copies the other."""
    scaled = j * np.sqrt(weight)[:, None]
    return scaled.T @ scaled


# --- the same in NumPyro ----------------------------------------------------------------------------------------------


def numpyro_model(calibration: CalibrationMap, z: Any, index: Any, weight: Any) -> None:
    """One model of the map in NumPyro: labels given the log probabilities of their rows.

    Sites `theta`, (p,), that is u, then the entries of O and b that have a prior, column by column, then logit ε; and
    `y`. The prior is not restricted to increasing maps: keep the draws for which `CalibrationMap.is_increasing`.

    Parameters
    ----------
    calibration : the model of the map: its widths, class frequencies ρ and scale e^û
    z : (n, c) log probabilities of the rows by a model that has not seen them
    index, weight : (n,) class of each row, and how often it counts in the likelihood
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    # The prior, independent normals; then [O; b] (c + 1, c) with the entries that are parameters, and 0 elsewhere.
    c = len(calibration.rho)
    layout = calibration.layout
    theta = numpyro.sample("theta", dist.Normal(jnp.asarray(layout.mean), jnp.asarray(layout.width)).to_event(1))
    entries = jnp.zeros((c + 1, c)).at[layout.row, layout.column].set(theta[1:-1])
    matrix = entries[:-1]  # O
    shift = entries[-1]  # b

    # log of both terms of p' = (1 − ε) softmax(η) + ε ρ; `logaddexp` below gives the log of their sum. The sigmoid of
    # theta[-1], logit ε, is ε, and that of −logit ε is 1 − ε. z @ O is Σ_d z_d O_dc, as Oᵀz elsewhere.
    eta = jnp.exp(theta[0]) * z + calibration.scale * (z @ matrix) + shift
    of_q = jax.nn.log_sigmoid(-theta[-1]) + jax.nn.log_softmax(eta)  # (n, c)
    of_rho = jax.nn.log_sigmoid(theta[-1]) + jnp.log(calibration.rho)  # (c,)

    # The likelihood: a row's log probability counts as often as its weight says.
    with numpyro.plate("row", len(z)), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=jnp.logaddexp(of_q, of_rho)), obs=jnp.asarray(index))


def most_probable(maps: tuple[CalibrationMap, ...]) -> CalibrationMap:
    """The most probable of the maps with parameters: without the first, which leaves probabilities as they are."""
    return max(maps[1:], key=lambda calibration: calibration.probability)
