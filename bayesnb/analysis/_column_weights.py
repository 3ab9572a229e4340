"""Softmax regression with a positive weight for each column: its modes on a lattice of prior scales, and their average.

    η_i = offset_i + K (Σ_j w_j t_ij + Bᵀ z_i)        p_i = softmax η_i        y_i ~ p_i, with weight v_i
    w_j ~ Exponential(mean s),  log s ~ N(log .03, 1);  B_dk ~ N(0, ρ²),  log ρ ~ N(log .2, 2²),  its last row N(0, 2²)

K (c, c−1) has orthonormal columns that sum to zero. All is done in u = log w, whose prior density is w/s · exp(−w/s).
With g_j = ∂(−log likelihood)/∂w_j, F_i = (w_j t_ij …, z_id ⊗ I …) and S_i = v_i Kᵀ(diag p_i − p_i p_iᵀ)K

    f = −Σ_i v_i log p_i,y(i) + Σ_j (w_j/s + log s − log w_j) + |B|²/2ρ² + …
    ∂f/∂u_j = w_j (g_j + 1/s) − 1        ∂²f = Σ_i F_iᵀ S_i F_i + diag(1 + ∂f/∂u_j; 1/ρ² …)

f is strictly convex in (w, B), so there is one mode. It is never at w = 0. At the mode the curvature is at least 1 in
all u, so that Laplace's approximation of log Z(s, ρ) = log ∫ exp(−f) needs no truncation. With Stirling's error of the
gamma function of shape ∂²f/∂u_j², it is exact for columns that say nothing.

Without row i, one step of Newton's method leads from η_i at the mode to η_i + (I − G_i S_i)⁻¹ G_i r_i, with
G_i = F_i (∂²f)⁻¹ F_iᵀ and r_i = v_i Kᵀ(p_i − onehot y_i). This is approximate leave-one-out. A point (s, ρ) has a share
in proportion to (Z p(s) p(ρ) Π_i p(y_i | D₋ᵢ)^v_i)^¼. Where few rows can be separated, the evidence alone takes scales
that are far too large: there the mode, which predicts, is sure, and only the posterior around it is not. Leave-one-out
alone is too optimistic where columns outnumber rows. The lattice is searched from its middle outwards.

A step costs n P² + P³ operations for P parameters, or with Woodbury's identity N²P + N³ for N = n (c − 1) below P.

References
----------
Bhattacharya, Chakraborty & Mallick (2016), Fast sampling with Gaussian scale mixture priors in high-dimensional
regression, Biometrika 103, for draws of more parameters than rows.
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231, for draws
that are moved.
Rad & Maleki (2020), A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
cross-validation, JRSS B 82, for the step without row i.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import gammaln, softmax
from sklearn.utils import gen_batches

from ..core.arrays import Float, Table
from ..core.pytrees import record
from ..core.special import log_normalize

MIDDLE, SPREAD = np.log([0.03, 0.2]), np.array([1.0, 2.0])  # of log s and log ρ
SD_SHIFT = 2.0  # of the last row of B
SHARES_POWER = 0.25  # of evidence and leave-one-out in the share of a point of the lattice
_STEP, _NEGLIGIBLE = np.log(3), 1.0  # of the lattice; nats below the best point
_LEAST_SHARE = 1e-3  # of a point that is kept
_GAIN, _LONGEST = 1e-3, 2.0  # Newton's method ends at steps that gain less, in nats; longest step in log w
_CELLS = 1 << 22  # of F at a time


def contrasts(c: int) -> Float[np.ndarray, "c m"]:
    """K: orthonormal columns that sum to zero."""
    return linalg.helmert(c).T


@dataclass(frozen=True)
class Regression:
    """What the regression reads: the last column of `z` is 1, labels (n, c) are one-hot. New rows have only three."""

    offset: Table
    t: Float[np.ndarray, "n m j"]
    z: Float[np.ndarray, "n r"]
    label: Any = None
    weight: Any = None
    groups: Any = None

    def log_proba(self, w: np.ndarray, b: np.ndarray, shift: Any = 0.0) -> Table:
        """log p of each row; `shift` (n, m) is added to the contrasts of η."""
        return log_normalize(self.offset + (self.t @ w + self.z @ b + shift) @ contrasts(self.offset.shape[1]).T)


@record
@dataclass(frozen=True, eq=False)
class WeightsMode:
    """The mode at one point of the lattice.

    Fields
    ------
    scales : s and ρ
    w, b : the mode
    log_evidence : log Z(s, ρ) p(s) p(ρ), nats
    elpd : Σ_i v_i log p(y_i | D₋ᵢ), nats, by approximate leave-one-out
    share : probability of this point of the lattice
    """

    scales: Float[np.ndarray, " 2"]
    w: Float[np.ndarray, " j"]
    b: Float[np.ndarray, "r m"]
    log_evidence: float = 0.0
    elpd: float = 0.0
    share: float = 1.0

    @property
    def score(self) -> float:
        """Logarithm of the probability of this point, up to a constant."""
        return SHARES_POWER * (self.log_evidence + self.elpd)

    @property
    def precision(self) -> Float[np.ndarray, "r m"]:
        """Of the prior of B."""
        found = np.full(self.b.shape, self.scales[1] ** -2.0)
        found[-1] = SD_SHIFT**-2
        return found

    def moved(self, step: np.ndarray) -> "WeightsMode":
        """The mode after a step in (log w, B)."""
        j = len(self.w)
        return replace(self, w=self.w * np.exp(step[:j]), b=self.b + step[j:].reshape(self.b.shape))


class System:
    """∂²f = Σ_i F_iᵀ S_i F_i + diag d = √d (I + H) √d. With fewer rows N than parameters it is I + Φ Φᵀ, H = Φᵀ Φ."""

    def __init__(self, rows: Regression, mode: WeightsMode, p: np.ndarray, slope: Any = 0.0) -> None:
        j, (r, m), k = len(mode.w), mode.b.shape, contrasts(p.shape[1])
        d = np.r_[np.ones(j) + np.maximum(slope, 0), mode.precision.ravel()]
        self.sd, self.phi, pk = d**-0.5, None, p @ k
        self.s = rows.weight[:, None, None] * (np.einsum("nc,ck,cl->nkl", p, k, k) - pk[:, :, None] * pk[:, None])
        self.t, self.z, self.sd_z = rows.t * (mode.w * self.sd[:j]), rows.z, self.sd[j:].reshape(r, m)
        if len(pk) * m < len(d):
            root = np.linalg.cholesky(self.s + 1e-12 * np.eye(m)).swapaxes(1, 2)
            self.phi = (root @ self.scaled(slice(None))).reshape(-1, len(d))
            h, curvature = self.phi @ self.phi.T, np.square(self.phi).sum(0)
        else:
            h, st = np.empty((len(d), len(d))), self.s @ self.t
            h[:j, :j] = self.t.reshape(-1, j).T @ st.reshape(-1, j)
            for a in range(m):
                of_z = (self.s[:, a, None] * self.z[:, :, None] * self.sd_z).reshape(len(pk), -1)
                h[j + a :: m] = (self.z * self.sd_z[:, a]).T @ np.hstack([st[:, a], of_z])
            h[:j, j:] = h[j:, :j].T
            curvature = np.diag(h).copy()
        h[np.diag_indices(len(h))] += 1
        self.shape = (1 + curvature[:j]) * d[:j]
        self.factor = linalg.cholesky(h, lower=True)
        self.half_log_det = float(np.log(np.diag(self.factor)).sum() + np.log(d).sum() / 2)

    def scaled(self, part: Any) -> Float[np.ndarray, "n m p"]:
        """F_i d^−½ of some rows."""
        of_z = self.z[part, None, :, None] * (np.eye(self.sd_z.shape[1])[:, None] * self.sd_z)
        return np.concatenate([self.t[part], of_z.reshape(*of_z.shape[:2], -1)], 2)

    def solve(self, g: np.ndarray) -> np.ndarray:
        """(∂²f)⁻¹ g."""
        g = self.sd * g
        if self.phi is None:
            return self.sd * linalg.cho_solve((self.factor, True), g)
        return self.sd * (g - self.phi.T @ linalg.cho_solve((self.factor, True), self.phi @ g))

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """A step from N(0, (∂²f)⁻¹), and by how much f rises if it is quadratic. Bhattacharya et al. (2016)."""
        step = rng.standard_normal(len(self.sd))
        if self.phi is None:
            rise = float(step @ step) / 2
            step = linalg.solve_triangular(self.factor, step, lower=True, trans=1)
        else:
            noise = self.phi @ step + rng.standard_normal(len(self.phi))
            step = step - self.phi.T @ linalg.cho_solve((self.factor, True), noise)
            rise = float(step @ step + np.square(self.phi @ step).sum()) / 2
        return self.sd * step, rise

    def leverage(self, f: Float[np.ndarray, "b q p"]) -> Float[np.ndarray, "b q q"]:
        """F (∂²f)⁻¹ Fᵀ of stacked rows of `scaled`."""
        right = f.reshape(-1, f.shape[2]).T
        right = right if self.phi is None else self.phi @ right
        half = linalg.solve_triangular(self.factor, right, lower=True).T.reshape(*f.shape[:2], -1)
        own = half @ half.swapaxes(1, 2)
        return own if self.phi is None else f @ f.swapaxes(1, 2) - own


def height(rows: Regression, mode: WeightsMode) -> tuple[float, np.ndarray]:
    """f without the constants ½ log 2π of the prior of B, and p of each row."""
    log_p, precision, s = rows.log_proba(mode.w, mode.b), mode.precision, mode.scales[0]
    prior = (mode.w / s + np.log(s / mode.w)).sum() + (precision * mode.b**2 - np.log(precision)).sum() / 2
    return float(prior - rows.weight @ (rows.label * log_p).sum(1)), np.exp(log_p)


def find_mode(rows: Regression, mode: WeightsMode, gain: float = _GAIN) -> WeightsMode:
    """The mode for the scales of `mode` by Newton's method, from its w and B."""
    k, v, j, s = contrasts(rows.label.shape[1]), rows.weight[:, None], len(mode.w), mode.scales[0]

    f, p = height(rows, mode)
    for _ in range(100):
        residual = v * (p - rows.label) @ k
        slope = mode.w * (np.einsum("nk,nkj->j", residual, rows.t) + 1 / s) - 1
        gradient = np.r_[slope, (rows.z.T @ residual + mode.precision * mode.b).ravel()]
        system = System(rows, mode, p, slope)
        step = system.solve(gradient)
        fall = 1e-4 * (gradient @ step)
        if fall < 1e-4 * gain:
            break
        a = min(1.0, _LONGEST / abs(step[:j]).max(initial=1e-300))
        while not (found := height(rows, mode.moved(-a * step)))[0] <= f - a * fall and a > 1e-9:
            a /= 2
        if a <= 1e-9:
            break  # no digits left
        mode, (f, p) = mode.moved(-a * step), found
    stirling = gammaln(system.shape) - (system.shape - 0.5) * np.log(system.shape) + system.shape  # with ½ log 2π each
    log_p = -np.square((np.log(mode.scales) - MIDDLE) / SPREAD).sum() / 2
    left_out = (v * rows.label * left_out_log_proba(rows, mode, system)).sum()
    evidence = -f - system.half_log_det + stirling.sum() + log_p
    return replace(mode, log_evidence=float(evidence), elpd=float(left_out))


