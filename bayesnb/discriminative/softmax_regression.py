"""Softmax regression with a positive weight for each column: its mode at given scales of the prior, and ∂²f there.

    η_i = offset_i + K (Σ_j w_j t_ij + Bᵀ z_i)        p_i = softmax η_i        y_i ~ p_i, with weight v_i
    w_j ~ Exponential(mean s),  log s ~ N(log .03, 1);  B_dk ~ N(0, ρ²),  log ρ ~ N(log .2, 2²),  its last row N(0, 2²)

K (c, c−1) has orthonormal columns that sum to zero. All is done in u = log w, whose prior density is w/s · exp(−w/s).
With g_j = ∂(−log likelihood)/∂w_j, F_i = (t_ij …, z_id ⊗ I …) and S_i = v_i Kᵀ(diag p_i − p_i p_iᵀ)K

    f = −Σ_i v_i log p_i,y(i) + Σ_j (w_j/s + log s − log w_j) + |B|²/2ρ² + …
    ∂f/∂u_j = w_j (g_j + 1/s) − 1
    ∂²f = W (Σ_i F_iᵀ S_i F_i) W + diag(1 + ∂f/∂u_j …; 1/ρ² …),   W = diag(w_j …; 1 …)

f is strictly convex in (w, B), so there is one mode. It is never at w = 0. At the mode the curvature is at least 1 in
all u, so that Laplace's approximation of log Z(s, ρ) = log ∫ exp(−f) needs no truncation. With Stirling's error of the
gamma function of shape ∂²f/∂u_j², it is exact for columns that say nothing.

Newton's method has two matrices to choose from. Σ F_iᵀ S_i F_i costs n P² for P parameters. It hardly changes near a
mode or between neighbouring scales, so it is made again only where a step with the last one gains little. For fewer
rows N = n (c − 1) than parameters Woodbury's identity needs N²P + N³ instead.

References
----------
Bhattacharya, Chakraborty & Mallick (2016), Fast sampling with Gaussian scale mixture priors in high-dimensional
regression, Biometrika 103, for draws of more parameters than rows.
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
"""

import abc
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from ..numerics.arrays import Float, Int, Table
from ..numerics.pytrees import record
from ..numerics.special import log_normalize
from ..sums.rows import batches

MIDDLE, SPREAD = np.log([0.03, 0.2]), np.array([1.0, 2.0])  # of log s and log ρ
SD_SHIFT = 2.0  # of the last row of B
GAIN = 1e-8  # nats: Newton's method ends at steps that promise less; leave-one-out can be steep where f is flat
_LONGEST_STEP = 2.0  # in log w
_SHORTEST_STEP = 1e-9  # as a share of Newton's: below it no digits are left
_MAX_STEPS = 100
_ARMIJO = 1e-4  # share of the fall promised by the slope that a step must have
_SLOW = 0.1  # share of the last promise from which on the matrix is made again: a fresh one squares small promises
_JITTER = 1e-12  # on the diagonal of S_i, which may be singular to rounding
_BLOCK = 1 << 17  # numbers of t and z at a time, which stay in a core's cache


@functools.lru_cache(maxsize=64)
def contrasts(c: int) -> Float[np.ndarray, "c m"]:
    """K: m = c − 1 orthonormal columns that sum to zero. It is read-only, as all callers share the cached array."""
    k = linalg.helmert(c).T
    k.flags.writeable = False
    return k


@dataclass(frozen=True)
class Regression:
    """What the regression reads. New rows have only the first three.

    Fields
    ------
    offset : log p(y = c), or what else is known of the classes before the columns speak
    t : contrasts Kᵀ of the log densities of each column
    z : columns of the linear term; the last is 1
    label : one-hot
    weight : v_i; Σ_i v_i log p_i is the log likelihood
    leaving : the part of v_i that leaves when row i is left out: 1 of a count, v_i of an importance weight; None for v
    group : 0 … g−1, rows that leave together; None where each leaves alone
    """

    offset: Table
    t: Float[np.ndarray, "n m j"]
    z: Float[np.ndarray, "n r"]
    label: Any = None
    weight: Any = None
    leaving: Any = None
    group: Any = None

    @property
    def n_parameters(self) -> int:
        """P: weights of columns, and B."""
        return self.t.shape[2] + self.z.shape[1] * self.t.shape[1]

    @property
    def n_rows(self) -> int:
        """Number n of rows."""
        return len(self.t)

    @property
    def leaving_weight(self) -> Float[np.ndarray, " n"]:
        """l_i: the weight that leaves when row i is left out."""
        return self.weight if self.leaving is None else self.leaving

    def log_proba(self, w: np.ndarray, b: np.ndarray, shift: Any = None) -> Table:
        """log p(y = c) of each row, (n, c), for given weights w and coefficients B.

            a_i = Σ_j w_j t_ij + Bᵀ z_i + shift_i        m = c − 1 numbers, the *contrasts* of the row
            η_i = offset_i + K a_i                       c log odds; the columns of K (c, m) are fixed
            p_i = softmax η_i

        Parameters
        ----------
        w : (j,) weights of the columns
        b : (r, m) coefficients of the linear term
        shift : (n, m) what is added to the contrasts, as in leave-one-out; None for nothing
        """
        # Σ_j w_j t_ij, (n, m), as one product with w: rows and contrasts are one axis for it.
        n, m, j = self.t.shape
        weighted = (self.t.reshape(n * m, j) @ w).reshape(n, m)

        # a_i, then η_i.
        contrast = weighted + self.z @ b  # (n, m)
        if shift is not None:
            contrast += shift
        k = contrasts(self.offset.shape[1])  # K
        eta = contrast @ k.T + self.offset  # (n, c)

        # log softmax: η minus log Σ_c exp η_c, in the memory of η.
        return log_normalize(eta, out=eta)

    def take(self, rows: Any) -> "Regression":
        """The regression of some of its rows, by positions or a slice; groups do not come with them.

        Groups say which rows leave together; some rows of a group would be another group.
        """
        return Regression(
            offset=self.offset[rows],
            t=self.t[rows],
            z=self.z[rows],
            label=self.label[rows],
            weight=self.weight[rows],
            leaving=None if self.leaving is None else self.leaving[rows],
        )


