"""Kernel density naive Bayes for scikit-learn users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.arrays import Float
from ..core.supports import LENGTH, MOST_LENGTH, checked_numbers, shortened
from ..families.kernel_density import KernelDensity
from ..naive_bayes import Statistics
from ..statistics import Sample
from ..sums.kernels import WIDEST
from ._base import AbstractNB
from ._state import BLOCK

# Limits of the bandwidth: see the Notes of KernelNB.
_REACH = 4.0  # natural logarithm of how far from its centre: a factor of 55
_LEAST = 1e-280  # of a bandwidth's centre, so that the limits around it are numbers
_ROUNDING = 1e-9  # gaps below this share of a feature's range are not counted as gaps


@dataclass(kw_only=True, eq=False, repr=False)
class KernelNB(AbstractNB):
    """Naive Bayes for real features of any shape: a Gaussian kernel density for every class and feature.

    Parameters
    ----------
    bandwidth : "posterior" (default), "nrd0", float, (d,) or (c, d)
        standard deviation h of the kernels, in the unit of the feature. "posterior" learns one for each class and
        feature from how well the other cells predict each cell. "nrd0" is the rule of thumb that R's `density` uses. A
        number or an array is a known bandwidth
    bounds : (low, high) or mapping column -> (low, high), optional
        limits of the values, in the unit of the feature. None or an infinite number leaves an end open. The kernels are
        reflected at the bounds, so the density integrates to one between them and is zero outside. A pair applies to
        all columns. A mapping applies to the columns that it names (by the name in a data frame, or by the position
        from 0)
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" averages the densities over the posterior of the bandwidth. "mean" and "map"
        plug in its mean and its mode. "mle" plugs in the bandwidth with the largest leave-one-out product

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the distinct cells and their weights, and `NaiveBayes` before and after the rows

    Notes
    -----
    The prior of the bandwidth is log h ~ Normal(log h⁰, 1), with h⁰ the rule of thumb of the class's own cells. The
    prior therefore scales with the feature. It is cut off at a factor of 55 (e⁴) below and above h⁰. It is also cut off
    below half the smallest gap between distinct values of the feature, because the leave-one-out product of rounded
    data grows without bound as h → 0. If half that gap is larger than h⁰, the prior is centred on half the gap. Gaps
    below 1e-9 of the range are treated as rounding. If a class has fewer than two distinct cells, the cells of all
    classes give h⁰.

    There is no `prior=`: a kernel density has no parameters of its own, only the bandwidth, and `bandwidth=` fixes it.

    A class without any cell in a feature gets the density of the cells of all classes. Under "posterior" a constant
    column adds no information. Under "nrd0" it may add some, because R's rule gives each class another bandwidth: |x|
    or 1 times N^(−1/5). NaN is a missing cell and is left out. There is no `log_evidence_`: the leave-one-out product
    is not a density of the data.

    *Bounds.* Without bounds, 15 % of the density of an exponential class lies below 0. Reflection adds mirror images of
    the kernel of each cell v, at 2·low − v and 2·high − v. Between two bounds the images are reflected too. The density
    stays finite and smooth, and its slope is 0 at a bound. The bandwidth is learnt with the images: a cell is left out
    together with its images. Rows beyond the bounds are an error, in `fit` and in `predict`. New rows of `sample` are
    reflected too.

    *Weights and copies.* A weight of 2 means two equal rows. Under "posterior" equal rows predict each other, which
    pulls the bandwidth towards its lower limit. Copied rows do the same. Leave-one-out does not show it, because a row
    is then predicted by its copy, unless `groups` leaves both out. An example of 100 normal rows in two classes has a
    log loss of 0.33 on new rows. It is 6.7 if all weights are 2, or if each row occurs twice. Replace copies by one row
    with a weight, and divide weights by the largest, so that none is above 1. Or use bandwidth="nrd0". Both keep the
    log loss of the example below 0.34.

    Time grows with the square of the number of distinct values of a class and feature: a tenth of a second at 500,
    about ten seconds at 5,000. To save time, round a feature first. This merges values, and the lower limit of the
    bandwidth follows.

    References
    ----------
    Silverman (1986), Density Estimation for Statistics and Data Analysis, §2.10 (reflection), §3.4 (bandwidths).

    Examples
    --------
    Waiting times are not negative. Two groups wait 1 and 3 minutes on average:

    >>> import numpy as np
    >>> from bayesnb import KernelNB
    >>> X = np.random.default_rng(0).exponential(1, (200, 1)) * np.repeat([[1.0], [3.0]], 100, axis=0)
    >>> y = np.repeat(["short", "long"], 100)
    >>> nb = KernelNB(bounds=(0, None)).fit(X, y)
    >>> bool(nb.sample(500, seed=0)[0].min() >= 0)
    True
    >>> nb.predict([[-1.0]])
    Traceback (most recent call last):
    ...
    ValueError: `X` has -1 in column 0, below the bound 0 of `bounds`; correct the row, or give KernelNB wider bounds
    """

    bandwidth: Any = "posterior"
    bounds: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _family = KernelDensity
    variants: ClassVar = {"kernel": {}}
    _most_cells = 20_000

    def _validate(self, X: Any, **checks: Any) -> Any:
        found = super()._validate(X, **checks)
        limits = self._limits()
        if limits is not None:
            rows = found[0] if isinstance(found, tuple) else found
            for j in np.flatnonzero(np.isfinite(limits).any(0)):
                cells, (low, high) = rows[:, j], limits[:, j]
                beyond = cells[(cells < low) | (cells > high)]
                if beyond.size:
                    value = beyond.min() if beyond.min() < low else beyond.max()
                    side, bound = ("below", low) if value < low else ("above", high)
                    raise ValueError(
                        f"`X` has {value:g} in column {self._label(int(j))}, {side} the bound {bound:g} of `bounds`; "
                        "correct the row, or give KernelNB wider bounds"
                    )
        return found

    def _limits(self) -> np.ndarray | None:
        """Least and largest value of every column, (2, d), −∞ and ∞ where it is open; None where no column has one.

        Raises
        ------
        ValueError
            if a bound is no number, the lower is not below the upper, or a column is not there
        """
        if self.bounds is None:
            return None
        limits = np.tile([[-np.inf], [np.inf]], self.n_features_in_)
        if not isinstance(self.bounds, Mapping):
            limits[:] = _pair("bounds", self.bounds)[:, None]
            return limits
        for column, pair in self.bounds.items():
            if (at := self._place(column)) is None:
                names = list(getattr(self, "feature_names_in_", ()))
                known = f"; the columns are {shortened(names)}" if names else ""
                raise ValueError(
                    f"`bounds` names column {column!r}, which is not in `X`{known}; give names of columns, or numbers "
                    f"from 0 to {self.n_features_in_ - 1}"
                )
            limits[:, at] = _pair(f"bounds[{column!r}]", pair)
        return limits

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        given, limits = self._given(shape), self._limits()
        cells = Sample(np.zeros((*shape, 0)), np.zeros((*shape, 0)))
        widest, bounds = np.full(shape[1], np.inf), (None, None)
        if limits is not None and np.isfinite(limits).any():
            bounds, widest = (limits[0], limits[1]), WIDEST * (limits[1] - limits[0])
        if given is None and self.bandwidth == "nrd0":
            given = np.ones(shape) if stats is None else _rule_of_thumb(stats.blocks[BLOCK], as_r=True)[0]
        if given is not None:
            return {BLOCK: KernelDensity(np.log(np.minimum(given, widest)), cells, None, None, *bounds)}
        centre, least = (np.ones(shape), np.zeros(shape)) if stats is None else _rule_of_thumb(stats.blocks[BLOCK])
        log_h = np.log(np.minimum(np.maximum(np.maximum(centre, least), _LEAST), widest))
        low = np.maximum(log_h - _REACH, np.log(np.maximum(least, np.finfo(float).tiny)))
        return {BLOCK: KernelDensity(log_h, cells, low, np.minimum(log_h + _REACH, np.log(widest)), *bounds)}

    @property
    def _prior_follows_rows(self) -> bool:
        return isinstance(self.bandwidth, str)

    def _given(self, shape: tuple[int, int]) -> np.ndarray | None:
        """Bandwidths that are given, (c, d); None where they come from the data."""
        if isinstance(self.bandwidth, str):
            if self.bandwidth in ("posterior", "nrd0"):
                return None
            found = repr(self.bandwidth)
        else:
            try:
                return np.array(checked_numbers("bandwidth", self.bandwidth, shape, LENGTH))
            except ValueError:
                array = isinstance(self.bandwidth, list | tuple | np.ndarray)
                found = shortened(self.bandwidth) + (f" of shape {np.shape(self.bandwidth)}" if array else "")
        c, d = shape
        raise ValueError(
            f"`bandwidth` is {found}; choose 'posterior' or 'nrd0', or give numbers ({LENGTH.describe()}): one, one a "
            f"feature ({d},), or one a class and feature ({c}, {d})"
        )


def _pair(name: str, pair: Any) -> np.ndarray:
    """Two bounds, the lower one first, −∞ and ∞ where there is none."""
    needed = "a pair (low, high) of numbers, low below high, with None where an end is open"
    try:
        low, high = pair
        found = np.array([-np.inf if low is None else low, np.inf if high is None else high], float)
    except (TypeError, ValueError):
        found = np.full(2, np.nan)
    if isinstance(pair, str) or not found[0] < found[1] or abs(found[np.isfinite(found)]).max(initial=0) > MOST_LENGTH:
        raise ValueError(f"`{name}` is {shortened(pair)}; it needs {needed}, at most {MOST_LENGTH:g} in size")
    return found


def _rule_of_thumb(cells: Sample, as_r: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Bandwidths by nrd0, and half the smallest gap between distinct values of each feature, (c, d) both.

    Parameters
    ----------
    as_r : whether the rule applies to a class whose cells are all equal, as in R; else, as for a class with less than
        two cells, the cells of all classes step in
    """
    everyone = cells.pooled()
    width, gap = np.ones(cells.value.shape[:2]), np.zeros(cells.value.shape[:2])
    for j, (value, weight) in enumerate(zip(everyone.value[0], everyone.weight[0], strict=True)):
        value, weight = value[weight > 0], weight[weight > 0]
        if not len(value):
            continue
        gaps = np.diff(value / 2)  # halves, which is also what is asked for
        gaps = gaps[gaps > _ROUNDING * (value[-1] / 2 - value[0] / 2)]
        gap[:, j] = gaps.min(initial=np.inf) if len(gaps) else 0
        width[:, j] = nrd0(value, weight)
        for k, (own, w) in enumerate(zip(cells.value[:, j], cells.weight[:, j], strict=True)):
            own, w = own[w > 0], w[w > 0]
            if w.sum() > 1 and (len(own) > 1 or as_r):
                width[k, j] = nrd0(own, w)
    return width, gap


