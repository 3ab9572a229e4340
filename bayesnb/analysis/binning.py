"""Bins that turn measurements into the levels of a categorical model: of equal width, or of the largest evidence."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Float, Int, PerRow
from ..core.supports import check_least, checked_numbers
from ..estimators._input import naming


class _AbstractBinner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that knows the boundaries of the bins of each column."""

    edges_: list[np.ndarray]

    def transform(self, X: Any) -> Any:
        """Number of the bin of each cell, 0 … K−1 as floats, (n, d); NaN if the cell is missing."""
        check_is_fitted(self)
        with naming("X"):
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        bins = binned(X, [edges[1:-1] for edges in self.edges_])  # the end bins have no outer boundary
        return np.where(self.n_bins_ == 0, np.nan, bins)  # a column without a training value has no bins

    def _set_edges(self, X: Any, edges_of: Callable[[int, np.ndarray], np.ndarray]) -> Self:
        """Set the boundaries and the number of bins of each column; a column without a value has none.

        `edges_of(j, has_value)` gives the boundaries of column j, where `has_value` (n,) marks the rows with a value.
        """
        self.edges_ = []
        for j, has_value in enumerate(~np.isnan(X.T)):
            self.edges_.append(edges_of(j, has_value) if has_value.any() else np.empty(0))
        self.n_bins_ = np.array([max(len(edges) - 1, 0) for edges in self.edges_])
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EqualWidthBinner(_AbstractBinner):
    """Cuts each numeric column into bins of equal width over its range in the training rows, without empty bins.

        inner boundaries b_i = min + i (max − min) / n_bins,  i = 1 … n_bins − 1
        bins (−∞, b_1], (b_1, b_2], …, (b_{n_bins−1}, ∞)

    Equal widths may leave bins without a training row. Such bins are removed: the two boundaries at the ends of a run
    of empty bins become one boundary, in the middle between them. The first and the last bin hold the smallest and the
    largest value. Every remaining bin therefore holds training rows, and a gap in the data is shared by its two
    neighbours.

    Parameters
    ----------
    n_bins : int, default 10
        number of bins of each column before empty bins are removed, at least 1

    Attributes
    ----------
    edges_ : list of d arrays
        boundaries of each column, ascending, with the smallest and the largest training value at the ends. K bins have
        K + 1 boundaries. A column without any value has none
    n_bins_ : (d,)
        number of bins of each column: 1 for a constant column, 0 for a column without any value
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `transform` gives codes 0 … K−1 as floats, which `CategoricalNB` accepts. Values outside the training range go to
    the end bins. NaN stays NaN, a missing cell. Every cell of a column without a training value becomes NaN too. A
    constant column gets one bin, which has no information about the class. `ForwardSelection` drops it.

    By default the naive Bayes procedure of SPSS puts scale predictors into 10 bins of equal width and removes empty
    ones. See IBM SPSS Statistics, chapter Naive Bayes Algorithms, and the command reference of NAIVEBAYES. Training
    rows get the same bins here. The position of a boundary inside a gap only matters for new values that fall into the
    gap.

    Examples
    --------
    >>> from bayesnb.analysis.binning import EqualWidthBinner
    >>> EqualWidthBinner(3).fit_transform([[0.0], [1.0], [4.0], [9.0]]).ravel()
    array([0., 0., 1., 2.])
    """

    def __init__(self, n_bins: Any = 10) -> None:
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the boundaries of each column.

        Parameters
        ----------
        X : (n, d) numbers; NaN where a cell is missing
        y : ignored

        Raises
        ------
        ValueError
            if `n_bins` is not a whole number of at least 1, or X holds text or infinities
        """
        check_least(1, n_bins=self.n_bins)
        with naming("X"):
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        return self._set_edges(X, lambda j, has_value: _equal_widths(X[has_value, j], self.n_bins))


class EvidenceBinner(_AbstractBinner):
    """Cuts each numeric column where the class labels have the largest evidence.

    Each bin has its own class probabilities, with a Dirichlet prior, and they are integrated out. Cuts have Boullé's
    prior. For n rows, I bins, J classes, n_i rows in bin i, n_ij of them of class j:

        log p(y | bins) = Σ_i [ log Γ(Jα) − log Γ(n_i + Jα) + Σ_j (log Γ(n_ij + α) − log Γ(α)) ]
        log p(bins)     = − log n − log C(n + I − 1, I − 1)

    The search is exact: among the candidates it finds the cuts with the largest sum of the two. A column without
    information about the class gets one bin, so it adds nothing to a naive Bayes prediction.

    Parameters
    ----------
    alpha : float, default 1.0
        concentration α of the Dirichlet prior of the class probabilities in a bin, positive; 1 is uniform
    max_cuts : int, default 1000
        largest number of candidate cuts of a column, at least 1

    Attributes
    ----------
    edges_ : list of d arrays
        boundaries of each column, ascending, with the smallest and the largest training value at the ends; K bins have
        K + 1 boundaries. A column without any value has none
    n_bins_ : (d,)
        number of bins of each column; 0 for a column without any value
    log_evidence_ : (d,)
        log p(y | bins) + log p(bins) of each column in nats, over the rows with a value
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `transform` gives codes 0 … K−1 as floats, which `CategoricalNB` accepts. Bins are closed on the right. Values
    outside the training range go to the end bins. NaN stays NaN, a missing cell.

    A cut lies in the middle between two neighbouring training values. A cut between two rows of the same class is never
    best. The reason is that the evidence is convex in the number of rows of one class that move from a bin to its
    neighbour. Such cuts are therefore not candidates. If more than `max_cuts` candidates remain, the search keeps
    candidates at even steps of rank. With the default this loses little: each cut is then at most n/2,000 rows from the
    best place.

    The search costs O(m²) for m candidates. log C(n + I − 1, I − 1) is concave in I, so it is the minimum of its
    tangents λ_k I + const. Dynamic programming with the price λ_k for each bin gives the best partition under one
    tangent, with j bins. No number of bins between k and j can then be better than j. A few prices are therefore
    enough.

    Each column is judged on its own, so the search does not know what a bin adds to the other columns. Before
    `CategoricalNB` the bins are few, and on some tables ten bins of equal width predict better: compare both.

    References
    ----------
    Boullé (2006), MODL: a Bayes optimal discretization method for continuous attributes, Machine Learning 65(1):
    131–165. It minimises log n + log C(n+I−1, I−1) + Σ_i log C(n_i+J−1, J−1) + Σ_i log(n_i! / Π_j n_ij!). For α = 1
    this is −log p(y | bins) − log p(bins), term by term. Taken over: the criterion. Changed: α may differ from 1, the
    search is exact where Boullé's is greedy with a final improvement, and candidates are limited to `max_cuts`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import EvidenceBinner
    >>> X, y = load_iris(return_X_y=True)
    >>> binner = EvidenceBinner().fit(X, y)
    >>> binner.n_bins_
    array([3, 3, 3, 3])
    >>> binner.edges_[3]
    array([0.1 , 0.8 , 1.75, 2.5 ])
    """

    def __init__(self, alpha: Any = 1.0, max_cuts: Any = 1000) -> None:
        self.alpha = alpha
        self.max_cuts = max_cuts

    def fit(self, X: Any, y: Any) -> Self:
        """Find the boundaries of each column.

        Parameters
        ----------
        X : (n, d) numbers, at least two rows; NaN where a cell is missing
        y : (n,) class labels

        Raises
        ------
        ValueError
            if `alpha` is not a positive number, or `max_cuts` not a whole number of at least 1. Also if y does not hold
            class labels, or if X holds text or infinities
        """
        check_least(1, max_cuts=self.max_cuts)
        alpha = float(checked_numbers("alpha", self.alpha, ()))
        with naming("X", "y"):
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
            check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)  # (n,) number of the class of each row
        self.log_evidence_ = np.zeros(X.shape[1])

        def edges_of(j: int, has_value: np.ndarray) -> np.ndarray:
            """Boundaries of column j, from the rows with a value there; notes the evidence of its bins."""
            values = X[has_value, j]
            candidates = _candidate_cuts(values, index[has_value], len(classes), self.max_cuts)
            partition = _best_partition(candidates.counts, alpha)
            self.log_evidence_[j] = partition.evidence
            return np.concatenate([[values.min()], candidates.boundaries[partition.cuts], [values.max()]])

        return self._set_edges(X, edges_of)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def binned(X: np.ndarray, inner: list[np.ndarray]) -> np.ndarray:
    """Number of the bin of each cell, (n, d); NaN if the cell is missing.

    `inner` has the inner boundaries of each column, ascending. A value on a boundary is in the bin below it.
    """
    bins = [np.searchsorted(ends, x) for x, ends in zip(X.T, inner, strict=True)]  # how many boundaries are below
    return np.where(np.isnan(X), np.nan, np.reshape(bins, X.T.shape).T)


def _equal_widths(values: PerRow, n_bins: int) -> Float[np.ndarray, " m"]:
    """Boundaries of bins of equal width over the range of the values, without the bins that hold none of them.

    Where bins are empty, the two boundaries around a run of them become one, in the middle.
    """
    low = values.min()
    high = values.max()
    share = np.arange(1, n_bins) / n_bins
    inner = low * (1 - share) + high * share  # (n_bins − 1,)

    # bin b lies between the inner boundaries b − 1 and b
    occupied = np.unique(np.searchsorted(inner, values))  # bins with training rows, ascending
    ends = inner[occupied[:-1]]  # upper end of each such bin but the last
    next_starts = inner[occupied[1:] - 1]  # lower end of the next one: the same number if no empty bin lies between
    return np.concatenate([[low], (ends + next_starts) / 2, [high]])


class _Candidates(NamedTuple):
    """Where the values of a column may be cut.

    Fields
    ------
    counts : (m + 1, c) rows of each class in the segments between m cuts
    boundaries : (m,) the number in the middle of each cut
    """

    counts: Int[np.ndarray, "segments c"]
    boundaries: Float[np.ndarray, " m"]


def _candidate_cuts(values: PerRow, index: Int[np.ndarray, " n"], n_classes: int, max_cuts: int) -> _Candidates:
    """Where a column may be cut: between neighbouring values, but not inside a run of rows of a single class.

    A cut inside such a run is never best, as the evidence is convex in the rows of one class that move over a cut.

    Parameters
    ----------
    values : (n,) of the column
    index : (n,) number of the class of each row
    max_cuts : largest number of cuts; of more, those at even steps of rank remain
    """
    # rows of each class by distinct value, (v, c); each pair of a value and a class has a number of its own
    distinct, place = np.unique(values, return_inverse=True)
    pair = place * n_classes + index
    counts = np.bincount(pair, minlength=len(distinct) * n_classes).reshape(-1, n_classes)

    # a cut lies between values whose rows are not all of one and the same class
    single_class = np.where((counts > 0).sum(1) == 1, counts.argmax(1), -1)  # −1 where a value has several classes
    is_cut = (single_class[1:] != single_class[:-1]) | (single_class[1:] < 0)
    cuts = np.flatnonzero(is_cut)  # cut i follows distinct value i
    if len(cuts) > max_cuts:
        middles = (2 * np.arange(max_cuts) + 1) * len(cuts) // (2 * max_cuts)  # of max_cuts equal parts of the ranks
        cuts = cuts[middles]

    # the values between two cuts are one segment
    segment_starts = np.concatenate([[0], cuts + 1])
    segments = np.add.reduceat(counts, segment_starts)
    return _Candidates(segments, (distinct[cuts] + distinct[cuts + 1]) / 2)


class _Partition(NamedTuple):
    """Segments merged into bins: the cuts (I − 1,) that stay, and their log evidence in nats."""

    cuts: np.ndarray
    evidence: float


def _best_partition(counts: Int[np.ndarray, "m c"], alpha: float) -> _Partition:
    """The bins of the largest log p(y | bins) + log p(bins), made of m neighbouring segments.

    The prior of I bins, log p(bins) = −log n − log C(n + I − 1, I − 1), is convex in I, so it is nowhere below its
    tangents. Under a tangent each bin has a fixed price, and dynamic programming finds the best bins. If these are j
    bins by the tangent at k, no number of bins between k and j can be better than j, which leaves few tangents to try.

    Parameters
    ----------
    counts : rows of each of c classes in each segment
    alpha : concentration of the Dirichlet prior of the class probabilities in a bin

    Returns
    -------
    the cuts between bins, where cut k lies between segments k and k + 1, and the log evidence in nats
    """
    m = len(counts)
    n = int(counts.sum())
    bins = _log_evidence_of_bins(counts, alpha)  # [e][s] of a bin of segments s … e

    n_bins = np.arange(1, m + 2)
    log_prior = gammaln(n_bins) + gammaln(n + 1) - gammaln(n + n_bins) - np.log(n)  # log p(bins) for I = 1 … m + 1
    price = -np.diff(log_prior)  # of one more bin: the slope of the tangent at I, which falls with I

    best = _Partition(np.empty(0, int), float(bins[-1][0] + log_prior[0]))  # one bin of all segments
    unsettled = np.arange(1, m + 1)  # numbers of bins that may still be the best
    while len(unsettled):
        k = unsettled[len(unsettled) // 2]
        priced = _priced_partition(bins, price[k - 1])  # the best under the tangent at k
        j = len(priced.cuts) + 1  # its number of bins
        evidence = priced.evidence + log_prior[j - 1]
        if evidence > best.evidence:
            best = _Partition(priced.cuts, float(evidence))
        # no number of bins between k and j can be better than j
        unsettled = unsettled[(unsettled < min(j, k)) | (unsettled > max(j, k))]
    return best


def _log_evidence_of_bins(counts: Int[np.ndarray, "m c"], alpha: float) -> list[np.ndarray]:
    """Log evidence in nats of the labels in every bin that can be made: entry [e][s] is that of segments s … e.

    Class probabilities have a Dirichlet prior and are integrated out. With N rows in the bin, N_j of them of class j,

        Σ_j [log Γ(N_j + α) − log Γ(α)] − [log Γ(N + c α) − log Γ(c α)]

    Parameters
    ----------
    counts : rows of each of c classes in each of m segments
    """
    m, c = counts.shape

    # rows of a bin are a difference of the rows before its end and before its start
    before = np.concatenate([np.zeros((1, c), int), counts.cumsum(0)])  # (m + 1, c) before each segment, by class
    rows_before = before.sum(1)  # (m + 1,)

    # both differences of log Γ, looked up by the number of rows
    n_or_less = np.arange(rows_before[-1] + 1)
    log_rising_class = gammaln(n_or_less + alpha) - gammaln(alpha)
    log_rising_bin = gammaln(n_or_less + c * alpha) - gammaln(c * alpha)

    bins = []
    for end in range(1, m + 1):  # the segment after the last one of the bin
        of_classes = log_rising_class[before[end] - before[:end]].sum(1)  # (end,) for each first segment
        bins.append(of_classes - log_rising_bin[rows_before[end] - rows_before[:end]])
    return bins


def _priced_partition(bins: list[np.ndarray], price: float) -> _Partition:
    """The cuts with the largest sum over bins of log evidence − price, and their log evidence without the price.

    Dynamic programming: the best bins of the first e segments are a last bin s … e − 1, and the best bins of the
    s segments before it.

    Parameters
    ----------
    bins : entry [e][s] is the log evidence of a bin of segments s … e
    price : what each bin costs, in nats
    """
    value = np.zeros(len(bins) + 1)  # the best sum over the first e segments, for each e
    start = np.zeros(len(bins) + 1, int)  # first segment of the last bin of that best
    for e, log_evidence in enumerate(bins, 1):
        total = value[:e] + log_evidence  # (e,) by the first segment of the last bin
        start[e] = total.argmax()
        value[e] = total[start[e]] - price

    # from the last bin backwards: cut k − 1 stands before segment k
    cuts: list[int] = []
    first = start[-1]
    while first > 0:
        cuts.append(first - 1)
        first = start[first]
    n_bins = len(cuts) + 1
    return _Partition(np.array(cuts[::-1], int), value[-1] + price * n_bins)
