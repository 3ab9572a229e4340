"""Maps from a table of log likelihoods to class probabilities: their posterior in closed form, up to a Gaussian.

With t_ikc = log p(x_i in part k | y = c, D₋ᵢ) the leave-one-out table of part k (one part, unless an estimator has
several kinds of columns), log π_ic the class prior without row i, L_ik the length of the row (observed cells, or
counts) over its geometric mean, and ρ_i a distribution over the classes that does not depend on the row's cells,

    m_ic = Σ_k w_k L_ik^(−g) t_ikc                      power: how much the evidence of a row counts
    η_ic = −s log(1 + (max_c m_ic − m_ic)/s)            squashed, s → ∞ is m itself up to a constant
    q_ic = softmax_c(η_ic + log π_ic + b_c)             shifts of the classes
    p_ic = (1 − ε) q_ic + ε ρ_ic                        contamination: nothing is surer than 1 − ε

    log w_k ~ N(0, 1),  log s ~ N(log 3, 1),  logit ε ~ N(−4, 2²),  b_c ~ N(0, 0.3²)

A map of the kind "joint" has the class prior inside the power, m_ic = w L_i^(−g) (Σ_k t_ikc + log π_ic), no shifts,
and a uniform ρ. All its steps are monotone and the same in all classes, so it keeps the most probable label of every
row. In the other maps ρ is the class prior. `_map_fitting` fits the maps and weighs them.

Derivatives, with h_i = −log p_iy, e_c = [c = y] − q_c and a_i = (1 − ε) q_iy / p_iy the probability that the row is not
contaminated, given its label; η here with prior and shifts:

    ∂h/∂η = −a e,      ∂²h/∂η∂ηᵀ = a (diag q − q qᵀ) − a (1 − a) e eᵀ
    ∂h/∂λ = a − 1 + ε,  ∂²h/∂λ² = ε (1 − ε) − a (1 − a),  ∂²h/∂λ∂η = a (1 − a) e          λ = logit ε

References
----------
Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML: one power ("temperature").
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from ..core.arrays import Float, Int
from ..core.pytrees import record

PRIOR_LOG_POWER = (0.0, 1.0)  # mean, standard deviation
PRIOR_LOG_BEND = (math.log(3), 1.0)
PRIOR_LOGIT_CONTAMINATION = (-4.0, 2.0)
PRIOR_SHIFT = (0.0, 0.3)
_PRIORS = {"w": PRIOR_LOG_POWER, "s": PRIOR_LOG_BEND, "ε": PRIOR_LOGIT_CONTAMINATION, "b": PRIOR_SHIFT}
_FURTHEST = 1e10  # nats behind the best class: squares of it are still numbers
_AT_ONCE = 1 << 13  # rows


@dataclasses.dataclass(frozen=True)
class Tables:
    """What maps take: log likelihoods of rows by part and class, classes before rows for the speed of sums.

    Fields
    ----------
    t : (k, c, n) log p(x_i in part k | y = c), nats
    log_prior : (c, n) log class prior of each row
    log_length : (k, n) log L, None where all rows are of one length
    """

    t: Float[np.ndarray, "k c n"]
    log_prior: Float[np.ndarray, "c n"]
    log_length: Float[np.ndarray, "k n"] | None = None

    @classmethod
    def of(cls, parts: Iterable[np.ndarray], log_prior: np.ndarray, log_length: np.ndarray | None = None) -> "Tables":
        """Tables made of those with rows first, (n, c)."""
        t = np.stack([np.ascontiguousarray(part.T) for part in parts])
        return cls(t, np.ascontiguousarray(log_prior.T), log_length)

    @property
    def joint(self) -> Float[np.ndarray, "c n"]:
        """log p(x_i, y = c), nats."""
        return self.t.sum(0) + self.log_prior

    def __getitem__(self, rows: Any) -> "Tables":
        lengths = None if self.log_length is None else self.log_length[:, rows]
        return Tables(self.t[:, :, rows], self.log_prior[:, rows], lengths)


@record
@dataclasses.dataclass(frozen=True)
class Kind:
    """Which of the steps a map has; `identity` has none: the probabilities as the model gives them."""

    identity: bool = False
    joint: bool = False
    shifts: bool = False
    contaminated: bool = False
    squashed: bool = False
    g: float = 0.0

    @property
    def base(self) -> "Kind":
        """The kind of map that has the parameters: itself, except for `Isotonic`."""
        return self

    @property
    def name(self) -> str:
        if self.identity:
            return "identity"
        words = ["joint power" if self.joint else "power"]
        words += [word for word in ("squashed", "contaminated", "shifts") if getattr(self, word)]
        return ", ".join(words) + (f", g={self.g:g}" if self.g else "")

    def parameters(self, parts: Sequence[str], classes: Sequence[Any]) -> list[str]:
        """Names of the parameters in their order, in the symbols of this page."""
        if self.identity:
            return []
        names = ["w"] if self.joint or len(parts) == 1 else [f"w[{part}]" for part in parts]
        names += ["s"] * self.squashed + ["ε"] * self.contaminated
        return names + [f"b[{label}]" for label in classes if self.shifts]

    def proba(self, tables: Tables, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "c n"]:
        """p_ic of the map with given parameters."""
        if self.identity:
            return softmax(tables.joint)
        return Prepared.of(self, tables).proba(theta)

    def prior(self, k: int, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of the parameters, in their order: log w, log s, logit ε, b."""
        of_each = [_PRIORS[name] for name, at in self.places(k, c).items() for _ in range(at.start, at.stop)]
        mean, sd = np.array(of_each).reshape(-1, 2).T
        return mean, sd

    def places(self, k: int, c: int) -> dict[str, slice]:
        """Places of log w, log s, logit ε and b among the parameters, as far as the map has them."""
        if self.identity:
            return {}
        sizes = [1 if self.joint else k, int(self.squashed), int(self.contaminated), c * self.shifts]
        ends = np.cumsum(sizes).tolist()
        return {name: slice(end - n, end) for name, n, end in zip("wsεb", sizes, ends, strict=True) if n}