@record
@dataclass(frozen=True, eq=False)
class WeightsMode:
    """The mode at one grid point of the scales of the prior.

    Fields
    ------
    scales : s and ρ
    w, b : the mode
    log_evidence : log Z(s, ρ) p(s) p(ρ), nats
    elpd : Σ_i v_i log p(y_i | D₋ᵢ), nats, by approximate leave-one-out
    share : of the prediction
    """

    scales: Float[np.ndarray, " 2"]
    w: Float[np.ndarray, " j"]
    b: Float[np.ndarray, "r m"]
    log_evidence: float = 0.0
    elpd: float = 0.0
    share: float = 1.0

    @property
    def precision(self) -> Float[np.ndarray, "r m"]:
        """Of the prior of B: 1/ρ², but that of the last row, the shift of the classes, does not depend on ρ."""
        precision = np.full(self.b.shape, self.scales[1] ** -2.0)
        precision[-1] = SD_SHIFT**-2
        return precision

    @property
    def flat(self) -> Float[np.ndarray, " p"]:
        """w and B row by row."""
        return np.concatenate([self.w, self.b.ravel()])

    @property
    def parameter_scale(self) -> Float[np.ndarray, " p"]:
        """Diagonal of W: ∂(w, B)/∂(log w, B)."""
        return np.concatenate([self.w, np.ones(self.b.size)])

    def moved(self, step: np.ndarray) -> "WeightsMode":
        """The parameters after a step (P,) in (log w, B): w is multiplied, so it stays positive, and B is added to."""
        j = len(self.w)
        return replace(self, w=self.w * np.exp(step[:j]), b=self.b + step[j:].reshape(self.b.shape))


# --- the likelihood ---------------------------------------------------------------------------------------------------


class Likelihood(NamedTuple):
    """The likelihood at some parameters.

    Fields
    ------
    loss : −Σ_i v_i log p_i,y(i), nats
    gradient : (P,) ∂ loss/∂(w, B)
    p : (n, c) class probabilities; None where the rows were not looked at
    """

    loss: float
    gradient: Float[np.ndarray, " p"]
    p: Any = None


LikelihoodAt: TypeAlias = Callable[[WeightsMode], Likelihood]


def loss_of(rows: Regression, log_p: Table) -> float:
    """The log loss −Σ_i v_i log p_i,y(i) of rows with weights v, nats; `log_p` is the table log p(y_i = c), (n, c)."""
    # labels are one-hot, so that Σ_c label_ic log p_ic is the log probability of the row's own label, (n,)
    return -float(rows.weight @ np.einsum("nc,nc->n", rows.label, log_p))


def likelihood(rows: Regression, mode: WeightsMode) -> Likelihood:
    """The log loss of all rows at given w and B, its gradient (P,), and the class probabilities p (n, c) of each row.

        loss = −Σ_i v_i log p_i,y(i),    p_i = softmax(offset_i + K a_i),    a_ik = Σ_j w_j t_ikj + Σ_d B_dk z_id

    v_i is the weight of a row. a_i are m = c − 1 numbers, the *contrasts* of the row. The gradient follows by the chain
    rule, in w and then in B row by row:

        ∂loss/∂w_j = Σ_i Σ_k ∂loss/∂a_ik · t_ikj        ∂loss/∂B_dk = Σ_i z_id · ∂loss/∂a_ik

    Parameters
    ----------
    rows : t (n, m, j), z (n, r), labels and weights
    mode : w (j,) and B (r, m), which need not be at a mode
    """
    # The loss, and p in the memory of log p.
    log_p = rows.log_proba(mode.w, mode.b)  # (n, c)
    loss = loss_of(rows, log_p)
    p = np.exp(log_p, out=log_p)

    # The gradient in the contrasts, and then in w and B. The sum over i and k is one product, for which rows and
    # contrasts are one axis.
    of_contrasts = residuals(rows, p, rows.weight)  # ∂loss/∂a_ik, (n, m)
    of_w = of_contrasts.ravel() @ rows.t.reshape(-1, len(mode.w))  # (j,)
    of_b = rows.z.T @ of_contrasts  # (r, m)
    return Likelihood(loss, np.concatenate([of_w, of_b.ravel()]), p)


