"""Bins that turn measurements into the levels of a categorical model: of equal width, or of the largest evidence."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..estimators._input import naming
from ..numerics.arrays import Float, Int, PerRow
from ..numerics.supports import check_least, checked_numbers


class _AbstractBinner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that knows the boundaries of the bins of each column."""

    edges_: list[np.ndarray]

    def transform(self, X: Any) -> Any:
        """Number of the bin of each cell, 0 … K−1 as floats, (n, d); NaN if the cell is missing."""
        check_is_fitted(self)
        with naming("X"):  # errors of the check then name this argument
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        # The end bins have no outer boundary, so that numbers beyond the range of the training rows go there. For
        # example, the boundaries 0, 4, 8 make the bins (−∞, 4] and (4, ∞), and 9 is in the second, number 1.
        inner = [edges[1:-1] for edges in self.edges_]
        bins = binned(X, inner)  # (n, d)
        return np.where(self.n_bins_ == 0, np.nan, bins)  # a column without a training value has no bins

    def _set_edges(self, X: Any, edges_of: Callable[[int, np.ndarray], np.ndarray]) -> Self:
        """Set the boundaries and the number of bins of each column; a column without a value has none.

        `edges_of(j, has_value)` gives the boundaries of column j, where `has_value` (n,) marks the rows with a value.
        K bins have K + 1 boundaries, of which the first and the last are the smallest and the largest value.
        """
        self.edges_ = []
        # X.T has a line (n,) for each column
        for j, has_value in enumerate(~np.isnan(X.T)):
            self.edges_.append(edges_of(j, has_value) if has_value.any() else np.empty(0))
        self.n_bins_ = np.array([max(len(edges) - 1, 0) for edges in self.edges_])  # K + 1 boundaries have K bins
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
        check_least(1, n_bins=self.n_bins)  # ValueError unless a whole number of at least 1
        with naming("X"):  # errors of the check then name this argument
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        # boundaries of each column, from its values alone; a missing cell tells nothing of the range
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
        check_least(1, max_cuts=self.max_cuts)  # ValueError unless a whole number of at least 1
        alpha = float(checked_numbers("alpha", self.alpha, ()))
        with naming("X", "y"):  # errors of the checks then name these arguments
            table, labels = validate_data(
                self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
            )
            check_classification_targets(labels)
        classes, index = np.unique(labels, return_inverse=True)  # and (n,) number of the class of each row
        self.log_evidence_ = np.zeros(table.shape[1])

        def edges_of(j: int, has_value: np.ndarray) -> np.ndarray:
            """Boundaries of column j, from the rows with a value there; notes the evidence of its bins."""
            values = table[has_value, j]
            # the m places between neighbouring values where a cut may be best, and the rows of each class between them
            candidates = _candidate_cuts(values, index[has_value], len(classes), self.max_cuts)
            partition = _best_partition(candidates.counts, alpha)  # which of the candidate cuts stay
            self.log_evidence_[j] = partition.evidence
            inner = candidates.boundaries[partition.cuts]  # `cuts` are positions among the m candidates
            return np.concatenate([[values.min()], inner, [values.max()]])

        return self._set_edges(table, edges_of)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def binned(X: np.ndarray, inner: list[np.ndarray]) -> np.ndarray:
    """Number of the bin of each cell, (n, d); NaN if the cell is missing.

    `inner` has the inner boundaries of each column, ascending. A value on a boundary is in the bin below it.
    """
    # `searchsorted` counts the boundaries that are below a number: of the boundaries 2 and 4, the number 2 has 0 below,
    # 3 has 1, and 5 has 2. That is the number of its bin. Results are by column, and turned into (n, d).
    bins = [np.searchsorted(ends, x) for x, ends in zip(X.T, inner, strict=True)]
    return np.where(np.isnan(X), np.nan, np.reshape(bins, X.T.shape).T)


