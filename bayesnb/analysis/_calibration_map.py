"""The map from the class probabilities of a model to calibrated ones: four models of it, their posteriors and draws.

With z = log p, the log probabilities of the model, and ρ the class frequencies, the calibrated probabilities are

    p'_c = (1 − ε) q_c + ε ρ_c,   q = softmax(η),   η_c = e^u z_c + e^û Σ_d z_d O_dc + b_c
    u ~ N(0, 1),   logit ε ~ N(−4, 2²),   b_c ~ N(0, t_b²),   O_cc ~ N(0, t_o²),   O_dc ~ N(0, t_x²)

û is the mode of u where O = 0, and only gives O its scale: in e^u (I + O) a search ends in wrong modes. With two
classes and ε = 0 this is the beta map. With O = 0 it is a power ("temperature") and shifts. Four models have prior
probabilities: p' = p (0.4), and 0.2 each for the widths (t_o, t_x, t_b) of `WIDTHS`. Without the first, 50 rows make
every fifth model worse. Beyond `MOST_CLASSES` classes O is diagonal.

Newton's method and Laplace's approximation give the mode, the evidence and the draws of each. With f = −log p(y, θ)
and its Hessian H at the mode θ̂, log p(y) ≈ −f(θ̂) + ½ p log 2π − ½ log det H, and θ given y ≈ Normal(θ̂, H⁻¹). A mode can
be flat with a cliff beside it. A draw is therefore moved towards the mode until f has risen by no more than |s|²/2, as
it does under the Gaussian. With h = −log p'_y, r = (1 − ε) q_y / p'_y, e = onehot(y) − q, λ = logit ε and J = ∂η/∂θ

    ∂h/∂θ = −r Jᵀe,    ∂²h/∂θ∂θᵀ = r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ − [u] r e·(e^u z)
    ∂h/∂λ = r − 1 + ε,  ∂²h/∂λ² = ε (1 − ε) − r (1 − r),   ∂²h/∂λ∂θ = r (1 − r) Jᵀe

References
----------
Kull, Silva Filho & Flach (2017), Beta calibration, AISTATS; Guo et al. (2017), ICML, for the power.
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from ..core.arrays import Float, PerRow, Table
from ..core.pytrees import record

WIDTHS = ((0.0, 0.0, 0.3), (0.3, 0.1, 0.3), (1.0, 0.3, 1.0))  # t_o, t_x, t_b
MODELS = ("unchanged", "power and shifts", "matrix, narrow prior", "matrix, wide prior")
UNCHANGED = 0.4  # prior probability that the model is calibrated
MOST_CLASSES = 12  # with a full matrix O
LOGIT_EPS = (-4.0, 2.0)  # mean, standard deviation
QUANTILES: Any = "weibull"  # of draws: an interval holds its level in expectation, also of few draws
_NOTHING = 1e-9  # probability that no prediction goes below
_DRAWS = 100  # of the posterior, that a prediction averages
_STEPS, _LONGEST, _SMALL_GAIN = 100, 2.0, 1e-7  # of Newton's method: steps, longest step, nats of gain
_LEAST = 0.1  # curvature at the mode: a prior's precision is larger, but the likelihood may take some away


class Labelled(NamedTuple):
    """Log probabilities z (n, c) of rows that the model has not seen, their labels one-hot (n, c), and weights (n,)."""

    z: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @property
    def rho(self) -> Float[np.ndarray, " c"]:
        """Class frequencies, with one row more of each class."""
        return (self.weight @ self.y + 1) / (self.weight.sum() + self.y.shape[1])


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
    mode : (p,) u, the entries of O and b with a prior by columns, logit ε
    draws : (s, p) of the posterior
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
        return start if model == 0 else replace(start, mode=start.entries[2])

    @cached_property
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Row and column in [O; b] of the parameters that stand there, and mean and width of the prior of all."""
        c, (t_o, t_x, t_b) = len(self.rho), WIDTHS[self.model - 1]
        width = np.full((c + 1, c), t_x if c <= MOST_CLASSES else 0.0)
        width[range(c), range(c)], width[c] = t_o, t_b
        column, row = np.nonzero(width.T)
        mean = np.append(np.zeros(len(row) + 1), LOGIT_EPS[0])
        return row, column, mean, np.concatenate([[1.0], width[row, column], LOGIT_EPS[1:]])

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "d c"]:
        """[O; b], (c + 1, c)."""
        row, column, *_ = self.entries
        found = np.zeros((len(self.rho) + 1, len(self.rho)))
        found[row, column] = theta[1:-1]
        return found

    def proba(self, theta: np.ndarray, z: Table) -> Table:
        """p' of rows for given parameters, none below 1e-9."""
        p = self._steps(theta, z)[2] if self.model else softmax(z, axis=1)
        return (1 - _NOTHING) * p + _NOTHING * self.rho

    def _steps(self, theta: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """q, ε and p' of rows."""
        v = self.matrix(theta)
        q = softmax(np.exp(theta[0]) * z + self.scale * (z @ v[:-1]) + v[-1], axis=1)
        eps = float(expit(theta[-1]))
        return q, eps, (1 - eps) * q + eps * self.rho

    # --- the posterior ----------------------------------------------------------------------------------------------

    def value(self, rows: Labelled, theta: np.ndarray) -> float:
        """−log p(y, θ), without the constants ½ log 2π of the prior."""
        *_, mean, width = self.entries
        own = (self._steps(theta, rows.z)[2] * rows.y).sum(1)
        of_prior = np.log(width).sum() + 0.5 * np.square((theta - mean) / width).sum()
        return float(of_prior - rows.weight @ np.log(np.maximum(own, 1e-300)))

    def derivatives(self, rows: Labelled, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """`value` with its gradient and its Hessian."""
        (z, y, weight), (row, column, mean, width) = rows, self.entries
        q, eps, p = self._steps(theta, z)
        slope, cells = np.exp(theta[0]) * z, np.column_stack([self.scale * z, np.ones(len(z))])[:, row]
        own, e = (p * y).sum(1), y - q
        r = (1 - eps) * (q * y).sum(1) / np.maximum(own, 1e-300)
        wr, mixed = weight * r, weight * r * (1 - r)
        je, jq = (np.column_stack([(v * slope).sum(1), v[:, column] * cells]) for v in (e, q))  # Jᵀe and Jᵀq
        h = -(jq * wr[:, None]).T @ jq - (je * mixed[:, None]).T @ je
        for k in range(len(self.rho)):
            at = np.concatenate([[0], 1 + np.flatnonzero(column == k)])
            j = np.column_stack([slope[:, k], cells[:, column == k]])
            h[np.ix_(at, at)] += (j * (wr * q[:, k])[:, None]).T @ j
        h[0, 0] -= wr @ je[:, 0]
        cross = (mixed @ je)[:, None]
        h = np.block([[h, cross], [cross.T, weight.sum() * eps * (1 - eps) - mixed.sum()]])
        gradient = np.append(-wr @ je, weight @ (r - 1 + eps)) + (theta - mean) / width**2
        return self.value(rows, theta), gradient, h + np.diag(width**-2)

    def fitted(self, rows: Labelled, u: float = 0.0, logit: float = LOGIT_EPS[0]) -> "Laplace":
        """Its posterior, by Newton's method from a start; f need not be convex."""
        theta, damping = np.concatenate([[u], self.entries[2][1:-1], [logit]]), 0.0
        height, gradient, hessian = self.derivatives(rows, theta)
        for _ in range(_STEPS):
            values, vectors = np.linalg.eigh(hessian)
            curve = np.maximum(abs(values), 1e-3) + damping
            step = -vectors @ ((vectors.T @ gradient) / curve)
            step *= min(1.0, _LONGEST / abs(step).max(initial=1e-300))
            if -(gradient @ step) < _SMALL_GAIN:
                break
            if self.value(rows, theta + step) < height:
                theta, damping = theta + step, damping / 10
                height, gradient, hessian = self.derivatives(rows, theta)
            else:
                damping = max(10 * damping, 0.1 * curve.max())
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, _LEAST)
        root = (vectors / np.sqrt(values)) @ vectors.T  # symmetric: a vector's sign would change all draws
        return Laplace(partial(self.value, rows), theta, root, height, float(-height - 0.5 * np.log(values).sum()))


@dataclass(frozen=True)
class Laplace:
    """A posterior about its mode.

    Fields
    ------
    value : f
    mode : (p,) θ̂
    root : (p, p) symmetric root of H⁻¹
    height : f(θ̂)
    log_evidence : −f(θ̂) − ½ log det H: without ½ p log 2π, which the normaliser of a Gaussian prior cancels
    """

    value: Callable[[np.ndarray], float]
    mode: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]
    height: float
    log_evidence: float

    def draw(self, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The draw of standard normal numbers s."""
        step, due = self.root @ s, 0.5 * s @ s
        for _ in range(8):
            rise = self.value(self.mode + step) - self.height
            if rise <= 1.1 * due:
                break
            step *= max(np.sqrt(due / rise), 0.3)
        return self.mode + step


def fit_maps(
    z: Table,
    index: np.ndarray,
    weight: PerRow,
    groups: np.ndarray | None = None,
) -> tuple[CalibrationMap, ...]:
    """The four models of the map, with their probabilities and draws, in pairs about the modes.

    Parameters
    ----------
    z : log probabilities of rows that the model has not seen
    index, weight : class and weight of each row
    groups : (n,) labels of groups of rows that depend on each other. All weights are then divided by the factor by
        which the residuals y − q of the rows add up in the groups: five copies of each row count as one
    """
    used = weight > 0
    rows = Labelled(z[used], np.eye(z.shape[1])[index[used]], weight[used])
    base = CalibrationMap.prior(1, rows.rho)
    first = base.fitted(rows)
    if groups is not None:
        place = np.unique(np.asarray(groups)[used], return_inverse=True)[1]
        off = rows.weight[:, None] * (rows.y - base.proba(first.mode, rows.z))
        together = np.stack([np.bincount(place, column) for column in off.T])
        factor = max(1.0, np.square(together).sum() / np.square(off).sum())
        rows = rows._replace(weight=rows.weight / factor)
        base = CalibrationMap.prior(1, rows.rho)
        first = base.fitted(rows, first.mode[0], first.mode[-1])
    (u, logit), c = first.mode[[0, -1]], len(WIDTHS)
    maps = [CalibrationMap.prior(k, base.rho, 1.0 if k < 2 else float(np.exp(u))) for k in range(c + 1)]
    found = [first, *(one.fitted(rows, u, logit) for one in maps[2:])]
    same = rows.weight @ np.log((maps[0].proba(maps[0].mode, rows.z) * rows.y).sum(1))
    prior = np.log([UNCHANGED, *[(1 - UNCHANGED) / c] * c])
    share = softmax(np.array([same, *(post.log_evidence for post in found)]) + prior)
    rng, sizes = np.random.default_rng(0), np.diff(np.round(np.cumsum(share) * _DRAWS).astype(int), prepend=0)
    made = [replace(maps[0], probability=float(share[0]), draws=np.zeros((sizes[0], 0)))]
    for one, post, p, size in zip(maps[1:], found, share[1:], sizes[1:], strict=True):
        half = rng.standard_normal(((size + 1) // 2, len(post.mode)))
        draws = np.reshape([post.draw(s) for s in [*half, *-half][:size]], (size, len(post.mode)))
        made.append(replace(one, probability=float(p), mode=post.mode, draws=draws))
    return tuple(made)


def numpyro_model(one: CalibrationMap, z: Any, index: Any, weight: Any) -> None:
    """One model of the map in NumPyro: labels given the log probabilities of their rows.

    Sites `theta`, that is u, the entries of O and b that have a prior, and logit ε; and `y`.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    row, column, mean, width = one.entries
    theta = numpyro.sample("theta", dist.Normal(jnp.asarray(mean), jnp.asarray(width)).to_event(1))
    v = jnp.zeros((len(one.rho) + 1, len(one.rho))).at[row, column].set(theta[1:-1])
    eta = jnp.exp(theta[0]) * z + one.scale * (z @ v[:-1]) + v[-1]
    log_one = jax.nn.log_sigmoid(-theta[-1]), jax.nn.log_sigmoid(theta[-1])
    log_p = jnp.logaddexp(log_one[0] + jax.nn.log_softmax(eta), log_one[1] + jnp.log(one.rho))
    with numpyro.plate("row", len(z)), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=log_p), obs=jnp.asarray(index))


def heaviest(maps: tuple[CalibrationMap, ...]) -> CalibrationMap:
    """The most probable of the maps with parameters."""
    return max(maps[1:], key=lambda one: one.probability)
