"""The map from the class probabilities of a model to calibrated ones: four models of it, their posteriors and draws.

With z = log p, the log probabilities of the model, and ρ the class frequencies, the calibrated probabilities are

    p'_c = (1 − ε) q_c + ε ρ_c,   q = softmax(η),   η_c = e^u z_c + e^û Σ_d z_d O_dc + b_c
    u ~ N(0, 1),   logit ε ~ N(−4, 2²),   b_c ~ N(0, t_b²),   O_cc ~ N(0, t_o²),   O_dc ~ N(0, t_x²)

û is the mode of u where O = 0, and only gives O its scale: in e^u (I + O) a search ends in wrong modes. With two
classes and ε = 0 this is the beta map. With O = 0 it is a power ("temperature") and shifts. Four models have prior
probabilities: p' = p (0.4), and 0.2 each for the widths (t_o, t_x, t_b) of `WIDTHS`. Without the first, 50 rows make
every fifth model worse. Beyond `MOST_CLASSES` classes O is diagonal.

Newton's method finds the mode of each, and Laplace's approximation its evidence. Draws are those of its Gaussian, moved
towards the mode until the density has fallen by no more than that of the Gaussian: a mode can be flat with a cliff
beside it. With h = −log p'_y, r = (1 − ε) q_y / p'_y, e = onehot(y) − q, λ = logit ε and J = ∂η/∂θ

    ∂h/∂θ = −r Jᵀe,    ∂²h/∂θ∂θᵀ = r Jᵀ(diag q − q qᵀ)J − r (1 − r) Jᵀe eᵀJ − [u] r e·(e^u z)
    ∂h/∂λ = r − 1 + ε,  ∂²h/∂λ² = ε (1 − ε) − r (1 − r),   ∂²h/∂λ∂θ = r (1 − r) Jᵀe

References
----------
Kull, Silva Filho & Flach (2017), Beta calibration, AISTATS; Guo et al. (2017), ICML, for the power.
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..core.arrays import Float
from ..core.pytrees import record

WIDTHS = ((0.0, 0.0, 0.3), (0.3, 0.1, 0.3), (1.0, 0.3, 1.0))  # t_o, t_x, t_b
MODELS = ("unchanged", "power and shifts", "matrix, narrow prior", "matrix, wide prior")
UNCHANGED = 0.4  # prior probability that the model is calibrated
MOST_CLASSES = 12  # with a full matrix O
LOGIT_EPS = (-4.0, 2.0)  # mean, standard deviation
_NOTHING = 1e-9  # probability that no prediction goes below
_STEPS, _LONGEST, _SMALL_GAIN = 100, 2.0, 1e-7  # of Newton's method: steps, longest step, nats of gain


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
    root : (p, p) root of Laplace's covariance
    height : −log p(y, θ) at the mode, without the constants of the prior
    draws : (s, p) of the posterior
    """

    model: int
    rho: Float[np.ndarray, " c"]
    scale: float
    probability: float
    mode: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]
    height: float
    draws: Float[np.ndarray, "s p"]

    @classmethod
    def prior(cls, model: int, rho: np.ndarray, scale: float = 1.0) -> "CalibrationMap":
        """A map before it is fitted."""
        start = cls(model, rho, scale, 1.0, np.zeros(0), np.zeros((0, 0)), 0.0, np.zeros((0, 0)))
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

    def proba(self, theta: np.ndarray, z: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
        """p' of rows for given parameters, none below 1e-9."""
        p = self._steps(theta, z)[2] if self.model else softmax(z, axis=1)
        return (1 - _NOTHING) * p + _NOTHING * self.rho

    def _steps(self, theta: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """q, ε and p' of rows."""
        v = self.matrix(theta)
        eta = np.exp(theta[0]) * z + v[-1]
        if WIDTHS[self.model - 1][0]:
            eta += self.scale * (z @ v[:-1])
        eta -= eta.max(1, keepdims=True)
        q = np.exp(eta, out=eta)
        q /= q.sum(1, keepdims=True)
        eps = float(expit(theta[-1]))
        return q, eps, (1 - eps) * q + eps * self.rho

    # --- the posterior ----------------------------------------------------------------------------------------------

    def value(self, theta: np.ndarray, z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        """−log p(y, θ), without the constants of the prior."""
        *_, mean, width = self.entries
        own = (self._steps(theta, z)[2] * y).sum(1)
        return float(0.5 * np.square((theta - mean) / width).sum() - weight @ np.log(np.maximum(own, 1e-300)))

    def derivatives(
        self, theta: np.ndarray, z: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """`value` with its gradient and its Hessian; y (n, c) is one-hot."""
        row, column, mean, width = self.entries
        q, eps, p = self._steps(theta, z)
        slope, cells = np.exp(theta[0]) * z, np.column_stack([self.scale * z, np.ones(len(z))])[:, row]
        own, e = (p * y).sum(1), y - q
        r = (1 - eps) * (q * y).sum(1) / np.maximum(own, 1e-300)
        wr, mixed = weight * r, weight * r * (1 - r)
        je = np.column_stack([(e * slope).sum(1), e[:, column] * cells])  # Jᵀe
        jq = np.column_stack([(q * slope).sum(1), q[:, column] * cells])  # Jᵀq
        h = -(jq * wr[:, None]).T @ jq - (je * mixed[:, None]).T @ je
        for k in range(len(self.rho)):
            at = np.concatenate([[0], 1 + np.flatnonzero(column == k)])
            j = np.column_stack([slope[:, k], cells[:, column == k]])
            h[np.ix_(at, at)] += (j * (wr * q[:, k])[:, None]).T @ j
        h[0, 0] -= wr @ je[:, 0]
        cross = (mixed @ je)[:, None]
        h = np.block([[h, cross], [cross.T, weight.sum() * eps * (1 - eps) - mixed.sum()]])
        off = (theta - mean) / width
        gradient = np.append(-wr @ je, weight @ (r - 1 + eps)) + off / width
        value = 0.5 * off @ off - weight @ np.log(np.maximum(own, 1e-300))
        return float(value), gradient, h + np.diag(width**-2)

    def fitted(self, z: np.ndarray, y: np.ndarray, weight: np.ndarray, u: float, logit: float) -> tuple[Any, float]:
        """The map at its mode, by Newton's method from a start; and its log evidence."""
        *_, mean, width = self.entries
        theta, damping = np.concatenate([[u], mean[1:-1], [logit]]), 0.0
        value, gradient, hessian = self.derivatives(theta, z, y, weight)
        for _ in range(_STEPS):
            values, vectors = np.linalg.eigh(hessian)
            curve = np.maximum(abs(values), 1e-3) + damping
            step = -vectors @ ((vectors.T @ gradient) / curve)
            step *= min(1.0, _LONGEST / abs(step).max(initial=1e-300))
            if -(gradient @ step) < _SMALL_GAIN:
                break
            if self.value(theta + step, z, y, weight) < value:
                theta, damping = theta + step, damping / 10
                value, gradient, hessian = self.derivatives(theta, z, y, weight)
            else:
                damping = max(10 * damping, 0.1 * curve.max())
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, 0.1)  # the prior's precision is 1/4 or more; the contamination can take some away
        log_evidence = -value - np.log(width).sum() - 0.5 * np.log(values).sum()
        root = (vectors / np.sqrt(values)) @ vectors.T  # symmetric: a vector's sign would change all draws
        return replace(self, mode=theta, root=root, height=value), float(log_evidence)

    def draw(self, s: np.ndarray, z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The draw of standard normal numbers s: θ where −log p(θ | y) has risen by |s|²/2 at most."""
        step, due = self.root @ s, 0.5 * s @ s
        for _ in range(8):
            rise = self.value(self.mode + step, z, y, weight) - self.height
            if rise <= 1.1 * due:
                break
            step *= max(np.sqrt(due / rise), 0.3)
        return self.mode + step


def fit_maps(
    z: Float[np.ndarray, "n c"],
    index: np.ndarray,
    weight: Float[np.ndarray, " n"],
    groups: np.ndarray | None = None,
    n_draws: int = 100,
    seed: int = 0,
) -> tuple[CalibrationMap, ...]:
    """The four models of the map, with their probabilities and draws, in pairs about the modes.

    Parameters
    ----------
    z : log probabilities of rows that the model has not seen
    index, weight : class and weight of each row
    groups : (n,) labels of groups of rows that depend on each other. All weights are then divided by the factor by
        which the residuals y − q of the rows add up in the groups: five copies of each row count as one
    """
    c = z.shape[1]
    y = np.eye(c)[index]
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used]
    rho = (weight @ y + 1) / (weight.sum() + c)
    base, evidence = CalibrationMap.prior(1, rho).fitted(z, y, weight, 0.0, LOGIT_EPS[0])
    if groups is not None:
        place = np.unique(np.asarray(groups)[used], return_inverse=True)[1]
        off = weight[:, None] * (y - base.proba(base.mode, z))
        together = np.stack([np.bincount(place, column) for column in off.T])
        weight = weight / max(1.0, np.square(together).sum() / np.square(off).sum())
        rho = (weight @ y + 1) / (weight.sum() + c)
        base, evidence = CalibrationMap.prior(1, rho).fitted(z, y, weight, base.mode[0], base.mode[-1])
    scale, start = float(np.exp(base.mode[0])), (base.mode[0], base.mode[-1])
    others = [CalibrationMap.prior(k, rho, scale).fitted(z, y, weight, *start) for k in range(2, len(MODELS))]
    same = CalibrationMap.prior(0, rho)
    unchanged = float(weight @ np.log((same.proba(same.mode, z) * y).sum(1)))
    found, score = zip((same, unchanged), (base, evidence), *others, strict=True)
    before = [UNCHANGED] + [(1 - UNCHANGED) / len(WIDTHS)] * len(WIDTHS)
    share = softmax(np.array(score) + np.log(before))
    rng, ends = np.random.default_rng(seed), np.round(np.cumsum(share) * n_draws).astype(int)
    made = []
    for one, p, size in zip(found, share, np.diff(ends, prepend=0), strict=True):
        half = rng.standard_normal(((size + 1) // 2, len(one.mode)))
        normal = np.concatenate([half, -half])[:size]
        draws = np.array([one.draw(s, z, y, weight) for s in normal]) if one.model else normal
        made.append(replace(one, probability=float(p), draws=draws.reshape(size, len(one.mode))))
    return tuple(made)


def numpyro_model(one: CalibrationMap, z: Any, index: Any, weight: Any) -> None:
    """One model of the map in NumPyro: labels given the log probabilities of their rows.

    Sites `u`, `entries` (those of O and b that have a prior), `logit_eps`, and `y`.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    row, column, _, width = one.entries
    u = numpyro.sample("u", dist.Normal(0.0, 1.0))
    entries = numpyro.sample("entries", dist.Normal(0.0, jnp.asarray(width[1:-1])).to_event(1))
    logit = numpyro.sample("logit_eps", dist.Normal(*LOGIT_EPS))
    v = jnp.zeros((len(one.rho) + 1, len(one.rho))).at[row, column].set(entries)
    eta = jnp.exp(u) * z + one.scale * (z @ v[:-1]) + v[-1]
    log_q = jax.nn.log_softmax(eta)
    log_p = jnp.logaddexp(jax.nn.log_sigmoid(-logit) + log_q, jax.nn.log_sigmoid(logit) + jnp.log(one.rho))
    with numpyro.plate("row", len(z)), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=log_p), obs=jnp.asarray(index))


def sample_maps(maps: tuple[CalibrationMap, ...], z: Float[np.ndarray, "n c"]) -> Any:
    """p' (n, c) of rows for each draw of model and parameters."""
    return (one.proba(theta, z) for one in maps for theta in one.draws)


def check_maps(maps: Any, c: int) -> None:
    """ValueError unless these are fitted maps of c classes."""
    good = isinstance(maps, tuple) and all(isinstance(one, CalibrationMap) for one in maps)
    if not good or [one.model for one in maps] != [*range(len(MODELS))] or not sum(len(one.draws) for one in maps):
        raise ValueError("it has other maps")
    for one in maps:
        size = 0 if one.model == 0 else len(CalibrationMap.prior(one.model, np.ones(c)).mode)
        shapes = one.rho.shape == (c,) and one.mode.shape == (size,) and one.root.shape == (size, size)
        if not (shapes and one.draws.shape[1:] == (size,) and (one.rho > 0).all()):
            raise ValueError("parameters of another map")
        if not (all(np.isfinite(part).all() for part in (one.mode, one.root, one.draws)) and 0 <= one.probability <= 1):
            raise ValueError("parameters that are no numbers")