def _equal_widths(values: PerRow, n_bins: int) -> Float[np.ndarray, " m"]:
    """Boundaries of bins of equal width over the range of the values, without the bins that hold none of them.

    Where bins are empty, the two boundaries around a run of them become one, in the middle. For example, four bins of
    values from 0 to 8 have the inner boundaries 2, 4 and 6. If no value lies above 2 and up to 6, the two bins between
    them are empty, and the boundaries are 0, (2 + 6)/2 = 4 and 8.

    Parameters
    ----------
    values : (n,) numbers, none of them missing
    n_bins : number of bins before empty ones are removed

    Returns
    -------
    K + 1 boundaries of the K bins that hold values, from the smallest to the largest value
    """
    low = values.min()
    high = values.max()
    share = np.arange(1, n_bins) / n_bins  # 1/n_bins, 2/n_bins, … of the way from low to high
    inner = low * (1 - share) + high * share  # (n_bins − 1,)
    lower_ends = np.concatenate([[-np.inf], inner])  # (n_bins,) of each bin; the end bins have no outer boundary
    upper_ends = np.concatenate([inner, [np.inf]])

    # The numbers of the bins that hold a value, ascending: a value is in the bin of as many boundaries as are below it.
    # In the example above, the values 1 and 7 are in the bins 0 and 3.
    occupied = np.unique(np.searchsorted(inner, values))

    # A boundary between each occupied bin and the next: their ends are one number if no empty bin lies between. In the
    # example, bin 0 ends at 2 and bin 3 starts at 6.
    ends = upper_ends[occupied[:-1]]
    next_starts = lower_ends[occupied[1:]]
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

    A cut inside such a run is never best, as the evidence is convex in the rows of one class that move over a cut. For
    example, if the values 1, 2, 3, 4 have rows of the classes a, a, b, and both, the cuts are after 2 and after 3.

    Parameters
    ----------
    values : (n,) of the column
    index : (n,) number of the class of each row
    max_cuts : largest number of cuts; of more, those at even steps of rank remain
    """
    # rows of each class at each of v distinct values
    distinct, position = np.unique(values, return_inverse=True)  # (v,) ascending, and (n,) where each row stands there
    # a table of two-way counts by one `bincount`: with 3 classes, value 1 and class 2 are the cell 1 · 3 + 2 = 5
    cell = position * n_classes + index  # (n,)
    counts = np.bincount(cell, minlength=len(distinct) * n_classes).reshape(-1, n_classes)  # (v, c)

    # a value is pure if all of its rows are of one class; no cut is needed between two pure values of the same class
    is_pure = (counts > 0).sum(1) == 1  # (v,)
    first_class = counts.argmax(1)  # (v,) of a pure value its class
    is_inside_run = is_pure[:-1] & is_pure[1:] & (first_class[:-1] == first_class[1:])  # (v − 1,)
    cuts = np.flatnonzero(~is_inside_run)  # cut i lies between the distinct values i and i + 1

    # of too many cuts those at the middles of `max_cuts` equal parts of their ranks: (2 i + 1)/(2 max_cuts) of them
    if len(cuts) > max_cuts:
        middles = (2 * np.arange(max_cuts) + 1) * len(cuts) // (2 * max_cuts)
        cuts = cuts[middles]

    # the values between two cuts are one segment, whose counts are added up
    segment_starts = np.concatenate([[0], cuts + 1])  # the first value of each segment
    # `reduceat` adds the lines from each start up to the next: starts 0 and 2 of 3 lines give lines 0 + 1, and line 2
    segments = np.add.reduceat(counts, segment_starts)  # (m + 1, c)
    return _Candidates(segments, (distinct[cuts] + distinct[cuts + 1]) / 2)


class _Partition(NamedTuple):
    """Neighbouring segments merged into bins.

    Fields
    ------
    cuts : the cuts between bins, one fewer than bins, ascending. Cut i lies between segments i and i + 1
    evidence : log p(y | bins) in nats; with log p(bins) where the whole criterion is meant
    """

    cuts: np.ndarray
    evidence: float


def _best_partition(counts: Int[np.ndarray, "m c"], alpha: float) -> _Partition:
    """The bins of the largest log p(y | bins) + log p(bins), made of m neighbouring segments.

    Dynamic programming finds the best bins quickly if every bin costs the same price. The prior of I bins,
    log p(bins) = −log n − log C(n + I − 1, I − 1) with n rows, has no such price. But it is convex in I, so it lies
    nowhere below its tangents, which are linear in I: the price of a bin is minus their slope. The search tries the
    tangent at one number of bins k after another:

    - Under the tangent at k, let the best partition have j bins. It is a candidate.
    - What the prior is above the tangent grows with the distance from k. A number of bins between k and j is no better
      than j under the tangent, and gains less from this difference. So all numbers from k to j are settled: in

        evidence(I) + log p(I bins) = [evidence(I) + tangent(I)] + [log p(I bins) − tangent(I)]

      the first bracket is largest at I = j, and the second is larger at j than at any I between k and j.

    Parameters
    ----------
    counts : rows of each of c classes in each segment
    alpha : concentration of the Dirichlet prior of the class probabilities in a bin

    Returns
    -------
    the cuts between bins, and log p(y | bins) + log p(bins) in nats
    """
    m = len(counts)
    n = int(counts.sum())
    bins = _log_evidence_of_bins(counts, alpha)  # log p(y | bin): entry [e][s] is of a bin of segments s … e

    # log p(bins): entry I is of I bins, for I = 1 … m + 1. Entry 0 means nothing: it stands there so that the number of
    # bins is the index. The price of a bin under the tangent at I is by how much log p(bins) falls from I to I + 1,
    # which is minus the difference of neighbours. With factorials as Γ functions, −log C(n + I − 1, I − 1) is
    # log Γ(I) + log Γ(n + 1) − log Γ(n + I).
    n_bins = np.arange(1, m + 2)
    log_prior_from_1 = gammaln(n_bins) + gammaln(n + 1) - gammaln(n + n_bins) - np.log(n)
    log_prior = np.concatenate([[np.nan], log_prior_from_1])
    price = -np.diff(log_prior)

    one_bin = bins[-1][0]  # of all segments
    best = _Partition(np.empty(0, int), float(one_bin + log_prior[1]))
    unsettled = np.arange(1, m + 1)  # numbers of bins that may still be better
    # each round settles k at least, so that it ends; starting in the middle settles many numbers at once
    while len(unsettled):
        k = unsettled[len(unsettled) // 2]
        priced = _priced_partition(bins, price[k])  # the best cuts if each bin costs this price
        j = len(priced.cuts) + 1
        evidence = priced.evidence + log_prior[j]
        if evidence > best.evidence:
            best = _Partition(priced.cuts, float(evidence))

        # what lies from k to j, ends included, can be no better than j, which has been tried
        is_below = unsettled < min(j, k)
        is_above = unsettled > max(j, k)
        unsettled = unsettled[is_below | is_above]
    return best


def _log_evidence_of_bins(counts: Int[np.ndarray, "m c"], alpha: float) -> list[np.ndarray]:
    """Log evidence in nats of the labels in every bin that can be made: entry [e][s] is that of segments s … e.

    Class probabilities have a Dirichlet prior and are integrated out. With N rows in the bin, N_j of them of class j,

        Σ_j [log Γ(N_j + α) − log Γ(α)] − [log Γ(N + c α) − log Γ(c α)]

    Parameters
    ----------
    counts : rows of each of c classes in each of m segments
    alpha : concentration α of the Dirichlet prior

    Returns
    -------
    m arrays: that of the last segment e has e + 1 entries, one for each first segment s = 0 … e
    """
    m, c = counts.shape

    # rows of a bin are a difference: those before the segment that follows the bin, less those before its first segment
    before = np.concatenate([np.zeros((1, c), int), counts.cumsum(0)])  # (m + 1, c) before each segment, by class
    rows_before = before.sum(1)  # (m + 1,) of all classes

    # both differences of log Γ for 0, 1, … n rows, so that they are looked up by the number of rows
    possible_rows = np.arange(rows_before[-1] + 1)
    log_gamma_class = gammaln(possible_rows + alpha) - gammaln(alpha)
    log_gamma_bin = gammaln(possible_rows + c * alpha) - gammaln(c * alpha)

    bins = []
    for following in range(1, m + 1):  # the segment that follows the bin, so that the last one in it is the one before
        # segments s … following − 1, for s = 0, 1, …: the rows before the following one less those before s
        rows_by_class = before[following] - before[:following]  # (following, c) for each first segment
        rows = rows_before[following] - rows_before[:following]  # (following,)
        bins.append(log_gamma_class[rows_by_class].sum(1) - log_gamma_bin[rows])
    return bins


def _priced_partition(bins: list[np.ndarray], price: float) -> _Partition:
    """The cuts with the largest sum over bins of log evidence − price, and their log evidence without the price.

    Dynamic programming: the best bins of the first t segments are a last bin, of segments s … t − 1, and the best bins
    of the s segments before it. The best s is found for t = 1, 2, … up to all segments.

    Parameters
    ----------
    bins : entry [e][s] is the log evidence of a bin of segments s … e
    price : what each bin costs, in nats
    """
    n_segments = len(bins)
    best_sum = np.zeros(n_segments + 1)  # [t]: of log evidence − price over the bins of the first t segments
    last_start = np.zeros(n_segments + 1, int)  # [t]: s, the first segment of the last of these bins
    for t, log_evidence in enumerate(bins, 1):  # (t,) of the last bin s … t − 1, for each s
        # the best sum of the s segments before, plus the evidence of a last bin that starts at s
        total = best_sum[:t] + log_evidence
        last_start[t] = total.argmax()
        best_sum[t] = total[last_start[t]] - price

    # From the last bin backwards: before a bin that starts at segment s are the best bins of the first s segments. For
    # example, of 5 segments the last bin starts at 3, and of 3 segments it starts at 0: the only cut is number 2.
    cuts: list[int] = []
    s = last_start[n_segments]
    while s > 0:
        cuts.append(s - 1)  # cut i lies between segments i and i + 1
        s = last_start[s]
    n_bins = len(cuts) + 1
    return _Partition(np.array(cuts[::-1], int), best_sum[n_segments] + price * n_bins)
