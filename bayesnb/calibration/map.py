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
        """Where in O and b the parameters of this map stand, and the normal prior of each parameter.

        The map is η = e^u z + scale · Oᵀz + b, with a matrix O (c, c) and shifts b (c,). They are kept as one table
        (c + 1, c): O, and b as its last row. An entry whose prior has the standard deviation 0 is always 0, and is no
        parameter. Example: two classes, and a prior with standard deviation 0 for all of O.

            0    0         Only b_0 and b_1 are parameters. They stand in the rows (2, 2) and columns (0, 1).
            0    0         All parameters together are θ = (u, b_0, b_1, logit ε).
            b_0  b_1
        """
        # 1. The prior's standard deviation of each entry of the table: t_o on the diagonal of O, t_x beside it, t_b for
        # b. With very many classes O is diagonal.
        c = len(self.rho)
        t_o, t_x, t_b = WIDTHS[self.model - 1]
        width = np.full((c + 1, c), t_x if c <= MAX_FULL_CLASSES else 0.0)
        np.fill_diagonal(width, t_o)
        width[c] = t_b

        # 2. Rows and columns of the entries that are parameters. `nonzero` lists them row by row. The transpose makes
        # that column by column, the order in which they stand in θ.
        column, row = np.nonzero(width.T)

        # 3. The prior of θ = (u, entries, logit ε): u ~ N(0, 1), entries ~ N(0, width²), logit ε ~ N(−4, 2²).
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
        """Calibrated probabilities p' of n rows, for each of s draws of the map's parameters.

            p' = (1 − ε) softmax(η) + ε ρ,    η = e^u z + scale · Oᵀz + b

        with ρ the class frequencies `rho`, O a matrix (c, c), b shifts (c,), and `scale` a constant.

        Parameters
        ----------
        theta : draws of (u, entries of O and b, logit ε)
        z : (n, c) log probabilities of the rows before calibration
        """
        # Tables below have the axes draw, class, row: products with O are quickest so.
        c = len(self.rho)

        # 1. The parameters of each draw. `layout.row` and `layout.column` say where an entry stands in the table of O
        # above b, (c + 1, c). Rows and columns change places here, which gives Oᵀ, with b as the last column.
        o_and_b = np.zeros((len(theta), c, c + 1))
        o_and_b[:, self.layout.column, self.layout.row] = theta[:, 1:-1]
        o_transposed = o_and_b[:, :, :-1]  # (s, c, c)
        b = o_and_b[:, :, -1:]  # (s, c, 1)
        power = np.exp(theta[:, 0])[:, None, None]  # e^u, (s, 1, 1)
        eps = expit(theta[:, -1])[:, None, None]  # (s, 1, 1)

        # 2. η, (s, c, n).
        eta = self.scale * (o_transposed @ z.T) + b
        eta += power * z.T

        # 3. softmax over the classes, axis 1. The largest η is subtracted first, so that no exponential overflows.
        q = np.exp(eta - eta.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)

        # 4. The mixture with the class frequencies, and then the axes draw, row, class.
        proba = (1 - eps) * q + eps * self.rho[:, None]  # (s, c, n)
        return proba.transpose(0, 2, 1)

    def is_increasing(self, theta: Float[np.ndarray, "s p"]) -> Bool[np.ndarray, " s"]:
        """Whether, for each of s draws, a class never loses calibrated log odds when its input log probability rises.

        The calibrated log odds of class c against k are η_c − η_k, with η_c = e^u z_c + scale · Σ_d z_d O_dc + b_c of
        the input z. There z_c has the factor e^u + scale · O_cc in η_c, and scale · O_ck in η_k. So a draw is
        increasing if

            ∂(η_c − η_k)/∂z_c = e^u + scale · (O_cc − O_ck) ≥ 0    for all classes c and k ≠ c

        Parameters
        ----------
        theta : draws of (u, entries of O and b, logit ε); `scale` is a constant
        """
        if self.model == 0:  # this model leaves all probabilities as they are
            return np.ones(len(theta), bool)

        # 1. O of each draw. `matrix` gives the table of O above b, (s, c + 1, c).
        c = len(self.rho)
        o = self.matrix(theta)[:, :c]  # (s, c, c)

        # 2. The smallest O_cc − O_ck is in each row c the diagonal entry minus the largest other one. Example: the rows
        # (1, 0) and (3, 2) give 1 − 0 = 1 and 2 − 3 = −1. With −∞ on the diagonal the maximum is that of the others.
        diagonal = np.diagonal(o, axis1=1, axis2=2)  # O_cc, (s, c)
        others = np.where(np.eye(c, dtype=bool), -np.inf, o)
        largest_other = others.max(2)  # max_k O_ck, (s, c)
        smallest_difference = (diagonal - largest_other).min(1)  # over all classes, (s,)

        # 3. The smallest of the derivatives decides.
        smallest_derivative = np.exp(theta[:, 0]) + self.scale * smallest_difference
        return smallest_derivative >= 0

    @cached_property
    def log_increasing_share(self) -> float:
        """Log of the prior probability that a map is increasing; it normalises the prior that allows only such maps.

        A map is increasing if e^u + scale · (O_cc − O_ck) ≥ 0 for all classes c and k ≠ c. With t = e^u / scale that is
        O_ck ≤ O_cc + t: in each row c of O, all other entries are at most the diagonal entry plus t. Under the prior

            u ~ N(0, 1),    O_cc = t_o v with v ~ N(0, 1),    O_ck ~ N(0, t_x²), all independent

        so that, given u and v, one other entry is small enough with probability Φ((t_o v + t) / t_x). Hence

            P(row | u) = E_v[Φ((t_o v + t) / t_x)^(c − 1)]        a row has c − 1 other entries
            P(increasing) = E_u[P(row | u)^c]                     there are c rows

        The two means are sums over a grid. If O is diagonal, the other entries are 0 and P(row | u) = Φ(t / t_o).
        """
        t_o, t_x, _ = WIDTHS[self.model - 1]
        if self.model == 0 or t_o == 0:  # without O the derivative is e^u > 0: every map is increasing
            return 0.0

        # 1. A grid for a standard normal number, with probabilities that add up to 1. It serves for u and for v.
        c = len(self.rho)
        normal = np.linspace(-8.5, 8.5, _N_NORMAL_NODES)
        density = np.exp(-0.5 * normal**2)
        probability = density / density.sum()

        # 2. log P(row | u) for each u of the grid. `logsumexp` with `b` is the log of a mean with these probabilities.
        t = np.exp(normal)[:, None] / self.scale  # a value for each u, (u, 1)
        if c > MAX_FULL_CLASSES:  # O is diagonal
            log_row = log_ndtr(t[:, 0] / t_o)
        else:
            log_others_small = (c - 1) * log_ndtr((t_o * normal + t) / t_x)  # u down, v across
            log_row = logsumexp(log_others_small, axis=1, b=probability)

        # 3. log E_u[P(row | u)^c].
        return float(logsumexp(c * log_row, b=probability))

    def _mapped(self, theta: np.ndarray, z: np.ndarray) -> _Mapped:
        """Calibrated probabilities p' of n rows, with the two parts they are mixed of, q and ε.

            p' = (1 − ε) q + ε ρ,    q = softmax(η),    η = e^u z + scale · Oᵀz + b

        with ρ the class frequencies `rho`, O a matrix (c, c), b shifts (c,), and `scale` a constant.

        Parameters
        ----------
        theta : (p,) parameters (u, entries of O and b, logit ε)
        z : (n, c) log probabilities of the rows before calibration
        """
        # O and b as one table (c + 1, c), with b as its last row.
        o_and_b = self.matrix(theta)
        o = o_and_b[:-1]
        b = o_and_b[-1]

        # η, (n, c). Row i of `o_times_z` is Oᵀz_i; transposed twice, it keeps the memory order of z.
        o_times_z = (o.T @ z.T).T
        eta = np.exp(theta[0]) * z + self.scale * o_times_z + b

        # softmax: the largest η of a row is subtracted first, so that no exponential overflows.
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
        """Order in which the parameters must be taken when the classes get new numbers: new θ is θ[this], (p,).

        The parameters are θ = (u, entries of O and b, logit ε). A class has a row and a column of the matrix O (c, c),
        and an entry of the shifts b (c,). Example: two classes change places in a map with θ = (u, b_0, b_1, logit ε).
        The new b_0 is the old b_1, at position 2, and the new b_1 the old b_0, at position 1: the order is 0, 2, 1, 3.

        Parameters
        ----------
        old_class : the old number of each new class
        """
        # 1. A table like that of O above b, (c + 1, c), which holds the position in θ of each entry that is a
        # parameter. `layout.row` and `layout.column` say where it stands. Positions begin at 1, as θ[0] is u.
        c = len(self.rho)
        layout = self.layout
        position = np.zeros((c + 1, c), int)
        position[layout.row, layout.column] = 1 + np.arange(len(layout.row))

        # 2. Move rows and columns to the new numbers of the classes. The last row, that of b, stays the last.
        old_row = np.append(old_class, c)
        moved = position[np.ix_(old_row, old_class)]  # moved[d, k] = position[old_row[d], old_class[k]]

        # 3. Read the moved table in the order of θ. u stays the first, logit ε the last.
        of_entries = moved[layout.row, layout.column]
        last = len(layout.mean) - 1
        return np.concatenate([[0], of_entries, [last]])

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
        """f = −log p(y, θ), the negative log posterior up to a constant, at each of s draws of the parameters θ.

            f(θ) = −log prior(θ) − Σ_i w_i log p'_i,y(i)        p' calibrated probabilities, y(i) the label of row i

        It is infinite where a number overflows.

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights w (n,)
        theta : draws of the parameters
        """
        # 1. −log of the prior, which is normal: Σ (log width + ½ ((θ − mean) / width)²).
        layout = self.layout  # has mean and width of the prior of each parameter
        standardised = (theta - layout.mean) / layout.width  # (s, p)
        height = np.log(layout.width).sum() + 0.5 * np.square(standardised).sum(1)  # f so far, (s,)

        # 2. Minus the log likelihood, for a few draws at a time, so that their tables fit into a processor's cache.
        at_a_time = max(1, _CELLS_AT_A_TIME // rows.z.size)
        for draws in gen_batches(len(theta), at_a_time):  # slices of the draws
            with np.errstate(over="ignore", invalid="ignore"):
                proba = self.probas(theta[draws], rows.z)  # p', (draws, n, c)
                of_label = np.einsum("snc,nc->sn", proba, rows.y)  # Σ_c p'_sic y_ic: p' of the label, (draws, n)
                height[draws] -= np.log(np.maximum(of_label, _TINY)) @ rows.weight
        return np.nan_to_num(height, nan=np.inf, posinf=np.inf)

    def slope(self, rows: Labelled, theta: np.ndarray) -> Slope:
        """f = −log p(y, θ), the negative log posterior up to a constant, and its gradient (p,).

            f = −log prior(θ) + Σ_i w_i h_i,    h = −log p'_y of the label y,
            p' = (1 − ε) q + ε ρ,    q = softmax(η),    η_c = e^u z_c + scale · Σ_d z_d O_dc + b_c

        The gradient of a loss h follows by the chain rule:

        1. Let r = (1 − ε) q_y / p'_y, the share of q in the mixture p'_y. Then ∂h/∂log q_y = −r.
        2. softmax has ∂log q_y/∂η = onehot(y) − q, so that ∂h/∂η = r (q − onehot(y)).
        3. η is linear in O and b: ∂h/∂O_dc = scale · z_d ∂h/∂η_c and ∂h/∂b_c = ∂h/∂η_c.
        4. ∂η_c/∂u = e^u z_c, so that ∂h/∂u = e^u Σ_c z_c ∂h/∂η_c.
        5. ∂h/∂logit ε = r − 1 + ε. For ∂ε/∂logit ε = ε (1 − ε), and so ∂h/∂logit ε = −ε (1 − ε)(ρ_y − q_y) / p'_y,
           where ε ρ_y / p'_y = 1 − r and (1 − ε) q_y / p'_y = r.

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights w (n,)
        theta : (p,) parameters (u, entries of O and b, logit ε)
        """
        layout = self.layout
        z, y, weight = rows
        mapped = self._mapped(theta, z)  # q (n, c) and ε

        # Step 1, for each row, (n,). Σ_c q_c y_c is q_y, as y is one-hot.
        by_q = (1 - mapped.eps) * (mapped.q * y).sum(1)  # (1 − ε) q_y
        of_label = np.maximum(by_q + mapped.eps * (y @ self.rho), _TINY)  # p'_y
        r = by_q / of_label

        # Step 2, times the weight of the row: w_i ∂h_i/∂η_ic, (n, c).
        of_eta = (weight * r)[:, None] * (mapped.q - y)

        # Step 3, summed over the rows. The two are one table, O above b, like the parameters: (c + 1, c).
        z_of_eta = z.T @ of_eta  # Σ_i z_id w_i ∂h_i/∂η_ic, at (d, c)
        of_shift = of_eta.sum(0)
        of_table = np.vstack([self.scale * z_of_eta, of_shift])

        # The gradient of −log prior is (θ − mean) / width². To it the losses are added: step 4 for u, with Σ_c z_c …
        # as the trace of `z_of_eta`; the entries of the table that are parameters; step 5 for logit ε.
        standardised = (theta - layout.mean) / layout.width
        gradient = standardised / layout.width
        gradient[0] += np.exp(theta[0]) * np.trace(z_of_eta)
        gradient[1:-1] += of_table[layout.row, layout.column]
        gradient[-1] += weight @ (r - 1 + mapped.eps)

        height = np.log(layout.width).sum() + 0.5 * standardised @ standardised - weight @ np.log(of_label)
        return Slope(float(height), gradient)

    def derivatives(self, rows: Labelled, theta: np.ndarray) -> Derivatives:
        """f = −log p(y, θ), the negative log posterior up to a constant, its gradient (p,) and its Hessian (p, p).

            f = −log prior(θ) + Σ_i w_i h_i,    h = −log p'_y of the label y,    p' = (1 − ε) q + ε ρ,  q = softmax(η)

        η depends on all parameters θ but the last, which is λ = logit ε. Let J be the derivatives of η in these others.

        1. For each row, the share r = (1 − ε) q_y / p'_y of q in the mixture p'_y, and e = q − onehot(y).
        2. The gradient of a loss h is r Jᵀe in the other parameters, and r − 1 + ε in λ.
        3. The Hessian of the losses comes from `_hessian_of_losses`.
        4. The prior is normal: its −log has the gradient (θ − mean) / width², and the Hessian diag(1 / width²).

        Parameters
        ----------
        rows : log probabilities z and one-hot labels y, (n, c) both, and weights w (n,)
        theta : (p,) parameters (u, entries of O and b, λ) of η = e^u z + scale · Oᵀz + b
        """
        layout = self.layout  # mean and width of the prior of each parameter
        z, y, weight = rows

        # 1. Σ_c q_c y_c is q_y, as y is one-hot.
        mapped = self._mapped(theta, z)  # q (n, c), ε and p' (n, c)
        of_label = np.maximum((mapped.proba * y).sum(1), _TINY)  # p'_y, (n,)
        r = (1 - mapped.eps) * (mapped.q * y).sum(1) / of_label  # (n,)

        # 2. Summed over the rows, each times its weight.
        jacobian = self._jacobian(theta, z)  # J of each row
        je = jacobian.transposed_times(mapped.q - y)  # Jᵀe of each row, (n, p − 1)
        weight_r = weight * r
        gradient = np.append(weight_r @ je, weight @ (r - 1 + mapped.eps))  # (p,)

        # 3. and 4.
        hessian = _hessian_of_losses(jacobian, mapped, je, r, weight)
        of_prior = (theta - layout.mean) / layout.width**2
        return Derivatives(self.value(rows, theta), gradient + of_prior, hessian + np.diag(layout.width**-2))

    def _jacobian(self, theta: np.ndarray, z: Table) -> "_Jacobian":
        """The derivatives J of η = e^u z + scale · Oᵀz + b in u and in the entries of O and b, of each row z.

        ∂η_c/∂u = e^u z_c. An entry (d, c) of O has ∂η_c/∂O_dc = scale · z_d, and ∂η_c/∂b_c = 1; the other η stay.
        """
        # `layout.row` is d of an entry of O, and c of a shift: the last column of `of_row`.
        of_row = np.column_stack([self.scale * z, np.ones(len(z))])  # (n, c + 1)
        return _Jacobian(
            of_u=np.exp(theta[0]) * z,
            of_entries=of_row[:, self.layout.row],
            column=self.layout.column,
        )


def _hessian_of_losses(
    jacobian: "_Jacobian", mapped: _Mapped, je: Float[np.ndarray, "n k"], r: PerRow, weight: PerRow
) -> Float[np.ndarray, "p p"]:
    """The Hessian of Σ_i w_i h_i, h = −log p'_y, in the k parameters of η, and in λ = logit ε as the last.

    The gradient of h is r Jᵀe and r − 1 + ε, with J = ∂η/∂θ, e = q − onehot(y) and r = (1 − ε) q_y / p'_y. Each of its
    factors is differentiated once more.

        ∂e/∂η = diag q − q qᵀ              e = softmax(η) − onehot(y)
        ∂r/∂η = −r (1 − r) e               as log r/(1 − r) = log q_y − log ρ_y − λ, and ∂log q_y/∂η = −e
        ∂r/∂λ = −r (1 − r)                 for the same reason
        ∂ε/∂λ = ε (1 − ε)
        ∂J/∂u = e^u z = J, first column    all other second derivatives of η are 0

    Parameters
    ----------
    jacobian : J of each of n rows; its first parameter is u
    mapped : q (n, c) and ε
    je : Jᵀe of each row
    r, weight : of each row
    """
    weight_r = weight * r  # w r
    weight_r_1_r = weight * r * (1 - r)  # w r (1 − r)

    # In the parameters of η: r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ, and of u also r eᵀ ∂J/∂u.
    of_eta = jacobian.covariance(mapped.q, weight_r) - _gram(je, weight_r_1_r)
    of_eta[0, 0] += weight_r @ je[:, 0]

    # In these and λ: −r (1 − r) Jᵀe. In λ: ε (1 − ε) − r (1 − r).
    of_both = -(weight_r_1_r @ je)[:, None]
    of_lambda = weight.sum() * mapped.eps * (1 - mapped.eps) - weight_r_1_r.sum()
    return np.block([[of_eta, of_both], [of_both.T, of_lambda]])


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
    """A calibration map as a model in NumPyro: labels given the log probabilities z of their rows.

        y_i ~ Categorical(p'_i),    p' = (1 − ε) softmax(η) + ε ρ,    η = e^u z + scale · Oᵀz + b

    The site `theta` has all parameters, (p,): u, then the entries of O and b that have a prior, then logit ε. The prior
    allows maps that are not increasing: keep the draws for which `CalibrationMap.is_increasing`.

    Parameters
    ----------
    calibration : the map: prior of its parameters, class frequencies ρ, and the constant `scale`
    z : (n, c) log probabilities of the rows by a model that has not seen them
    index, weight : (n,) class of each row, and how often it counts in the likelihood
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    # 1. The prior: independent normals.
    layout = calibration.layout  # mean and width of each parameter, and where entries stand in the table of O above b
    theta = numpyro.sample("theta", dist.Normal(jnp.asarray(layout.mean), jnp.asarray(layout.width)).to_event(1))

    # 2. O (c, c) and b (c,), with 0 for all entries that are no parameters.
    c = len(calibration.rho)
    o_and_b = jnp.zeros((c + 1, c)).at[layout.row, layout.column].set(theta[1:-1])
    o = o_and_b[:-1]
    b = o_and_b[-1]

    # 3. η (n, c), and the logs of (1 − ε) softmax(η) and of ε ρ. sigmoid(logit ε) = ε, and sigmoid(−logit ε) = 1 − ε.
    eta = jnp.exp(theta[0]) * z + calibration.scale * (z @ o) + b  # row i of z @ o is Oᵀz_i
    of_q = jax.nn.log_sigmoid(-theta[-1]) + jax.nn.log_softmax(eta)  # (n, c)
    of_rho = jax.nn.log_sigmoid(theta[-1]) + jnp.log(calibration.rho)  # (c,)
    log_proba = jnp.logaddexp(of_q, of_rho)  # the log of their sum

    # 4. The labels. A row's log probability counts as often as its weight says.
    with numpyro.plate("row", len(z)), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=log_proba), obs=jnp.asarray(index))


def most_probable(maps: tuple[CalibrationMap, ...]) -> CalibrationMap:
    """The most probable of the maps with parameters: without the first, which leaves probabilities as they are."""
    return max(maps[1:], key=lambda calibration: calibration.probability)
