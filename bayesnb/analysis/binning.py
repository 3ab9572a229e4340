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
    bins = np.empty(X.shape)
    for j, boundaries in enumerate(inner):
        # `searchsorted` counts the boundaries that are below a number: of the boundaries 2 and 4, the number 2 has 0
        # below, 3 has 1, and 5 has 2. That is the number of its bin.
        bins[:, j] = np.searchsorted(boundaries, X[:, j])
    return np.where(np.isnan(X), np.nan, bins)


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
    # inner boundaries at equal steps from the smallest to the largest value; in the example 2, 4 and 6
    low = values.min()
    high = values.max()
    share = np.arange(1, n_bins) / n_bins  # 1/n_bins, 2/n_bins, … of the way from low to high
    inner = low * (1 - share) + high * share  # (n_bins − 1,)

    # where each bin starts and ends; the first and the last bin are open
    starts = np.concatenate([[-np.inf], inner])  # (n_bins,)
    ends = np.concatenate([inner, [np.inf]])  # (n_bins,)

    # The numbers of the bins that hold a value, ascending. `searchsorted` counts the boundaries below a value, which is
    # the number of its bin. In the example the values lie in the bins 0 and 3.
    bin_of_value = np.searchsorted(inner, values)  # (n,)
    occupied = np.unique(bin_of_value)

    # One boundary between each occupied bin and the next occupied one. In the example bin 0 ends at 2 and bin 3 starts
    # at 6, so it is 4. Without empty bins between them, the end of one is the start of the next.
    ends_of_occupied = ends[occupied[:-1]]
    starts_of_next = starts[occupied[1:]]
    between = (ends_of_occupied + starts_of_next) / 2
    return np.concatenate([[low], between, [high]])


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

    For example, let the values 1, 2, 3 have rows of the class a, a and b, and the value 4 rows of both classes. The
    cuts are at 2.5 and 3.5. A cut at 1.5 would be inside a run of a, where it is never best: the evidence is convex in
    the number of rows of one class that move over a cut.

    Parameters
    ----------
    values : (n,) of the column
    index : (n,) number of the class of each row
    max_cuts : largest number of cuts; of more, those at even steps of rank remain

    Returns
    -------
    `boundaries`, the numbers at which the m cuts are, and `counts`, the rows of each class in the m + 1 segments
    between them; in the example the segments are {1, 2}, {3} and {4}
    """
    # rows of each class at each of v distinct values
    distinct, position = np.unique(values, return_inverse=True)  # (v,) ascending, and (n,) which of them each row has
    counts = np.zeros((len(distinct), n_classes), int)  # (v, c)
    np.add.at(counts, (position, index), 1)  # one more for the value and the class of each row

    # cut i lies between the distinct values i and i + 1; in the example these are the cuts 1 and 2
    cuts = _at_even_steps(_cuts_outside_of_runs(counts), max_cuts)
    boundaries = (distinct[cuts] + distinct[cuts + 1]) / 2

    # The values between two cuts are a segment, whose counts are added up: `reduceat` adds the rows of a table from one
    # start up to the next. In the example the starts are 0, 2, 3: the values 0 and 1, the value 2, and the value 3.
    first_values = np.concatenate([[0], cuts + 1])  # (m + 1,) of the segments, by position
    counts_of_segments = np.add.reduceat(counts, first_values)  # (m + 1, c)
    return _Candidates(counts_of_segments, boundaries)


def _at_even_steps(cuts: Int[np.ndarray, " m"], max_cuts: int) -> Int[np.ndarray, " k"]:
    """At most `max_cuts` of the cuts: those in the middles of equal parts. Of 6 cuts and 2 parts these are 1 and 4."""
    if len(cuts) <= max_cuts:
        return cuts
    middles = (2 * np.arange(max_cuts) + 1) * len(cuts) // (2 * max_cuts)
    return cuts[middles]


def _cuts_outside_of_runs(counts: Int[np.ndarray, "v c"]) -> Int[np.ndarray, " m"]:
    """Positions i such that the values i and i + 1 do not both have rows of one and the same class alone.

    `counts` has the rows of each class at each of v ascending values. For example, with the rows (2, 0), (1, 0), (0, 3)
    and (1, 1) the positions are 1 and 2.
    """
    has_one_class = (counts > 0).sum(1) == 1  # (v,)
    class_of_value = counts.argmax(1)  # (v,) the class, where there is only one
    both_have_one_class = has_one_class[:-1] & has_one_class[1:]  # (v − 1,) of each value and the next
    same_class = class_of_value[:-1] == class_of_value[1:]
    return np.flatnonzero(~(both_have_one_class & same_class))


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

    Which I bins are best is quickly found if every bin costs the same price, and log p(bins) is linear in I. It is not
    linear, but convex in I. So one line after the other stands for it: the tangent at I = k, on which a bin costs minus
    the slope. Let j be the number of bins of the best partition under this tangent. In

        evidence(I) + log p(I bins) = [evidence(I) + tangent(I)] + [log p(I bins) − tangent(I)]

    the first bracket is largest at I = j. The second one grows with the distance of I from k, so that it is larger at j
    than at any I between k and j. No number of bins from k to j is therefore better than j. These numbers are settled,
    and the next k is one of the others.

    Parameters
    ----------
    counts : rows of each of c classes in each segment
    alpha : concentration of the Dirichlet prior of the class probabilities in a bin

    Returns
    -------
    the cuts between bins, and log p(y | bins) + log p(bins) in nats
    """
    m = len(counts)
    log_evidence = _log_evidence_of_bins(counts, alpha)  # log p(y | bin): [e][s] is of a bin of the segments s … e
    log_prior = _log_prior_of_bins(int(counts.sum()), m + 1)  # log p(bins): [I] is of I bins
    price = -np.diff(log_prior)  # [I]: by how much log p(bins) falls from I to I + 1 bins

    # to begin with, one bin of all segments
    best = _Partition(np.empty(0, int), float(log_evidence[-1][0] + log_prior[1]))
    unsettled = np.arange(1, m + 1)  # numbers of bins that may still be better
    # each round settles k at least, so that it ends; starting in the middle settles many numbers at once
    while len(unsettled):
        k = unsettled[len(unsettled) // 2]
        priced = _priced_partition(log_evidence, price[k])  # the best cuts if each bin costs this price
        j = len(priced.cuts) + 1
        evidence = priced.evidence + log_prior[j]
        if evidence > best.evidence:
            best = _Partition(priced.cuts, float(evidence))

        # the numbers from k to j are settled
        is_below = unsettled < min(j, k)
        is_above = unsettled > max(j, k)
        unsettled = unsettled[is_below | is_above]
    return best


def _log_prior_of_bins(n: int, max_bins: int) -> np.ndarray:
    """log p(bins) = −log n − log C(n + I − 1, I − 1) of I bins of n rows, as entry I, for I = 1 … max_bins.

    Entry 0 is NaN: there are no partitions into 0 bins.
    """
    n_bins = np.arange(1, max_bins + 1)
    # with factorials as Γ functions, −log C(n + I − 1, I − 1) = log Γ(I) + log Γ(n + 1) − log Γ(n + I)
    log_prior = gammaln(n_bins) + gammaln(n + 1) - gammaln(n + n_bins) - np.log(n)
    return np.concatenate([[np.nan], log_prior])


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

    # Rows before each segment. The rows of a bin are then a difference: for the counts 3, 4, 2 of a class these are
    # 0, 3, 7, 9, and the segments 1 and 2 together have 9 − 3 = 6.
    no_rows = np.zeros((1, c), int)
    rows_before_by_class = np.concatenate([no_rows, counts.cumsum(0)])  # (m + 1, c)
    rows_before = rows_before_by_class.sum(1)  # (m + 1,) of all classes

    # both differences of log Γ for 0, 1, … n rows, so that they are looked up by the number of rows
    possible_rows = np.arange(rows_before[-1] + 1)
    log_gamma_class = gammaln(possible_rows + alpha) - gammaln(alpha)
    log_gamma_bin = gammaln(possible_rows + c * alpha) - gammaln(c * alpha)

    log_evidence = []
    for last in range(m):
        # the bins of the segments s … last, for each first segment s = 0 … last
        end = last + 1
        rows_by_class = rows_before_by_class[end] - rows_before_by_class[:end]  # (last + 1, c)
        rows = rows_before[end] - rows_before[:end]  # (last + 1,)
        log_evidence.append(log_gamma_class[rows_by_class].sum(1) - log_gamma_bin[rows])
    return log_evidence


def _priced_partition(log_evidence: list[np.ndarray], price: float) -> _Partition:
    """The cuts with the largest sum over bins of log evidence − price, and their log evidence without the price.

    Dynamic programming: the best bins of the first t segments are a last bin, of segments s … t − 1, and the best bins
    of the s segments before it. The best s is found for t = 1, 2, … up to all segments.

    Parameters
    ----------
    log_evidence : entry [e][s] is that of a bin of the segments s … e
    price : what each bin costs, in nats
    """
    n_segments = len(log_evidence)
    best_sum = np.zeros(n_segments + 1)  # [t]: of log evidence − price over the best bins of the first t segments
    last_start = np.zeros(n_segments + 1, int)  # [t]: the first segment s of the last of these bins
    for t in range(1, n_segments + 1):
        # for each s = 0 … t − 1: the best sum of the s segments before, and the evidence of a last bin s … t − 1
        total = best_sum[:t] + log_evidence[t - 1]  # (t,)
        last_start[t] = total.argmax()
        best_sum[t] = total[last_start[t]] - price

    cuts = _cuts_before(last_start)
    n_bins = len(cuts) + 1
    return _Partition(cuts, best_sum[n_segments] + price * n_bins)


def _cuts_before(last_start: Int[np.ndarray, " m"]) -> Int[np.ndarray, " cuts"]:
    """The cuts between bins, ascending, read off backwards from the last bin; cut i lies behind segment i.

    `last_start[t]` is the first segment of the last bin, if only the first t segments are cut into bins. For example,
    of 5 segments the last bin starts at 3, and of the 3 segments before it the last bin starts at 0. So the only cut is
    number 2, between the segments 2 and 3.
    """
    cuts: list[int] = []
    start = last_start[-1]  # of the last bin of all segments
    while start > 0:
        cuts.append(start - 1)
        start = last_start[start]  # of the last bin of the segments before
    return np.array(cuts[::-1], int)