def residuals(rows: Regression, p: Table, weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n m"]:
    """r_i = v_i Kᵀ(p_i − onehot y_i): the gradient of each row's log loss −v_i log p_i,y(i) in its m contrasts.

    The log odds are η = offset + K · contrasts, with K (c, m) orthonormal.

    Parameters
    ----------
    p : (n, c) class probabilities
    weight : (n,) v_i
    """
    return weight[:, None] * ((p - rows.label) @ contrasts(p.shape[1]))


def label_curvature(p: Table, weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n m m"]:
    """S_i = v_i Kᵀ(diag p_i − p_i p_iᵀ)K: the Hessian of each row's log loss −v_i log p_i,y(i) in its m contrasts.

    The log odds are η = offset + K · contrasts, with K (c, m) orthonormal. The label of the row does not matter.

    Parameters
    ----------
    p : (n, c) class probabilities
    weight : (n,) v_i
    """
    k = contrasts(p.shape[1])  # K, whose rows k_c belong to the classes

    # S_i / v_i is the covariance of k_c over a random class c with the probabilities p_i: the mean of k_c k_cᵀ minus
    # the product of the mean of k_c with itself, Kᵀ diag p_i K − (Kᵀp_i)(Kᵀp_i)ᵀ.
    products = np.einsum("ca,cb->cab", k, k)  # k_c k_cᵀ of each class, (c, m, m)
    mean = p @ k  # Σ_c p_ic k_c, (n, m)
    covariance = np.tensordot(p, products, axes=1)  # Σ_c p_ic k_c k_cᵀ, (n, m, m)
    covariance -= np.einsum("na,nb->nab", mean, mean)
    return covariance * weight[:, None, None]


def features(rows: Regression, part: Any) -> Float[np.ndarray, "n m p"]:
    """F_i of some rows: how each of the m contrasts Σ_j w_j t_ij + Bᵀ z_i of a row depends on each of the P parameters.

    The parameters are w (j,), then B (r, m) row by row. Example: two contrasts, one weight with t = 3 in the first
    contrast and 4 in the second, and z = (2, 5). The parameters are w, B_00, B_01, B_10, B_11, and F_i is

        3 2 0 5 0      contrast 0 is 3 w + 2 B_00 + 5 B_10
        4 0 2 0 5      contrast 1 is 4 w + 2 B_01 + 5 B_11

    Parameters
    ----------
    part : positions of the n rows, or a slice
    """
    t = rows.t[part]  # (n, m, j): the columns of F_i that belong to w
    z = rows.z[part]  # (n, r)
    n, m, _ = t.shape

    # The columns that belong to B: the derivative of contrast l in B_dk is z_d if k = l, else 0.
    of_b = np.einsum("nd,lk->nldk", z, np.eye(m))  # (n, m, r, m)
    return np.concatenate([t, of_b.reshape(n, m, -1)], 2)  # d and k as one axis: B row by row


def fisher_matrix(rows: Regression, p: Table) -> Float[np.ndarray, "p p"]:
    """The Hessian (P, P) of the log loss −Σ_i v_i log p_i,y(i) in its parameters w (j,), then B (r, m) row by row.

    The parameters act on m = c − 1 numbers of a row, its *contrasts* a_ik = Σ_j w_j t_ikj + Σ_d B_dk z_id. Let S_i
    (m, m) be the Hessian of the row's loss in these. As they are linear in the parameters, the chain rule gives

        ∂²/∂w_j ∂w_k    = Σ_i Σ_ab t_iaj S_iab t_ibk
        ∂²/∂w_j ∂B_da   = Σ_i Σ_b S_iab t_ibj z_id
        ∂²/∂B_da ∂B_eb  = Σ_i S_iab z_id z_ie

    Parameters
    ----------
    rows : t (n, m, j), z (n, r) and weights (n,)
    p : (n, c) class probabilities of the rows
    """
    n, m, j = rows.t.shape  # rows, contrasts, columns
    r = rows.z.shape[1]  # columns of the linear term
    of_w = np.zeros((j, j))
    of_b_and_w = np.zeros((m, j, r))  # ∂²/∂w_j ∂B_da at (a, j, d)
    of_b = np.zeros((r, m, r, m))  # ∂²/∂B_da ∂B_eb at (d, a, e, b)

    # The three sums, batch by batch of rows. `tensordot` multiplies two arrays and sums over the axes that it is given,
    # one list for each array; axis 0 are the rows.
    for part in batches(n, max(64, _BLOCK // (m * j + r))):
        t = rows.t[part]
        z = rows.z[part]
        s = label_curvature(p[part], rows.weight[part])  # S_i, (rows, m, m)
        s_t = s * t if m == 1 else s @ t  # Σ_b S_iab t_ibj, (rows, m, j); with m = 1 S_i is a number
        of_w += np.tensordot(t, s_t, axes=([0, 1], [0, 1]))
        of_b_and_w += np.tensordot(s_t, z, axes=(0, 0))
        _add_curvature_of_b(of_b, s, z)  # for contrasts b ≥ a only

    # S is symmetric, so that what was computed for (a, b) also holds for (b, a): copy it, with d and e exchanged.
    for a in range(m):
        of_b[:, a + 1 :, :, a] = np.einsum("deb->ebd", of_b[:, a, :, a + 1 :])

    # One matrix, in which B has r · m rows and columns.
    of_w_and_b = np.einsum("ajd->jda", of_b_and_w).reshape(j, r * m)
    return np.block([[of_w, of_w_and_b], [of_w_and_b.T, of_b.reshape(r * m, r * m)]])


def _add_curvature_of_b(of_b: np.ndarray, s: Float[np.ndarray, "n m m"], z: Float[np.ndarray, "n r"]) -> None:
    """Add Σ_i S_iab z_id z_ie of some rows to `of_b` at (d, a, e, b), for contrasts b ≥ a only.

    Parameters
    ----------
    of_b : (r, m, r, m) what earlier rows have added up to
    s, z : S and z of the rows
    """
    for a in range(s.shape[1]):
        s_z = np.einsum("ib,ie->ibe", s[:, a, a:], z)  # S_iab z_ie for all b ≥ a
        z_s_z = np.tensordot(z, s_z, axes=(0, 0))  # Σ_i z_id S_iab z_ie, at (d, b, e)
        of_b[:, a, :, a:] += np.einsum("dbe->deb", z_s_z)


# --- the matrix ∂²f ---------------------------------------------------------------------------------------------------


class AbstractPrecision(abc.ABC):
    """∂²f in (log w, B), factored.

    Fields
    ------
    shape : (J,) ∂²f/∂u_j²
    half_log_det : ½ log det ∂²f
    fisher : Σ F_iᵀ S_i F_i, P × P; None where it was not needed
    """

    shape: np.ndarray
    half_log_det: float
    fisher: Any

    @abc.abstractmethod
    def solve(self, g: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """(∂²f)⁻¹ g."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> "GaussianStep":
        """A step from N(0, (∂²f)⁻¹), and by how much f rises if it is quadratic."""

    @property
    @abc.abstractmethod
    def variances(self) -> Float[np.ndarray, " p"]:
        """Diagonal of (∂²f)⁻¹."""

    @abc.abstractmethod
    def leverage(self, part: Any) -> Float[np.ndarray, "b m m"]:
        """G_i = F_i W (∂²f)⁻¹ W F_iᵀ of some rows."""

    @abc.abstractmethod
    def group_leverage(self, members: Int[np.ndarray, " g"]) -> Float[np.ndarray, "q q"]:
        """G of the stacked contrasts of rows that leave together."""


class GaussianStep(NamedTuple):
    """A step from a mode, drawn by Laplace's approximation.

    Fields
    ------
    change : (P,) of (log w, B)
    rise : by how much f rises if it is quadratic, ½ changeᵀ ∂²f change
    """

    change: Float[np.ndarray, " p"]
    rise: float


def precision_at(
    rows: Regression, mode: WeightsMode, p: Table, slope: Any = 0.0, fisher: np.ndarray | None = None
) -> AbstractPrecision:
    """The Hessian ∂²f of f = −log posterior in (log w, B), at a mode or near it, factored in the cheaper of two forms.

    Parameters
    ----------
    rows : t (n, m, j), z (n, r), labels and weights
    mode : w (j,), B (r, m), and the scales of their priors
    p : (n, c) class probabilities at the mode
    slope : (j,) ∂f/∂log w_j; 0 at a mode
    fisher : (P, P) Hessian of the log loss, if it has been made; not used where rows are fewer than parameters
    """
    # ∂²f is the Hessian of the log loss plus a diagonal d that the prior adds. With fewer rows than parameters it is
    # factored by way of a matrix of the size of the rows; otherwise by one of the size of the parameters.
    d = prior_curvature(mode, slope)
    if is_wide(rows):
        return RowPrecision(rows, mode, p, d)
    return ParameterPrecision(rows, mode, fisher_matrix(rows, p) if fisher is None else fisher, d)


def is_wide(rows: Regression) -> bool:
    """Whether rows times contrasts, m = c − 1 numbers of a row that its label tells of, are fewer than parameters."""
    n, m, _ = rows.t.shape
    return n * m < rows.n_parameters


def prior_curvature(mode: WeightsMode, slope: Any = 0.0) -> Float[np.ndarray, " p"]:
    """The diagonal that the prior adds to ∂²f: 1 + ∂f/∂u_j in u = log w, and the precision of the prior in B.

    f is −log posterior; w_j ~ Exponential(mean s), and B is normal. A negative slope counts as 0, so that the matrix
    stays positive definite where a search has not reached the mode.

    Parameters
    ----------
    mode : w (j,), B (r, m) and the scales
    slope : (j,) ∂f/∂u; 0 at a mode
    """
    # In u = log w the prior −log p(u) = w/s − u + … has the second derivative w/s, and the chain rule adds w g, with g
    # the slope of the loss in w. As ∂f/∂u = w g + w/s − 1, the two together are 1 + ∂f/∂u.
    of_w = np.ones(len(mode.w)) + np.maximum(slope, 0)
    return np.concatenate([of_w, mode.precision.ravel()])


class ParameterPrecision(AbstractPrecision):
    """∂²f = √d (I + d^−½ W H W d^−½) √d with H = Σ F_iᵀ S_i F_i, P × P: for fewer parameters than rows."""

    def __init__(self, rows: Regression, mode: WeightsMode, fisher: np.ndarray, d: Float[np.ndarray, " p"]) -> None:
        """Factor the Hessian of f = −log posterior in the parameters (log w, B), for systems of equations and draws.

            ∂²f = W H W + diag(d) = √d A √d,    A = I + d^−½ W H W d^−½ = L Lᵀ

        H is the Hessian of the log loss in (w, B), d what the prior adds, and W = diag(w; 1 …) is ∂(w, B)/∂(log w, B).
        All eigenvalues of A are at least 1, so that its Cholesky factor L always exists.

        Parameters
        ----------
        rows : t (n, m, j), z (n, r), which leverages need
        mode : w (j,) and B at which ∂²f is taken
        fisher : (P, P) H
        d : (P,) what the prior adds to the diagonal of ∂²f
        """
        j = len(mode.w)
        self.fisher = fisher
        self._rows = rows
        self._sd = d**-0.5  # d^−½, (P,)
        self._scale = mode.parameter_scale * self._sd  # the diagonal of W d^−½, (P,)

        # A, (P, P).
        a = fisher * self._scale * self._scale[:, None]
        a[np.diag_indices(len(a))] += 1

        # ∂²f/∂(log w_j)², the diagonal of √d A √d; before `cholesky` writes over A.
        self.shape = np.diag(a)[:j] * d[:j]

        # L; and ½ log det ∂²f = Σ log L_kk + ½ Σ log d_k.
        self._factor = linalg.cholesky(a, lower=True, overwrite_a=True, check_finite=False)
        self.half_log_det = float(np.log(np.diag(self._factor)).sum() + np.log(d).sum() / 2)

    def solve(self, g: np.ndarray) -> np.ndarray:
        """(∂²f)⁻¹ g for a vector g (P,), by the Cholesky factor of d^−½ ∂²f d^−½."""
        return self._sd * linalg.cho_solve((self._factor, True), self._sd * g, check_finite=False)

    def draw(self, rng: np.random.Generator) -> GaussianStep:
        """A step from N(0, (∂²f)⁻¹), and by how much f rises if it is quadratic.

        With the Cholesky factor L and standard normal numbers ε, L⁻ᵀε has covariance (L Lᵀ)⁻¹; f rises by |ε|²/2.
        """
        noise = rng.standard_normal(len(self._sd))  # ε
        step = linalg.solve_triangular(self._factor, noise, lower=True, trans=1, check_finite=False)  # L⁻ᵀε
        return GaussianStep(self._sd * step, float(noise @ noise) / 2)

    @functools.cached_property
    def _scaled_inverse(self) -> Float[np.ndarray, "p p"]:
        """(I + d^−½ W H W d^−½)⁻¹ from its Cholesky factor. LAPACK makes the lower triangle; the upper mirrors it."""
        lower = np.tril(linalg.lapack.dpotri(self._factor, lower=1)[0])
        return lower + np.tril(lower, -1).T

    @functools.cached_property
    def covariance(self) -> Float[np.ndarray, "p p"]:
        """W (∂²f)⁻¹ W: the covariance of (w, B) by Laplace, from that of (log w, B) with W = diag(w; 1)."""
        return self._scaled_inverse * self._scale * self._scale[:, None]

    @functools.cached_property
    def variances(self) -> Float[np.ndarray, " p"]:
        """Diagonal of (∂²f)⁻¹."""
        return np.diag(self._scaled_inverse) * self._sd**2

    def leverage(self, part: Any) -> Float[np.ndarray, "b m m"]:
        """The covariance (m, m) of the contrasts of each of some rows, by Laplace's approximation, for leave-one-out.

        The contrasts of a row are m = c − 1 numbers that are linear in the parameters, a = Σ_j w_j t_j + Bᵀ z. Let C be
        the covariance of the parameters, in blocks for w and B. Then a has the covariance

            t C_ww tᵀ + (t C_wB zᵀ + z C_Bw tᵀ) + z C_BB zᵀ        with t (m, j), and z acting on each contrast

        1. The first two terms are X + Xᵀ with X = (½ t C_ww + z C_Bw) tᵀ, as t C_ww tᵀ is symmetric.
        2. The last term is added.

        Parameters
        ----------
        part : positions of the n rows, or a slice
        """
        t = self._rows.t[part]  # (n, m, j)
        z = self._rows.z[part]  # (n, r)
        _, m, j = t.shape
        r = z.shape[1]

        # The blocks of C. B stands row by row in C, where its entry (d, a) has one position: it is given two axes.
        c_ww = self.covariance[:j, :j]
        c_wb = self.covariance[:j, j:].reshape(j, r, m)  # j, d, a
        c_bb = self.covariance[j:, j:].reshape(r, m, r, m)  # d, a, e, b

        # 1. `tensordot` with axes=1 sums over the last axis of the first array and the first axis of the second.
        half = np.tensordot(t, c_ww / 2, axes=1)  # ½ t C_ww, (n, m, j)
        half += np.tensordot(z, np.einsum("jda->daj", c_wb), axes=1)  # z C_Bw = Σ_d z_d Cov(B_da, w_j), at (n, a, j)
        leverage = half @ t.swapaxes(1, 2)  # X, (n, m, m)
        leverage += leverage.swapaxes(1, 2).copy()  # X + Xᵀ

        # 2. Σ_de z_d Cov(B_da, B_eb) z_e.
        _add_covariance_by_b(leverage, z, c_bb)
        return leverage

    def group_leverage(self, members: np.ndarray) -> Float[np.ndarray, "q q"]:
        """G of the stacked contrasts of rows that leave together: q is m times the number of `members`."""
        f = features(self._rows, members).reshape(-1, len(self._sd))  # (q, P)
        return f @ self.covariance @ f.T


def _add_covariance_by_b(
    leverage: Float[np.ndarray, "n m m"], z: Float[np.ndarray, "n r"], of_b: Float[np.ndarray, "r m r m"]
) -> None:
    """Add the covariance Σ_de z_d Cov(B_da, B_eb) z_e of contrasts a and b, by B alone, to the table of each row.

    Parameters
    ----------
    leverage : (n, m, m), which is added to
    z : columns of the linear term
    of_b : Cov(B_da, B_eb) at (d, a, e, b)
    """
    for a in range(leverage.shape[1]):
        # For contrasts b ≥ a; the covariance is symmetric, so that those with b > a are added at (b, a) too.
        of_a = np.einsum("deb->dbe", of_b[:, a, :, a:])
        z_c = np.tensordot(z, of_a, axes=1)  # Σ_d z_d Cov(B_da, B_eb), (n, b, e)
        z_c_z = (z_c @ z[:, :, None])[..., 0]  # Σ_e … z_e, (n, b)
        leverage[:, a, a:] += z_c_z
        leverage[:, a + 1 :, a] += z_c_z[:, 1:]


class RowPrecision(AbstractPrecision):
    """√d (I + ΦᵀΦ) √d with Φ of rows S_i^½ F_i W d^−½, by Woodbury's identity, N × N: for fewer rows than parameters.

    (I + ΦᵀΦ)⁻¹ = I − Φᵀ(I + ΦΦᵀ)⁻¹Φ
    """

    fisher = None

    def __init__(self, rows: Regression, mode: WeightsMode, p: Table, d: Float[np.ndarray, " p"]) -> None:
        """Prepare the inverse of the Hessian ∂²f (P, P) of f = −log posterior where rows are fewer than parameters.

            ∂²f = W (Σ_i F_iᵀ S_i F_i) W + diag(d)        F_i (m, P): derivative of the m = c − 1 contrasts of row i
                = √d (I + ΦᵀΦ) √d                         S_i (m, m): Hessian of the loss of row i in its contrasts

        The parameters are (log w, B), W = diag(w; 1 …) is ∂(w, B)/∂(log w, B), and Φ (N, P) has m rows for each row i:
        L_iᵀ F_i W d^−½ with S_i = L_i L_iᵀ. By Woodbury's identity (I + ΦᵀΦ)⁻¹ = I − Φᵀ (I + ΦΦᵀ)⁻¹ Φ. So only
        I + ΦΦᵀ (N, N) must be factored, which is the smaller one: N = n · m < P.

        Parameters
        ----------
        rows : t (n, m, j), z (n, r), labels and weights
        mode : w (j,) and B (r, m) at which ∂²f is taken
        p : (n, c) class probabilities at the mode
        d : (P,) what the prior adds to the diagonal of ∂²f
        """
        j = len(mode.w)
        self._rows = rows
        self._sd = d**-0.5  # d^−½, (P,)
        self._scale = mode.parameter_scale * self._sd  # the diagonal of W d^−½, (P,)

        # 1. Φ. A small number on the diagonal of S_i keeps it from being singular by rounding.
        s = label_curvature(p, rows.weight)  # S_i, (n, m, m)
        lower = np.linalg.cholesky(s + _JITTER * np.eye(s.shape[1]))  # L_i
        blocks = lower.swapaxes(1, 2) @ self._scaled_features(slice(None))  # L_iᵀ times F_i W d^−½, (n, m, P)
        self._phi = blocks.reshape(-1, len(d))  # (N, P)

        # 2. ∂²f/∂(log w_j)²: the diagonal of √d (I + ΦᵀΦ) √d, for w alone.
        self.shape = (1 + np.square(self._phi).sum(0)[:j]) * d[:j]

        # 3. The Cholesky factor of I + ΦΦᵀ, (N, N).
        small = self._phi @ self._phi.T
        small[np.diag_indices(len(small))] += 1
        self._factor = linalg.cholesky(small, lower=True, overwrite_a=True, check_finite=False)

        # 4. ½ log det ∂²f = ½ log det (I + ΦᵀΦ) + ½ Σ log d, where det (I + ΦᵀΦ) = det (I + ΦΦᵀ).
        self.half_log_det = float(np.log(np.diag(self._factor)).sum() + np.log(d).sum() / 2)

    def _scaled_features(self, part: Any) -> Float[np.ndarray, "n m p"]:
        """F_i W d^−½."""
        return features(self._rows, part) * self._scale

    def solve(self, g: np.ndarray) -> np.ndarray:
        """(∂²f)⁻¹ g = d^−½ (g̃ − Φᵀ(I + ΦΦᵀ)⁻¹Φ g̃) with g̃ = d^−½ g."""
        scaled = self._sd * g  # g̃
        return self._sd * (scaled - self._phi.T @ linalg.cho_solve((self._factor, True), self._phi @ scaled))

    def draw(self, rng: np.random.Generator) -> GaussianStep:
        """A step from N(0, (∂²f)⁻¹), and by how much f rises if it is quadratic.

        Bhattacharya et al. (2016): with standard normal ε (P,) and δ (N,), ε − Φᵀ(I + ΦΦᵀ)⁻¹(Φε + δ) has covariance
        (I + ΦᵀΦ)⁻¹. It takes no factor of a P × P matrix.
        """
        # Φ has N rows and P columns. `cho_solve` with the Cholesky factor of I + ΦΦᵀ (N, N) multiplies by its inverse.
        noise = rng.standard_normal(len(self._sd))  # ε
        noise_of_rows = self._phi @ noise + rng.standard_normal(len(self._phi))  # Φε + δ
        correction = self._phi.T @ linalg.cho_solve((self._factor, True), noise_of_rows)
        step = noise - correction  # of √d (log w, B): it is divided by √d at the end

        # How much a quadratic f rises: ½ stepᵀ(I + ΦᵀΦ) step = ½ (|step|² + |Φ step|²).
        rise = float(step @ step + np.square(self._phi @ step).sum()) / 2
        return GaussianStep(self._sd * step, rise)

    @functools.cached_property
    def variances(self) -> Float[np.ndarray, " p"]:
        """Diagonal of (∂²f)⁻¹: by Woodbury's identity 1 − Σ (L⁻¹Φ)² in each column, scaled, with L Lᵀ = I + ΦΦᵀ."""
        # (I + ΦᵀΦ)⁻¹ = I − Φᵀ(L Lᵀ)⁻¹Φ = I − (L⁻¹Φ)ᵀ(L⁻¹Φ), whose diagonal needs the column sums of squares of L⁻¹Φ
        half = linalg.solve_triangular(self._factor, self._phi, lower=True)
        return (1 - np.square(half).sum(0)) * self._sd**2

    def leverage(self, part: Any) -> Float[np.ndarray, "b m m"]:
        """G_i = F_i W (∂²f)⁻¹ W F_iᵀ of some rows."""
        return self._inner_products(self._scaled_features(part))

    def group_leverage(self, members: np.ndarray) -> Float[np.ndarray, "q q"]:
        """G of the stacked contrasts of rows that leave together."""
        f = self._scaled_features(members)
        return self._inner_products(f.reshape(1, -1, f.shape[2]))[0]

    def _inner_products(self, f: Float[np.ndarray, "b q p"]) -> Float[np.ndarray, "b q q"]:
        """f (I + ΦᵀΦ)⁻¹ fᵀ of each of b matrices f (q, P).

        By Woodbury's identity (I + ΦᵀΦ)⁻¹ = I − Φᵀ(L Lᵀ)⁻¹Φ, where L Lᵀ = I + ΦΦᵀ. So the result is f fᵀ − g gᵀ, where
        gᵀ = L⁻¹Φfᵀ.
        """
        # All rows of all matrices are solved for at once: L⁻¹Φ times b · q columns.
        b, q, n_parameters = f.shape
        all_rows = f.reshape(b * q, n_parameters)
        solved = linalg.solve_triangular(self._factor, self._phi @ all_rows.T, lower=True)  # (N, b · q)
        g = solved.T.reshape(b, q, -1)  # (b, q, N)
        return f @ f.swapaxes(1, 2) - g @ g.swapaxes(1, 2)


# --- the mode ---------------------------------------------------------------------------------------------------------


def height(mode: WeightsMode, loss: float) -> float:
    """f = −log p(y, log w, B) from the `loss` of the rows, without the constants ½ log 2π of the prior of B.

    The prior of w is exponential with mean s, so that of log w is w/s · exp(−w/s); that of B is normal.
    """
    # −log of the prior of log w: w/s + log s − log w. −log of the normal prior of B with the precision q: ½ q B² − ½
    # log q.
    s = mode.scales[0]
    precision = mode.precision
    prior_w = (mode.w / s + np.log(s / mode.w)).sum()
    prior_b = (precision * mode.b**2 - np.log(precision)).sum() / 2
    return float(loss + prior_w + prior_b)


def gradient_of_height(mode: WeightsMode, of_likelihood: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """∂f/∂(log w, B) of f = loss − log prior, from the gradient of the loss in (w, B).

    It is w_j (∂ loss/∂w_j + 1/s) − 1 in log w_j, as ∂w/∂log w = w, and ∂ loss/∂B + B/ρ² in B: −log of the priors is
    w/s − log w in log w, for an exponential prior of w with mean s, and B²/2ρ² in B.

    Parameters
    ----------
    mode : w (j,), B (r, m), and the scales s and ρ
    of_likelihood : (P,) gradient of the loss in w, then in B row by row
    """
    j = len(mode.w)
    slope = mode.w * (of_likelihood[:j] + 1 / mode.scales[0]) - 1
    return np.concatenate([slope, of_likelihood[j:] + (mode.precision * mode.b).ravel()])


class Point(NamedTuple):
    """Parameters, and what the likelihood says there.

    Fields
    ------
    mode : scales, w and B
    likelihood : there
    height : f there
    gradient : (P,) ∂f/∂(log w, B) there
    """

    mode: WeightsMode
    likelihood: Likelihood
    height: float
    gradient: Float[np.ndarray, " p"]

    @property
    def slope(self) -> Float[np.ndarray, " j"]:
        """∂f/∂u_j, which a mode has none of."""
        return self.gradient[: len(self.mode.w)]


def point_at(likelihood_at: LikelihoodAt, mode: WeightsMode) -> Point:
    """f = −log posterior and its gradient at some parameters.

    Parameters
    ----------
    likelihood_at : a function that gives the log loss and its gradient at any w and B: of the rows, or an approximation
    mode : w, B and the scales of their priors, which need not be at a mode
    """
    at_mode = likelihood_at(mode)
    return Point(mode, at_mode, height(mode, at_mode.loss), gradient_of_height(mode, at_mode.gradient))


def minimise(rows: Regression, start: WeightsMode, gain: float = GAIN, fisher: np.ndarray | None = None) -> Point:
    """The most probable weights w and coefficients B of a softmax regression, for the prior scales of `start`.

    It is Newton's method for f = −log posterior in (log w, B). The Hessian H of the log loss is costly and changes
    little from step to step, so it is used again:

    1. Make H if there is none.
    2. Compute Newton's step −(∂²f)⁻¹ ∇f, where ∂²f is H and what the prior adds.
    3. Stop if the step promises next to nothing.
    4. If H is old, and the step promises hardly less than the one before, discard H and go back to 1.
    5. Take the step, or a part of it that lowers f.

    The gradient ∇f is never an old one. So an old H makes the search longer but not less exact.

    Parameters
    ----------
    rows : what w and B are fitted to
    start : the scales of the priors, with w and B to begin from
    gain : nats that the last step may promise
    fisher : (P, P) H near the mode, if there is one

    Returns
    -------
    Point: the mode, with f and its gradient there
    """
    likelihood_at = functools.partial(likelihood, rows)  # of w and B: log loss, its gradient, class probabilities
    point = point_at(likelihood_at, start)
    last_promise = np.inf
    is_fresh = False  # whether H was made at the present point
    for _ in range(_MAX_STEPS):
        # 1. With fewer rows than parameters, ∂²f has a form that needs no H.
        if fisher is None and not is_wide(rows):
            fisher = fisher_matrix(rows, point.likelihood.p)
            is_fresh = True

        # 2. `promise` is twice the fall of f if f were quadratic.
        hessian = precision_at(rows, point.mode, point.likelihood.p, point.slope, fisher)  # ∂²f, factored
        step = newton_step(point, hessian)

        # 3. The mode is reached.
        if step.promise < gain:
            break

        # 4. H was made too far away.
        is_slow = step.promise > _SLOW * last_promise
        if is_slow and fisher is not None and not is_fresh:
            fisher = None
            continue

        # 5. The step is halved until f falls.
        lower = lower_point(likelihood_at, point, step)
        if lower is None:  # because of rounding no part of the step lowers f
            break
        point = lower
        last_promise = step.promise
        is_fresh = False
    return point


class Step(NamedTuple):
    """Newton's step.

    Fields
    ------
    change : (P,) of (log w, B)
    promise : twice the fall of f, were it quadratic
    """

    change: Float[np.ndarray, " p"]
    promise: float


def newton_step(point: Point, precision: AbstractPrecision) -> Step:
    """Newton's step −(∂²f)⁻¹ ∇f, from a point to where a quadratic f has its minimum.

    `promise` is ∇fᵀ(∂²f)⁻¹∇f, which is twice the fall of a quadratic f.

    Parameters
    ----------
    point : with the gradient ∇f, (P,)
    precision : the Hessian ∂²f, factored; `solve(g)` is (∂²f)⁻¹ g
    """
    change = -precision.solve(point.gradient)
    return Step(change, float(-point.gradient @ change))


def lower_point(likelihood_at: LikelihoodAt, point: Point, step: Step) -> Point | None:
    """The end of the longest part of Newton's step that lowers f as promised; None where rounding forbids any.

    f is −log posterior in (log w, B), which Newton's step would take to its minimum if it were quadratic. The step is
    shortened to at most 2 in any log w, and then halved until f falls by a small share of what the slope promises:
    Armijo's rule.

    Parameters
    ----------
    likelihood_at : log loss and gradient at any w and B
    point : where the step begins, with f there
    step : Newton's step, and what it promises
    """
    # `change` is (P,), log w first. A change of log w by 2 is a factor of 7 in w, beyond which the quadratic says
    # little. Along the step f has the slope −`promise`, so that a share of the step promises share · promise; f has to
    # fall by 1e-4 of it.
    longest = abs(step.change[: len(point.mode.w)]).max(initial=1e-300)  # in log w; never 0, as it divides
    share = min(1.0, _LONGEST_STEP / longest)  # of the step
    while share > _SHORTEST_STEP:
        end = point_at(likelihood_at, point.mode.moved(share * step.change))
        if end.height <= point.height - share * _ARMIJO * step.promise:
            return end
        share /= 2
    return None


def log_evidence(point: Point, precision: AbstractPrecision) -> float:
    """log Z(s, ρ) p(s) p(ρ) at a mode, up to a constant: Laplace's approximation, with Stirling's error in log w.

    Z(s, ρ) = ∫ exp(−f) is the evidence of the scales s and ρ of the priors: the likelihood times the prior, integrated
    over u = log w and over B.

    Of a column that says nothing, ∫ exp(−f) over log w is a gamma function. Laplace's approximation replaces log Γ(a),
    with a = ∂²f/∂u_j², by Stirling's formula (a − ½) log a − a + ½ log 2π; the difference is added back.
    """
    # Laplace: log ∫ exp(−f) ≈ −f − ½ log det ∂²f + const. `shape` has the a of each weight. The prior of the scales is
    # normal in log s and log ρ.
    shape = precision.shape
    stirling = gammaln(shape) - (shape - 0.5) * np.log(shape) + shape  # with ½ log 2π each
    log_prior = -np.square((np.log(point.mode.scales) - MIDDLE) / SPREAD).sum() / 2
    return float(-point.height - precision.half_log_det + stirling.sum() + log_prior)


# --- the same in NumPyro ----------------------------------------------------------------------------------------------


def numpyro_model(rows: Regression, scales: np.ndarray) -> None:
    """The softmax regression as a model in NumPyro, given the scales (s, ρ) of the priors: sites `w`, `B` and `y`.

        w_j ~ Exponential(mean s),    B_dk ~ N(0, ρ²), but its last row N(0, 2²),
        y_i ~ softmax(η_i),           η_i = offset_i + K (Σ_j w_j t_ij + Bᵀ z_i)

    Parameters
    ----------
    rows : t (n, m, j), z (n, r), offset (n, c), one-hot labels and weights
    scales : s of the weights w, and ρ of the coefficients B
    """
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    n, m, j = rows.t.shape
    r = rows.z.shape[1]

    # The priors of w (j,) and of B (r, m).
    w = numpyro.sample("w", dist.Exponential(1 / scales[0]).expand([j]).to_event(1))
    sd = jnp.full((r, m), scales[1]).at[-1].set(SD_SHIFT)
    b = numpyro.sample("B", dist.Normal(0.0, sd).to_event(2))

    # The labels. `scale` multiplies the log probability of a row by its weight. K is (c, m), with m = c − 1.
    k = contrasts(m + 1)
    eta = rows.offset + (jnp.asarray(rows.t) @ w + jnp.asarray(rows.z) @ b) @ k.T  # (n, c)
    with numpyro.plate("row", n), numpyro.handlers.scale(scale=jnp.asarray(rows.weight)):
        numpyro.sample("y", dist.Categorical(logits=eta), obs=rows.label.argmax(1))