@dataclasses.dataclass(frozen=True)
class Prepared:
    """Tables as one kind of map takes them."""

    kind: Kind
    m: Float[np.ndarray, "k c n"]  # evidence at w = 1, nats behind the best class
    offset: Float[np.ndarray, "c n"]
    rho: Float[np.ndarray, "c n"]

    @classmethod
    def of(cls, kind: Kind, tables: Tables) -> "Prepared":
        m, offset = tables.t, tables.log_prior
        if kind.joint:
            m = m.sum(0, keepdims=True) + offset
        m = m - m.max(1, keepdims=True)
        if kind.g and tables.log_length is not None:
            lengths = tables.log_length.mean(0, keepdims=True) if kind.joint else tables.log_length
            m = m * np.exp(-kind.g * lengths)[:, None, :]
        m = np.maximum(m, -_FURTHEST)
        rho = np.exp(offset)
        if kind.joint:
            rho = (rho > 0) / (rho > 0).sum(0)
            return cls(kind, m, np.zeros_like(offset), rho)
        return cls(kind, m, np.maximum(offset, -_FURTHEST), rho / rho.sum(0))

    def __getitem__(self, rows: Any) -> "Prepared":
        return Prepared(self.kind, self.m[:, :, rows], self.offset[:, rows], self.rho[:, rows])

    def _split(self, theta: np.ndarray) -> tuple[np.ndarray, float, float, Any]:
        """w, s, ε and b; s is infinite where nothing is squashed."""
        part = {name: theta[at] for name, at in self.kind.places(*self.m.shape[:2]).items()}
        s = math.exp(part["s"][0]) if "s" in part else math.inf
        eps = 1 / (1 + math.exp(-part["ε"][0])) if "ε" in part else 0.0
        return np.exp(part["w"]), s, eps, part["b"][:, None] if "b" in part else 0.0

    def proba(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "c n"]:
        """p_ic of the map with given parameters."""
        w, s, eps, b = self._split(theta)
        q = softmax(_bent(self._parts(w).sum(0), s) + self.offset + b)
        return (1 - eps) * q + eps * self.rho if eps else q

    def _parts(self, w: np.ndarray) -> np.ndarray:
        """w_k m_k by part, relative to the class that is best in their sum."""
        parts = self.m * w[:, None, None]
        if len(parts) == 1:
            return parts
        best = np.broadcast_to(parts.sum(0).argmax(0), (len(parts), 1, parts.shape[2]))
        return parts - np.take_along_axis(parts, best, 1)

    def derivatives(self, theta: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Σ_i weight_i h_i with its gradient and Hessian in θ; y (c, n) is one-hot.

        With v_k = w_k m_k / (1 + z), z = −Σ_k w_k m_k / s, and u = Σ_k v_k the derivatives of η are

            ∂η/∂log w_k = v_k,   ∂η/∂log s = η − u,   ∂²η/∂log w_j ∂log w_k = v_j v_k / s + [j = k] v_k,
            ∂²η/∂log w_k ∂log s = −v_k u / s,         ∂²η/∂log s² = u² / s + η − u
        """
        kind, (w, s, eps, b) = self.kind, self._split(theta)
        v = self._parts(w)
        m = v.sum(0) if len(v) > 1 else v[0]
        eta = _bent(m, s)
        q = softmax(eta + self.offset + b)
        own = np.einsum("cn,cn->n", q, y)
        a, total = 1.0, own
        if eps:
            total = (1 - eps) * own + eps * np.einsum("cn,cn->n", self.rho, y)
            a = (1 - eps) * own / total
        value = -float(weight @ np.log(np.maximum(total, 1e-300)))
        wa = weight * a
        pulled = (y - q) * wa
        if kind.squashed:
            v = v / (1 - m / s)
            u = v.sum(0) if len(v) > 1 else v[0]
            turned = np.concatenate([v, -u[None]])
            v = np.concatenate([v, (eta - u)[None]])
        k, size = len(v), len(v) + (eps > 0) + len(q) * kind.shifts
        gradient, hessian = np.empty(size), np.empty((size, size))
        flat, qv = v.reshape(k, -1), q * v
        mean, qva = qv.sum(1), qv * wa
        gradient[:k] = -flat @ pulled.ravel()
        inner = qva.reshape(k, -1) @ flat.T - (mean * wa) @ mean.T
        inner.ravel()[:: k + 1] += gradient[:k]
        if kind.squashed:
            inner -= (turned * pulled).reshape(k, -1) @ turned.reshape(k, -1).T / s
        hessian[:k, :k] = inner
        b_ = slice(size - len(q), size)
        if kind.shifts:
            qa = q * wa
            gradient[b_] = -pulled.sum(1)
            hessian[b_, b_] = -qa @ q.T
            hessian.ravel()[(size - len(q)) * (size + 1) :: size + 1] += qa.sum(1)
            hessian[:k, b_] = qva.sum(2) - (mean * wa) @ q.T
            hessian[b_, :k] = hessian[:k, b_].T
        if eps:
            e, ab = y - q, wa * (1 - a)
            ev = np.zeros((size, len(weight)))
            ev[:k] = np.einsum("cn,kcn->kn", e, v)
            if kind.shifts:
                ev[b_] = e
            gradient[k] = weight @ (a - 1 + eps)
            hessian[k] = hessian[:, k] = 0.0
            hessian -= (ev * ab) @ ev.T
            hessian[k] = hessian[:, k] = ev @ ab
            hessian[k, k] = weight.sum() * eps * (1 - eps) - ab.sum()
        return value, gradient, hessian


@record
@dataclasses.dataclass(frozen=True)
class Isotonic:
    """A non-decreasing function of the log odds of each class under another map, then normalised over the classes.

    Each step of the isotonic regression has the share of its rows with the class, one row with the class's overall
    share added to them. Between the steps' mean log odds the function is linear, beyond them constant.

    Fields
    ----------
    base : kind of the other map
    theta : its parameters
    log_odds, share : knots of each class; with two classes those of the second only
    """

    base: Kind
    theta: Float[np.ndarray, " p"]
    log_odds: tuple[np.ndarray, ...]
    share: tuple[np.ndarray, ...]

    name = "isotonic"

    def proba(self, tables: Tables, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, "c n"]:
        """p_ic; the map has no parameters besides its knots, so `theta` is empty."""
        return self.of(self.base.proba(tables, self.theta))

    def of(self, p: Float[np.ndarray, "c n"]) -> Float[np.ndarray, "c n"]:
        """p_ic from the probabilities of the other map."""
        score = logit(p)
        if len(self.share) == 1:
            second = np.interp(score[1], self.log_odds[0], self.share[0])
            return np.stack([1 - second, second])
        knots = zip(score, self.log_odds, self.share, strict=True)
        out = np.stack([np.interp(one, at, share) for one, at, share in knots])
        return out / out.sum(0)


def logit(p: np.ndarray) -> np.ndarray:
    """log p − log(1 − p), finite."""
    tiny = np.finfo(float).tiny
    return np.log(np.maximum(p, tiny)) - np.log(np.maximum(1 - p, 1e-16))


@record
@dataclasses.dataclass(frozen=True)
class CalibrationMap:
    """One map of the average.

    Fields
    ----------
    kind : its steps
    weight : posterior probability of the map
    mode : (p,) log w, log s, logit ε, b
    covariance : (p, p) of the Gaussian posterior
    nodes : (s, p) draws of the posterior, fixed by the fit, over which predictions average
    log_evidence : nats
    """

    kind: Any
    weight: float
    mode: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"]
    nodes: Float[np.ndarray, "s p"]
    log_evidence: float


def average(maps: Sequence[CalibrationMap], tables: Tables) -> Float[np.ndarray, "c n"]:
    """p_ic averaged over the maps and over the posterior nodes of each."""
    n = tables.t.shape[2]
    out = np.empty(tables.t.shape[1:])
    for rows in gen_batches(n, _AT_ONCE):
        part, total = tables[rows], np.zeros(())
        for one in maps:
            prepared = Prepared.of(one.kind, part) if isinstance(one.kind, Kind) and not one.kind.identity else None
            for theta in one.nodes:
                p = one.kind.proba(part, theta) if prepared is None else prepared.proba(theta)
                total = total + one.weight / len(one.nodes) * p
        out[:, rows] = total
    return out


def draw(maps: Sequence[CalibrationMap], rng: np.random.Generator, size: int) -> list[tuple[Any, np.ndarray]]:
    """Draws of a map and its parameters from the posterior."""
    chosen = rng.choice(len(maps), size, p=[one.weight for one in maps])
    found = []
    for at in chosen:
        one = maps[at]
        theta = one.mode
        if len(theta):
            theta = theta + np.linalg.cholesky(one.covariance) @ rng.standard_normal(len(theta))
        found.append((one.kind, theta))
    return found


def _bent(m: np.ndarray, s: float) -> np.ndarray:
    """−s log(1 − m/s); m itself where s is infinite."""
    return m if s == math.inf else -s * np.log(1 - m / s)


def softmax(eta: np.ndarray) -> np.ndarray:
    """Probabilities of the classes along the first axis."""
    p = np.exp(eta - eta.max(0))
    p /= p.sum(0)
    return p


def one_hot_rows(index: Int[np.ndarray, " n"], c: int) -> Float[np.ndarray, "c n"]:
    """[c = y_i] as (c, n)."""
    return (np.arange(c)[:, None] == index).astype(float)


def model(kind: Kind, tables: Tables, index: Int[np.ndarray, " n"], weight: Float[np.ndarray, " n"]) -> None:
    """One map as a NumPyro model: labels given their leave-one-out table.

    Sites `log_power` (k,), `log_bend`, `logit_contamination` and `shift` (c,), as far as the map has them, and `y`.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    t, log_prior = jnp.asarray(tables.t), jnp.asarray(tables.log_prior)
    k, c, n = t.shape
    if kind.joint:
        t = t.sum(0, keepdims=True) + log_prior
        k = 1
    with numpyro.plate("part", k):
        log_power = numpyro.sample("log_power", dist.Normal(*PRIOR_LOG_POWER))
    if kind.g and tables.log_length is not None:
        lengths = tables.log_length.mean(0, keepdims=True) if kind.joint else tables.log_length
        t = t * jnp.exp(-kind.g * lengths)[:, None, :]
    m = (jnp.exp(log_power)[:, None, None] * (t - t.max(1, keepdims=True))).sum(0)
    if kind.squashed:
        s = jnp.exp(numpyro.sample("log_bend", dist.Normal(*PRIOR_LOG_BEND)))
        m = -s * jnp.log1p((m.max(0) - m) / s)
    if not kind.joint:
        m = m + log_prior
    if kind.contaminated:
        logit = numpyro.sample("logit_contamination", dist.Normal(*PRIOR_LOGIT_CONTAMINATION))
    if kind.shifts:
        with numpyro.plate("class", c):
            shift = numpyro.sample("shift", dist.Normal(*PRIOR_SHIFT))
        m = m + shift[:, None]
    log_p = jax.nn.log_softmax(m, axis=0)
    if kind.contaminated:
        rho = jnp.full_like(log_p, -math.log(c)) if kind.joint else jax.nn.log_softmax(log_prior, axis=0)
        log_p = jnp.logaddexp(jax.nn.log_sigmoid(-logit) + log_p, jax.nn.log_sigmoid(logit) + rho)
    with numpyro.plate("row", n), numpyro.handlers.scale(scale=jnp.asarray(weight)):
        numpyro.sample("y", dist.Categorical(logits=log_p.T), obs=jnp.asarray(index))