def nrd0(value: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"]) -> float:
    """Silverman's rule of thumb as R's `bw.nrd0` has it: 0.9 · min(s, IQR/1.34) · N^(−1/5).

    s is the standard deviation with N − 1, the quartiles are R's type 7. Where IQR is 0, s stands in; where that is 0
    too, |x₁|, and 1 where that is 0.

    Parameters
    ----------
    value : distinct values in ascending order, at least one; unit of the feature
    weight : their weights, positive: numbers of repetitions. N is their sum; fractions are allowed

    References
    ----------
    Silverman (1986), Density Estimation, (3.31). For N < 2, where s does not exist, ½N is taken for N − 1.
    """
    n = weight.sum()
    scale = value[-1] / 2 - value[0] / 2  # halves: the difference itself may be too large for the type
    if scale > 0:
        z = (value / 2 - value[0] / 2) / scale
        rest = z - (weight @ z) / n
        s = 2 * scale * np.sqrt(weight @ rest**2 / max(n - 1, n / 2))
        low, high = _quartiles(value, weight)
        width = min(s, (high - low) / 1.34) or s
    else:
        width = abs(value[0]) or 1.0
    return float(0.9 * width * max(n, 1) ** -0.2)


def _quartiles(value: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """First and third quartile of repeated values: R's type 7, linear between order statistics."""
    ends = np.cumsum(weight)
    n = ends[-1]

    def order_statistic(i: float) -> float:
        """The value at place i = 0, 1, … of the repetitions; what rounding left of a weight does not count."""
        return float(value[min(np.searchsorted(ends, i + 1e-9 * n, side="right"), len(value) - 1)])

    found = []
    for p in (0.25, 0.75):
        place = max(n - 1, 0) * p
        below = float(np.floor(place + 1e-9))
        share = max(place - below, 0.0)
        left = order_statistic(below)
        found.append(left + share * (order_statistic(below + 1) - left) if share else left)
    return found[0], found[1]
