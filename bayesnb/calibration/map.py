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

With h = −log p'_y, r = (1 − ε) q_y / p'_y, e = onehot(y) − q, λ = logit ε and J = ∂η/∂θ the derivatives are

    ∂h/∂θ = −r Jᵀe,    ∂²h/∂θ∂θᵀ = r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ − [u] r e·(e^u z)
    ∂h/∂λ = r − 1 + ε,  ∂²h/∂λ² = ε (1 − ε) − r (1 − r),   ∂²h/∂λ∂θ = r (1 − r) Jᵀe

References
----------
Kull, Silva Filho & Flach (2017), Beta calibration, AISTATS; Guo et al. (2017), ICML, for the power.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import gen_batches

from ..core.arrays import Bool, Float, Int, PerRow, Table
from ..core.pytrees import record

WIDTHS = ((0.0, 0.0, 0.3), (0.3, 0.1, 0.3), (1.0, 0.3, 1.0))  # t_o, t_x, t_b
MODELS = ("unchanged", "power and shifts", "matrix, narrow prior", "matrix, wide prior")
PROB_UNCHANGED = 0.4  # prior probability that the model is calibrated
MAX_FULL_CLASSES = 12  # with a full matrix O
LOGIT_EPS_MEAN = -4.0
LOGIT_EPS_WIDTH = 2.0
_LEAST_PROBA = 1e-9  # probability that no prediction goes below
_TINY = 1e-300  # keeps a logarithm finite
_N_PRIOR_DRAWS = 2_000  # by which the share of increasing maps is known to .01
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
    """Posterior mean of the class probabilities, under the prior Dirichlet(1), by the weight of each class."""
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
        """A map before it is fitted."""
        start = cls(model, rho, scale, 1.0, np.zeros(0), np.zeros((0, 0)))
        if model == 0:
            return start
        return replace(start, mode=start.layout.mean)

    @cached_property
    def layout(self) -> Layout:
        """The parameters, and their prior."""
        c = len(self.rho)
        t_o, t_x, t_b = WIDTHS[self.model - 1]
        width = np.full((c + 1, c), t_x if c <= MAX_FULL_CLASSES else 0.0)
        np.fill_diagonal(width, t_o)
        width[c] = t_b
        column, row = np.nonzero(width.T)
        mean = np.zeros(len(row) + 2)
        mean[-1] = LOGIT_EPS_MEAN
        return Layout(row, column, mean, np.concatenate([[1.0], width[row, column], [LOGIT_EPS_WIDTH]]))

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "d c"]:
        """[O; b], (c + 1, c)."""
        c = len(self.rho)
        entries = np.zeros((c + 1, c))
        entries[self.layout.row, self.layout.column] = theta[1:-1]
        return entries

    def proba(self, theta: np.ndarray, z: Table) -> Table:
        """p' of rows for given parameters, none below 1e-9."""
        p = self._mapped(theta, z).proba if self.model else softmax(z, axis=1)
        return (1 - _LEAST_PROBA) * p + _LEAST_PROBA * self.rho

    def probas(self, theta: Float[np.ndarray, "s p"], z: Table) -> Float[np.ndarray, "s n c"]:
        """p' of rows for many parameters at once."""
        c = len(self.rho)
        entries = np.zeros((len(theta), c, c + 1))
        entries[:, self.layout.column, self.layout.row] = theta[:, 1:-1]
        eta = self.scale * (entries[:, :, :-1] @ z.T) + entries[:, :, -1:]
        eta += np.exp(theta[:, 0])[:, None, None] * z.T
        q = np.exp(eta - eta.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        eps = expit(theta[:, -1])[:, None, None]
        return ((1 - eps) * q + eps * self.rho[:, None]).transpose(0, 2, 1)

    def is_increasing(self, theta: Float[np.ndarray, "s p"]) -> Bool[np.ndarray, " s"]:
        """Whether e^u + e^û (O_cc − O_ck) ≥ 0 for all classes k ≠ c, for many parameters at once."""
        c = len(self.rho)
        if self.model == 0:
            return np.ones(len(theta), bool)
        entries = np.zeros((len(theta), c + 1, c))
        entries[:, self.layout.row, self.layout.column] = theta[:, 1:-1]
        matrix = entries[:, :c]  # O, (s, c, c)
        own = np.diagonal(matrix, axis1=1, axis2=2)  # O_cc, (s, c)
        others = np.where(np.eye(c, dtype=bool), -np.inf, matrix)
        slope = np.exp(theta[:, 0]) + self.scale * (own - others.max(2)).min(1)
        return slope >= 0

    @cached_property
    def increasing_share(self) -> float:
        """Probability, under the prior without the restriction, that a map is increasing."""
        normals = np.random.default_rng(0).standard_normal((_N_PRIOR_DRAWS, len(self.layout.mean)))
        return float(self.is_increasing(self.layout.mean + self.layout.width * normals).mean())

    def _mapped(self, theta: np.ndarray, z: np.ndarray) -> _Mapped:
        entries = self.matrix(theta)
        of_matrix = (entries[:-1].T @ z.T).T  # by columns, if z is
        eta = np.exp(theta[0]) * z + self.scale * of_matrix + entries[-1]
        q = np.exp(eta - eta.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        eps = float(expit(theta[-1]))
        return _Mapped(q, eps, (1 - eps) * q + eps * self.rho)

    def relabelled(self, order: Int[np.ndarray, " c"]) -> "CalibrationMap":
        """The same map where class k is called order[k]."""
        c = len(self.rho)
        rank = np.argsort(order)
        renamed = replace(self, rho=self.rho[rank])
        if self.model == 0:
            return renamed
        layout = self.layout
        position = np.zeros((c + 1, c), int)
        position[layout.row, layout.column] = 1 + np.arange(len(layout.row))
        moved = position[np.ix_(np.append(rank, c), rank)][layout.row, layout.column]
        parameters = np.concatenate([[0], moved, [len(layout.mean) - 1]])
        return replace(renamed, mode=self.mode[parameters], draws=self.draws[:, parameters])

    # --- the density of its parameters ------------------------------------------------------------------------------

    def value(self, rows: Labelled, theta: np.ndarray) -> float:
        """f = −log p(y, θ), without the constants ½ log 2π of the prior."""
        layout = self.layout
        of_label = (self._mapped(theta, rows.z).proba * rows.y).sum(1)
        of_prior = np.log(layout.width).sum() + 0.5 * np.square((theta - layout.mean) / layout.width).sum()
        return float(of_prior - rows.weight @ np.log(np.maximum(of_label, _TINY)))

    def values(self, rows: Labelled, theta: Float[np.ndarray, "s p"]) -> Float[np.ndarray, " s"]:
        """`value` of many parameters at once; infinite where numbers overflow."""
        layout = self.layout
        off = (theta - layout.mean) / layout.width
        height = np.log(layout.width).sum() + 0.5 * np.square(off).sum(1)
        at_a_time = max(1, _CELLS_AT_A_TIME // rows.z.size)
        for draws in gen_batches(len(theta), at_a_time):
            with np.errstate(over="ignore", invalid="ignore"):
                of_label = np.einsum("snc,nc->sn", self.probas(theta[draws], rows.z), rows.y)
                height[draws] -= np.log(np.maximum(of_label, _TINY)) @ rows.weight
        return np.nan_to_num(height, nan=np.inf, posinf=np.inf)

    def slope(self, rows: Labelled, theta: np.ndarray) -> Slope:
        """`value` with its gradient, in a tenth of the time of `derivatives`."""
        layout = self.layout
        z, y, weight = rows
        mapped = self._mapped(theta, z)
        explained = (1 - mapped.eps) * (mapped.q * y).sum(1)
        of_label = np.maximum(explained + mapped.eps * (y @ self.rho), _TINY)
        r = explained / of_label
        minus_of_eta = (weight * r)[:, None] * (y - mapped.q)  # −∂h/∂η
        z_of_eta = z.T @ minus_of_eta
        of_entries = np.vstack([self.scale * z_of_eta, minus_of_eta.sum(0)])

        off = (theta - layout.mean) / layout.width
        gradient = off / layout.width
        gradient[0] -= np.exp(theta[0]) * np.trace(z_of_eta)
        gradient[1:-1] -= of_entries[layout.row, layout.column]
        gradient[-1] += weight @ (r - 1 + mapped.eps)
        height = np.log(layout.width).sum() + 0.5 * off @ off - weight @ np.log(of_label)
        return Slope(float(height), gradient)

    def derivatives(self, rows: Labelled, theta: np.ndarray) -> Derivatives:
        """`value` with its gradient and its Hessian."""
        layout = self.layout
        z, y, weight = rows
        mapped = self._mapped(theta, z)
        eps = mapped.eps
        of_label = np.maximum((mapped.proba * y).sum(1), _TINY)
        r = (1 - eps) * (mapped.q * y).sum(1) / of_label
        jacobian = _Jacobian(
            of_u=np.exp(theta[0]) * z,
            of_entries=np.column_stack([self.scale * z, np.ones(len(z))])[:, layout.row],
            column=layout.column,
        )
        je = jacobian.transposed_times(y - mapped.q)
        mixed = weight * r * (1 - r)

        hessian = jacobian.covariance(mapped.q, weight * r) - _gram(je, mixed)
        hessian[0, 0] -= weight * r @ je[:, 0]
        cross = (mixed @ je)[:, None]
        corner = weight.sum() * eps * (1 - eps) - mixed.sum()
        hessian = np.block([[hessian, cross], [cross.T, corner]])

        gradient = np.append(-(weight * r) @ je, weight @ (r - 1 + eps))
        of_prior = (theta - layout.mean) / layout.width**2
        return Derivatives(self.value(rows, theta), gradient + of_prior, hessian + np.diag(layout.width**-2))


class _Jacobian(NamedTuple):
    """J = ∂η/∂(u, entries) of rows; an entry of column k adds to η_k alone.

    Fields
    ------
    of_u : (n, c) ∂η_k/∂u
    of_entries : (n, entries) derivative of an entry, in its column
    column : (entries,) the class that each entry adds to
    """

    of_u: Table
    of_entries: Float[np.ndarray, "n entries"]
    column: Int[np.ndarray, " entries"]

    def transposed_times(self, v: Table) -> Float[np.ndarray, "n k"]:
        """Jᵀv of each row."""
        return np.column_stack([(v * self.of_u).sum(1), v[:, self.column] * self.of_entries])

    def covariance(self, q: Table, weight: PerRow) -> Float[np.ndarray, "k k"]:
        """Σ_i w_i Jᵀ(diag q − q qᵀ)J."""
        jq = self.transposed_times(q)
        total = -_gram(jq, weight)
        for k in range(q.shape[1]):
            of_class = np.flatnonzero(self.column == k)
            j = np.column_stack([self.of_u[:, k], self.of_entries[:, of_class]])
            parameters = np.append(0, 1 + of_class)
            total[np.ix_(parameters, parameters)] += _gram(j, weight * q[:, k])
        return total


def _gram(j: Float[np.ndarray, "n k"], weight: PerRow) -> Float[np.ndarray, "k k"]:
    """Σ_i w_i j_i j_iᵀ; NumPy computes half of the product of a matrix with itself."""
    half = j * np.sqrt(weight)[:, None]
    return half.T @ half


# --- the same in NumPyro ----------------------------------------------------------------------------------------------


def numpyro_model(calibration: CalibrationMap, z: Any, index: Any, weight: Any) -> None:
    """One model of the map in NumPyro: labels given the log probabilities of their rows.

    Sites `theta`, that is u, the entries of O and b that have a prior, and logit ε; and `y`. The prior is not
    restricted to increasing maps: keep the draws for which `CalibrationMap.is_increasing`.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    c = len(calibration.rho)
    layout = calibration.layout
    theta = numpyro.sample("theta", dist.Normal(jnp.asarray(layout.mean), jnp.asarray(layout.width)).to_event(1))
    entries = jnp.zeros((c + 1, c)).at[layout.row, layout.column].set(theta[1:-1])
    eta = jnp.exp(theta[0]) * z + calibration.scale * (z @ entries[:-1]) + entries[-1]
    of_q = jax.nn.log_sigmoid(-theta[-1]) + jax.nn.log_softmax(eta)
    of_rho = jax.nn.log_sigmoid(theta[-1]) + jnp.log(calibration.rho)
    with numpyro.plate("row", len(z)), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=jnp.logaddexp(of_q, of_rho)), obs=jnp.asarray(index))


def most_probable(maps: tuple[CalibrationMap, ...]) -> CalibrationMap:
    """The most probable of the maps with parameters."""
    return max(maps[1:], key=lambda calibration: calibration.probability)
