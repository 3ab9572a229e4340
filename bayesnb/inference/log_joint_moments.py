"""Moments of the log joint over the posterior, and the Pearson III distribution that has them; see `intervals`."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from ..core.arrays import Bool, Float, Int
from ..core.quadratics import SharedQuadratic
from ..naive_bayes import NaiveBayes, Rows

_TAILS = 0.2  # excess kurtosis of ℓ_1 − ℓ_0 beyond that of its Pearson III variable: two dimensions from there on
_SKEWED, _SHARE = 1.3, 0.1  # skewness of a class from which on draws are better, if it has this share of the variance
MANY = 1000  # degrees of freedom of a shared parameter from which on what it adds is taken as normal
_FAR = 6.0  # standard deviations beyond which no point lies


@dataclass(frozen=True)
class LogJointMoments:
    """Distribution of ℓ over the posterior for some rows, up to what all classes share.

    Fields
    ------
    mean : (n, c)
    variance, third : (n, c)   of the part that is independent from class to class
    shared : (n, c, c) or None   covariance of the part that is not, taken as normal
    quadratics                   of Gaussian classes with a parameter in common: independent given it, and not in `mean`
    """

    mean: Float[np.ndarray, "n c"]
    variance: Float[np.ndarray, "n c"]
    third: Float[np.ndarray, "n c"]
    shared: Float[np.ndarray, "n c c"] | None
    quadratics: tuple[SharedQuadratic, ...] = ()

    @classmethod
    def of(cls, nb: NaiveBayes, rows: Rows) -> "LogJointMoments":
        """Sums over the class prior and the blocks."""
        mean, variance, third = nb.classes.log_cumulants()
        shared: Any = None
        quadratics: list[SharedQuadratic] = []
        n = next(iter(rows.values())).shape[0]
        for name, block in nb.blocks.items():
            x = rows[name]
            few = block.couples_classes and block.degrees_of_freedom() < MANY
            if few and (quadratic := block.shared_quadratic(x)) is not None:
                quadratics.append(quadratic)
                continue
            mean_of, variance_of, third_of = block.log_cumulants(x)
            mean = mean + mean_of
            if block.couples_classes:
                covariance = block.log_covariance(x)
                variance_of = np.diagonal(covariance, axis1=1, axis2=2)
                if np.count_nonzero(covariance) > np.count_nonzero(variance_of):
                    shared = covariance if shared is None else shared + covariance
                    continue
            variance, third = variance + variance_of, third + third_of
        mean, variance, third = (np.broadcast_to(one, (n, len(one.T))) for one in (mean, variance, third))
        return cls(mean, np.maximum(variance, 0), third, shared, tuple(quadratics))

    def take(self, at: Int[np.ndarray, " m"], classes: Int[np.ndarray, "m k"]) -> "LogJointMoments":
        """Those of some rows, and of each of them some classes."""
        pick = at[:, None], classes
        shared = None if self.shared is None else self.shared[at[:, None, None], classes[:, :, None], classes[:, None]]
        quadratics = tuple(one.take(at, classes) for one in self.quadratics)
        return type(self)(self.mean[pick], self.variance[pick], self.third[pick], shared, quadratics)

    def bounds(self) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
        """Values between which every ℓ_c lies, but for a few times in 10⁹ draws."""
        half = np.zeros_like(self.mean)
        if (root := self.root) is not None:
            half = _FAR * np.sqrt(np.square(root).sum(-1))
        ends = np.sqrt(self.variance) * pearson_iii(np.array([-_FAR, _FAR])[:, None, None], self.slant)
        return self.mean + ends[0] - half, self.mean + ends[1] + half

    @property
    def slant(self) -> Float[np.ndarray, "n c"]:
        """A sixth of the skewness of each class."""
        return sixth_of_skewness(self.variance, self.third)

    @property
    def root(self) -> Float[np.ndarray, "n c c"] | None:
        """A square root of the shared covariance, less what all classes share (which may be far larger)."""
        if self.shared is None:
            return None
        c = self.mean.shape[1]
        centre = np.eye(c) - 1 / c
        values, vectors = np.linalg.eigh(centre @ self.shared @ centre)
        return vectors * np.sqrt(np.maximum(values, 0))[:, None, :]

    @property
    def skewed(self) -> Bool[np.ndarray, " n"]:
        """Whether a class with a share in the variance is so skewed that three moments do not tell the tails.

        Log θ of a kind that did not occur, under a concentration α < 1, is about exponential with scale 1/α. It ends at
        0, and what is added to it goes beyond that end, unlike a Pearson III variable.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            skewness = abs(self.third / self.variance**1.5)
        counts = self.variance > _SHARE * self.variance.max(1, keepdims=True)
        return ((skewness > _SKEWED) & counts).any(1)

    # two classes: ℓ_1 − ℓ_0

    @functools.cached_property
    def difference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance and third cumulant of ℓ_1 − ℓ_0, (n,) each."""
        variance = self.variance.sum(1)
        if self.shared is not None:
            v = self.shared
            variance = variance + np.maximum(v[:, 0, 0] - v[:, 0, 1] - v[:, 1, 0] + v[:, 1, 1], 0)
        return self.mean[:, 1] - self.mean[:, 0], variance, self.third[:, 1] - self.third[:, 0]

    @property
    def simple(self) -> bool:
        """Whether there are two classes, and for all rows ℓ_1 − ℓ_0 is taken as one Pearson III variable."""
        return self.mean.shape[1] == 2 and not self.quadratics and bool(self.single.all())

    @functools.cached_property
    def single(self) -> Bool[np.ndarray, " n"]:
        """Whether ℓ_1 − ℓ_0 has about the tails of the Pearson III variable with its three moments.

        It has not where two skewed terms of about the same size meet: their difference is symmetric with heavy tails.
        A Pearson III variable has the fourth cumulant 1.5 κ₃²/κ₂; those of independent terms add.
        """
        _, variance, third = self.difference
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.where(self.variance > 0, self.third / self.variance**1.5, 0) ** 2 * self.variance**2
            gap = 1.5 * (terms.sum(1) / variance**2 - third**2 / variance**3)
        return ~(gap > _TAILS)

    def two_class_log_odds(self, z: Float[np.ndarray, " s"]) -> Float[np.ndarray, "n s"]:
        """ℓ_1 − ℓ_0 at quantiles z of the standard normal."""
        mean, variance, third = self.difference
        slant = sixth_of_skewness(variance, third)[:, None]
        return mean[:, None] + np.sqrt(variance)[:, None] * pearson_iii(np.broadcast_to(z, (len(mean), len(z))), slant)

    def two_class_quantiles(self, tails: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "n 2 2"]:
        """Quantiles of both class probabilities: the logistic function is monotone."""
        log_odds = self.two_class_log_odds(ndtri(tails))
        return np.stack([expit(-log_odds[:, ::-1]), expit(log_odds)], 1)


def sixth_of_skewness(variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """A sixth of the skewness, kept within ±1 (a Pearson III variable of skewness 6 is a point and a long tail)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slant = third / variance**1.5 / 6
    return np.clip(np.nan_to_num(slant, nan=0.0), -1, 1)


def pearson_iii(z: np.ndarray, e: np.ndarray) -> np.ndarray:
    """T(z; 6e) = q (1 + eq + (eq)²/3) with q = z − e, where 1 + eq is not negative, and its bound −1/(3e) beyond."""
    q = z - e
    if (abs(e).max(initial=0) * abs(q).max(initial=0)) > 1:
        with np.errstate(divide="ignore"):
            bound = -1 / e
        q = np.where(e > 0, np.maximum(q, bound), np.where(e < 0, np.minimum(q, bound), q))
    step = e * q
    return q * (1 + step * (1 + step / 3))