def left_out_log_proba(rows: Regression, mode: WeightsMode, system: Any = None) -> Table:
    """log p(y = c | D₋ᵢ) of each row by one step of Newton's method from the mode; its column t_i saw no label of i."""
    p, m = np.exp(rows.log_proba(mode.w, mode.b)), mode.b.shape[1]
    system, r = system or System(rows, mode, p), rows.weight[:, None] * ((p - rows.label) @ contrasts(m + 1))
    together: Any = gen_batches(len(p), max(1, _CELLS // (m * len(system.sd))))
    if rows.groups is not None:
        together = np.split(np.argsort(rows.groups, kind="stable"), np.cumsum(np.bincount(rows.groups))[:-1])
    shift = np.empty(r.shape)
    for at in together:
        f, s, right = system.scaled(at), system.s[at], r[at]
        if rows.groups is not None:
            f, s, right = f.reshape(1, right.size, -1), linalg.block_diag(*s)[None], right.reshape(1, -1)
        g = system.leverage(f)
        shift[at] = np.linalg.solve(np.eye(g.shape[1]) - g @ s, g @ right[..., None]).reshape(-1, m)
    return rows.log_proba(mode.w, mode.b, shift)


def find_modes(rows: Regression) -> tuple[WeightsMode, ...]:
    """Modes on the lattice of (s, ρ), from its middle outwards while a neighbour matters; the most probable first."""
    j, (r, m) = rows.t.shape[2], (rows.z.shape[1], rows.t.shape[1])
    found: dict[tuple[int, int], WeightsMode] = {}
    todo = {(0, 0): WeightsMode(np.exp(MIDDLE), np.full(j, np.exp(MIDDLE[0])), np.zeros((r, m)))}
    while todo:
        found |= {at: find_mode(rows, start) for at, start in todo.items()}
        least = max(one.score for one in found.values()) - _NEGLIGIBLE
        todo = {
            at: replace(one, scales=np.exp(MIDDLE + _STEP * np.array(at)))
            for (x, y), one in found.items()
            for at in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
            if one.score > least and at not in found
        }
    share = softmax([one.score for one in found.values()])
    share = np.where(share < _LEAST_SHARE, 0, share)
    kept = [replace(one, share=float(p)) for one, p in zip(found.values(), share / share.sum(), strict=True) if p > 0]
    return tuple(sorted(kept, key=lambda one: -one.share))


def draw(rows: Regression, modes: tuple[WeightsMode, ...], n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n draws of w (n, J) and B (n, R, m): a mode by its share, and Laplace's Gaussian around it.

    log w is lower by half its variance, so that the mean of w is the mode, as it is of a column that says nothing. A
    mode can be flat with a cliff beside it, where rows can be separated. A draw is therefore moved towards the mode
    until f has risen by no more than twice what it does under the Gaussian.
    """
    rng, found = np.random.default_rng(seed), []
    at = np.sort(rng.choice(len(modes), n, p=[one.share for one in modes]))
    for k in np.unique(at):
        mode = modes[k]
        lowest, p = height(rows, mode)
        system, j = System(rows, mode, p), len(mode.w)
        variance = np.diagonal(system.leverage(np.eye(j, len(system.sd))[None])[0]) * system.sd[:j] ** 2
        for _ in range(int((at == k).sum())):
            step, due = system.draw(rng)
            step[:j] -= variance / 2
            while (rise := height(rows, mode.moved(step))[0] - lowest) > 2 * due:
                step = step * max(np.sqrt(due / rise), 0.3)
            found.append(mode.moved(step))
    return np.stack([one.w for one in found]), np.stack([one.b for one in found])


def numpyro_model(rows: Regression, scales: np.ndarray) -> None:
    """The regression in NumPyro, given the scales: sites `w`, `B` and `y`."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    n, m, j = rows.t.shape
    w = numpyro.sample("w", dist.Exponential(1 / scales[0]).expand([j]).to_event(1))
    sd = jnp.full((rows.z.shape[1], m), scales[1]).at[-1].set(SD_SHIFT)
    b = numpyro.sample("B", dist.Normal(0.0, sd).to_event(2))
    eta = rows.offset + (jnp.asarray(rows.t) @ w + jnp.asarray(rows.z) @ b) @ contrasts(m + 1).T
    with numpyro.plate("row", n), numpyro.handlers.scale(scale=jnp.asarray(rows.weight)):
        numpyro.sample("y", dist.Categorical(logits=eta), obs=rows.label.argmax(1))
