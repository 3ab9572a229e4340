"""Forward selection of the features of a categorical naive Bayes model, the whole procedure of SPSS.

One pass over the rows collects the counts N_jmk: rows of class k with category m of predictor j. From there on

    π_k = (N_k + λ) / (N + K λ),    p_jmk = (N_jmk + f) / (N_jk + M_j f),    N_jk = Σ_m N_jmk

with N rows (their weight, where rows are weighted), K classes and M_j observed categories. Missing cells are left out:
of N_jk, and of every product below. The average log-likelihood of a set J of predictors, in nats a row,

    l̄(J) = 1/N Σ_i log p(y_i | x_i) = A(J) + B(J)
    A(J) = 1/N [Σ_k N_k log π_k + Σ_{j∈J} Σ_mk N_jmk log p_jmk]       from the counts alone
    B(J) = −1/N Σ_i log Σ_k π_k Π_{j∈J} p_{j x_ij k}                  from the rows, or from simulated rows

grows set by set: the predictor that gives the largest l̄(J ∪ {j}) is added. Adding j to a set with class probabilities
q_ik ∝ π_k Π_J p lowers B by the mean of log Σ_k q_ik p_{j x_ij k}: all that has to be computed for a candidate.

The chapter prints 1/N′ in B(J), where N′ counts the rows with some predictor of J. The rows left out add log 1 = 0 to
the sum, so that only the divisor differs: `denominator="N′"` is the chapter's, and A and B are then means over
different rows.
"""

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..estimators import CategoricalNB
from ..estimators._input import Columns, align, checked_rows, naming, refuse_no_weight
from ..estimators._learnt import replace_learnt
from ..estimators._suited import split_labels
from ..estimators._view import learn_columns
from ..numerics.arrays import Bool, Float, Int, PerRow, Table
from ..numerics.progress import tracked
from ..numerics.random import generator
from ..numerics.special import log_normalize, most_probable
from ..numerics.supports import check_choice, check_least, checked_numbers
from ..numerics.weights import RowWeights, row_weights
from ..posterior.predicted import ProbaOfLog
from ..tables.names import did_you_mean, listed

Codes: TypeAlias = Int[np.ndarray, "d n"]  # category of each cell, by predictor; M_j is a missing cell
_SIMULATED = 1000  # rows of the simulated B(J)


@dataclass(frozen=True)
class SmoothedModel:
    """The categorical model of all predictors, of which that of each set is a part.

    Its estimates are class shares π_k = (N_k + λ) / (N + K λ) and, of category m of predictor j in class k,
    p_jmk = (N_jmk + f) / (N_jk + M_j f), where M_j is the number of categories and missing cells count nowhere.

    Fields
    ------
    class_count : (c,)                              N_k, the weight of the rows of each class
    log_pi : (c,)                                   log π_k
    counts : by predictor, (c, M_j)                 N_jmk
    p : by predictor, (c, M_j + 1)                  p_jmk, with 1 for a missing cell, which has the code M_j
    alpha, class_alpha : (d,) and (c,)              the pseudo-counts f and λ
    """

    class_count: np.ndarray
    log_pi: np.ndarray
    counts: list[np.ndarray]
    p: list[np.ndarray]
    alpha: np.ndarray
    class_alpha: np.ndarray

    @classmethod
    def of(
        cls,
        codes: Codes,
        label: Int[np.ndarray, " n"],
        weight: PerRow,
        levels: Int[np.ndarray, " d"],
        c: int,
        *,
        alpha: Any = None,
        class_alpha: Any = None,
    ) -> Self:
        """The class shares π_k, and the share p_jmk of each category of each predictor in each class, from n rows.

        Parameters
        ----------
        codes : (d, n) category of each cell, 0 … M_j − 1, a row of the array for each predictor; M_j is a missing cell
        label : (n,) number of the class of each row
        weight : (n,) weight of each row
        levels : (d,) M_j, the number of categories of each predictor
        c : number of classes
        alpha : pseudo-count f of each category, one number or (d,); None is 1/N, where N is the weight of all rows
        class_alpha : pseudo-count λ of each class, one number or (c,); None is 1/N
        """
        # the pseudo-counts f of each predictor and λ of each class; a single number is repeated
        n = weight.sum()
        f = checked_numbers("alpha", 1 / n if alpha is None else alpha, (len(codes),))  # (d,)
        lam = checked_numbers("class_alpha", 1 / n if class_alpha is None else class_alpha, (c,))  # (c,)

        # π_k = (N_k + λ) / (N + Σ λ), the share of each class with pseudo-counts, which keep it from being 0
        class_count = np.bincount(label, weight, c)  # (c,)
        log_pi = np.log(class_count + lam) - np.log(n + lam.sum())

        # p_jmk = (N_jmk + f) / (N_jk + M_j f), predictor by predictor
        counts = []
        p = []
        for predictor_codes, m, pseudo in zip(codes, levels, f, strict=True):
            # The weight of the rows of each class with each code; the last column, of the code m, has the missing
            # cells. For example, in one class two categories and the codes 0, 1, 1, 2 give (1, 2, 1).
            weight_of_codes = _weight_of_pairs(label, predictor_codes, weight, (c, int(m) + 1))  # (c, m + 1)
            count = weight_of_codes[:, :m]  # N_jmk, without the missing cells
            count_of_class = count.sum(1, keepdims=True)  # (c, 1) N_jk
            share = (count + pseudo) / (count_of_class + m * pseudo)  # (c, m) p_jmk
            counts.append(count)
            # a missing cell is left out of products over predictors: its factor is 1 in every class
            factor_of_missing = np.ones((c, 1))
            p.append(np.concatenate([share, factor_of_missing], axis=1))
        return cls(class_count, log_pi, counts, p, alpha=f, class_alpha=lam)

    def log_joint(self, codes: Codes, columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
        """log p(x_i, y = k) = log π_k + Σ_j log p_{j x_ij k} of each class k and row i, (c, n).

        Parameters
        ----------
        codes : (d, n) category of each cell
        columns : numbers of the predictors j; all others are left out
        """
        n_rows = codes.shape[1]
        log_joint = np.repeat(self.log_pi[:, None], n_rows, 1)  # (c, n) log π_k for every row
        for j in columns:
            log_p = np.log(self.p[j])  # (c, M_j + 1), with 0 in the last column, which is that of a missing cell
            # the column of each row's category: for three rows with the codes 2, 0, 2 the columns 2, 0, 2, as (c, 3)
            log_joint += log_p[:, codes[j]]
        return log_joint

    def simulate(self, m: int, rng: np.random.Generator) -> Codes:
        """Draw m rows from the model, as codes (d, m), with cells missing as often as in training rows of the class.

        The code M_j, one beyond the categories of predictor j, is a missing cell.
        """
        pi = np.exp(self.log_pi)
        pi = pi / pi.sum()  # the sum is 1 but for rounding, which `choice` does not accept
        y = rng.choice(len(pi), size=m, p=pi)  # (m,) the class of each row

        codes = np.empty((len(self.p), m), int)
        class_weight = np.where(self.class_count > 0, self.class_count, 1)  # (c,) 1 of a class without rows, not 0
        for j, p in enumerate(self.p):
            # In each class: the share of the training rows that have a value here, and the probability of each
            # category. These probabilities sum to that share, and what is missing to 1 is that of a missing cell.
            observed_share = self.counts[j].sum(1) / class_weight  # (c,)
            probability = p[:, :-1] * observed_share[:, None]  # (c, M_j)

            # Inverse of the distribution function: the code is the number of cumulated probabilities that a uniform
            # number reaches. For the probabilities 0.5 and 0.3 these are 0.5 and 0.8. The number 0.6 reaches the first,
            # so its code is 1. The number 0.9 reaches both, so its code is 2, that of a missing cell.
            cumulated = np.cumsum(probability, axis=1)  # (c, M_j)
            uniform = rng.random(m)
            is_reached = uniform[:, None] >= cumulated[y]  # (m, M_j), each row by the probabilities of its class
            codes[j] = is_reached.sum(1)
        return codes

    def is_known(self, codes: Codes) -> Bool[np.ndarray, "d n"]:
        """Whether each cell has a category; the last code of a predictor, M_j, is a missing cell."""
        known_of_predictors = []
        for predictor_codes, p in zip(codes, self.p, strict=True):
            n_categories = p.shape[1] - 1  # the last column stands for a missing cell
            known_of_predictors.append(predictor_codes < n_categories)
        return np.stack(known_of_predictors)

    def terms_of_a(self) -> Float[np.ndarray, " d"]:
        """Σ_mk N_jmk log p_jmk / N, the term that each predictor brings to A(J), the part of l̄(J) made of counts.

        l̄(J) is the mean log-likelihood of the labels given the predictors of a set J, N_jmk the weight of the rows of
        class k with category m of predictor j, p_jmk the share of this category in the class, and N the weight of all.
        """
        n = self.class_count.sum()
        terms = []
        for count, p in zip(self.counts, self.p, strict=True):
            log_p = np.log(p[:, :-1])  # (c, M_j), without the column of a missing cell
            terms.append((count * log_p).sum() / n)
        return np.array(terms)

    def add_one_by_one(
        self,
        codes: Codes,
        weight: PerRow,
        start: Sequence[int],
        candidates: Sequence[int],
        steps: int,
        all_rows: bool,
    ) -> "SelectionPath":
        """Forward selection: the predictor that gives the largest l̄(J ∪ {j}) is added to the set J, `steps` times.

        l̄(J) = A(J) + B(J) is the mean log-likelihood of the labels given the predictors of a set J,

            A(J) = 1/N [Σ_k N_k log π_k + Σ_{j∈J} Σ_mk N_jmk log p_jmk]      from the counts N_k and N_jmk of N rows
            B(J) = −1/N Σ_i w_i log Σ_k π_k Π_{j∈J} p_{j x_ij k}              from rows x_i with weights w_i

        with π_k the share of class k, and p_jmk that of category m of predictor j in class k.

        Parameters
        ----------
        codes : (d, n) category of each cell of the rows of B(J), by predictor
        weight : (n,) w_i, the weight of these rows
        start : predictors of the initial set, by number
        candidates : predictors that may be added
        steps : largest number of predictors to add
        all_rows : whether N divides B(J); else N′, the weight of the rows with some predictor of J
        """
        # for the divisor of B(J): (n,) whether each row counts in it, and (d, n) whether each cell has a category
        is_known = self.is_known(codes)
        if all_rows:
            is_counted = np.ones(len(weight), bool)
        else:
            is_counted = np.logical_or.reduce(is_known[list(start)], axis=0)  # rows with some predictor of J

        # A(J) and log π_k Π_J p of the initial set. A predictor that enters adds a term to the first, and the logarithm
        # of a factor to the second.
        term = self.terms_of_a()  # (d,) what each predictor adds to A(J)
        a = self.class_count @ self.log_pi / self.class_count.sum() + term[list(start)].sum()
        log_joint = self.log_joint(codes, start)  # (c, n) log π_k Π_J p
        path = SelectionPath(list(start), added=[], log_likelihood=[])
        remaining = list(candidates)
        # `count` never ends, and the loop stops inside; `tracked` shows on a terminal how often it has been run
        for _ in tracked(itertools.count(), "selection", unit="features added"):
            # l̄(J) of the set as it is
            log_p = logsumexp(log_joint, 0)  # (n,) log p(x_i) = log Σ_k π_k Π_J p
            total = weight @ log_p
            path.log_likelihood.append(float(a - total / _weight_of_marked(weight, is_counted)))
            if not remaining or len(path.added) == steps:
                break

            # −B(J ∪ {j}) of every candidate j; rows that have the candidate, but no predictor of J, count now too
            rises = self._rises_with_each(remaining, codes, weight, log_joint, log_p)
            divisors = [_weight_of_marked(weight, is_counted | is_known[j]) for j in remaining]
            minus_b_with = (total + rises) / np.array(divisors)

            # the candidate with the largest l̄(J ∪ {j}) enters; A(J) is the same for all, so their terms of A suffice
            best = remaining.pop(int(np.argmax(term[remaining] - minus_b_with)))
            path.added.append(best)
            a += term[best]
            log_joint += np.log(self.p[best])[:, codes[best]]
            is_counted |= is_known[best]  # rows with some predictor of the larger set
        return path

    def _rises_with_each(
        self,
        candidates: Sequence[int],
        codes: Codes,
        weight: PerRow,
        log_joint: Float[np.ndarray, "c n"],
        log_p: PerRow,
    ) -> Float[np.ndarray, " candidates"]:
        """By how much Σ_i w_i log p(x_i) rises if a candidate j is added to the set J, for each of the candidates.

        p(x_i) is the probability of the cells of the predictors. With the class probabilities q_ik ∝ π_k Π_J p,

            Σ_k π_k Π_J p · p_{j x_ij k} = [Σ_k π_k Π_J p] · Σ_k q_ik p_{j x_ij k}

        So log p(x_i) rises by the logarithm of the last sum, and no product over J is computed again.

        Parameters
        ----------
        candidates : predictors by number
        codes : (d, n) category of each cell, by predictor
        weight : (n,) of each row
        log_joint : (c, n) log π_k Π_J p of the set J
        log_p : (n,) log Σ_k π_k Π_J p
        """
        q = np.exp(log_joint - log_p)  # (c, n) class probabilities given J
        rises = []
        for j in candidates:
            cell_p = self.p[j].take(codes[j], 1)  # (c, n) p_{j x_ij k}
            mean_cell_p = np.einsum("kn,kn->n", q, cell_p)  # (n,) Σ_k q_ik p_{j x_ij k}
            rises.append(weight @ np.log(mean_cell_p))
        return np.array(rises)


def _weight_of_marked(weight: PerRow, is_marked: Bool[np.ndarray, " n"]) -> float:
    """The weight of all marked rows, which divides the sum in B(J); 1 if none is marked, as the sum is 0 then."""
    return float(weight[is_marked].sum() or 1)


class SelectionPath(NamedTuple):
    """The sets of a forward selection, from the initial one on.

    Fields
    ------
    start : predictors of the initial set
    added : predictors in the order of their entry
    log_likelihood : l̄(J) of the initial set, and of each that follows
    """

    start: list[int]
    added: list[int]
    log_likelihood: list[float]

    @property
    def sets(self) -> list[list[int]]:
        """The predictors of each set, by number: the initial ones, and those added up to it.

        For example, the initial set (4,) to which 2 and 7 were added gives (4,), (4, 2) and (4, 2, 7).
        """
        return [[*self.start, *self.added[:size]] for size in range(len(self.log_likelihood))]


# --- what a search is about -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a fit, and what each of them is used for.

    Fields
    ------
    label : (n,) number of the class of each row; 0 where the label is missing
    weights : of the rows, and whether they count rows or are importance
    has_label : (n,) whether the label of a row is given
    is_used : (n,) whether a row has a label, weight, and some predictor
    test_weight : (n,) the part of the weight of each row that is held out; all the rest is for training
    """

    label: Int[np.ndarray, " n"]
    weights: RowWeights
    has_label: Bool[np.ndarray, " n"]
    is_used: Bool[np.ndarray, " n"]
    test_weight: PerRow

    @property
    def has_weight(self) -> Bool[np.ndarray, " n"]:
        """Whether each row counts at all."""
        return self.weights.values > 0

    @property
    def training_weight(self) -> PerRow:
        """The weight of each row that is not held out."""
        return self.weights.values - self.test_weight

    @property
    def is_training(self) -> Bool[np.ndarray, " n"]:
        """Whether at least a part of the weight of a row is for training."""
        return self.is_used & (self.training_weight > 0)

    @property
    def is_held_out(self) -> Bool[np.ndarray, " n"]:
        """Whether at least a part of the weight of a row is held out."""
        return self.is_used & (self.test_weight > 0)

    def using_only(self, has_predictor: Bool[np.ndarray, " n"]) -> "_Rows":
        """The same rows, of which only those with some predictor are used."""
        return replace(self, is_used=self.is_used & has_predictor)

    def samples(self) -> dict[str, PerRow]:
        """The weight of each row in each sample, (n,) by name: "training", and "test" if rows are held out.

        It is 0 for a row outside of the sample. A row that counts several times may be in both.
        """
        samples = {"training": self.training_weight * self.is_training}
        if self.is_held_out.any():
            samples["test"] = self.test_weight * self.is_held_out
        return samples

    def ignored(self) -> dict[str, int]:
        """How many rows are ignored, by the first reason that holds of each: no label, weight 0, or no predictor.

        Of the rows with a label and a weight, those that are not used have no cell in a remaining column.
        """
        has_both = self.has_label & self.has_weight
        return {
            "no target": int((~self.has_label).sum()),
            "no weight": int((self.has_label & ~self.has_weight).sum()),
            "no predictor": int((has_both & ~self.is_used).sum()),
        }


class _Predictors(NamedTuple):
    """All cells as numbers of categories.

    Fields
    ------
    names : of all predictors
    codes : the category of each cell among those of training; M_j stands for a missing cell and for any other category
    sizes : (d,) M_j, the number of categories in training
    usable : predictors with at least two categories
    """

    names: list[Any]
    codes: Codes
    sizes: Int[np.ndarray, " d"]
    usable: list[int]

    @classmethod
    def of(cls, names: list[Any], columns: list[np.ndarray], is_training: Bool[np.ndarray, " n"]) -> Self:
        """Number the categories of each column in the order in which training rows show them.

        Parameters
        ----------
        names : of the columns
        columns : (n,) cells of each column; None, NaN and pandas.NA are missing
        is_training : (n,) whether a row is used for training, so that its categories count
        """
        # For example, the training cells b, a, None, b have the categories b and a. Their codes are 0, 1, 2, 0: None is
        # missing and has the code 2, the number of categories.
        sizes = np.zeros(len(columns), int)
        codes = np.zeros((len(columns), len(is_training)), int)
        for j, cells in enumerate(columns):
            categories = pd.unique(cells[is_training & pd.notna(cells)])
            sizes[j] = len(categories)

            # `get_indexer` answers −1 for what is no category of training: missing cells, and categories of other rows
            positions = pd.Index(categories).get_indexer(cells)  # (n,)
            codes[j] = np.where(positions < 0, len(categories), positions)

        usable = [j for j, size in enumerate(sizes) if size > 1]  # a single category separates no classes
        return cls(names, codes, sizes, usable)

    def has_usable(self) -> Bool[np.ndarray, " n"]:
        """Whether each row has a cell of some usable predictor."""
        is_known = self.codes < self.sizes[:, None]  # (d, n): the code M_j is that of a missing cell
        return np.any(is_known[self.usable], axis=0)

    def names_of(self, predictors: Sequence[int]) -> tuple[Any, ...]:
        """The names of some of the predictors."""
        return tuple(self.names[j] for j in predictors)


class _Task(NamedTuple):
    """What a forward selection is about.

    Fields
    ------
    rows, predictors : the data
    forced : predictors of the initial set
    model : the model of all predictors
    criterion : "exact", "bic" or "test"
    """

    rows: _Rows
    predictors: _Predictors
    forced: list[int]
    model: SmoothedModel
    criterion: str


@dataclass(frozen=True, eq=False)
class SelectionReport:
    """The result of forward selection; `print` shows it as a table.

    Fields
    ------
    steps : data frame with one row for each set of the sequence. `added` is the predictor that made the set (None for
        the initial set), and `n_features` is its size J. `log_likelihood` is l̄(J) on the training rows in nats.
        `pseudo_bic` is −l̄(J) + ½ J log N / N. `test_log_likelihood` is l̄(J) on the held-out rows, if there are any.
        `best` marks the chosen set
    selected : predictors of the chosen set, by name or position, in the order in which they were added
    forced : the selected predictors that were in the initial set
    dropped : predictors with fewer than two observed categories, which cannot separate the classes
    ignored : number of ignored rows by reason: "no target", "no weight", and "no predictor" (apart from dropped ones)
    error : share of rows that the chosen set classifies wrongly
    error_on : "test" or "training": the rows on which `error` is measured
    classification : data frame with one row a class and sample. Its columns are `sample` ("training" or "test"), the
        class `observed`, the weight of its rows by predicted class, and the share `correct`
    scale : columns that `SPSSNaiveBayes` cut into bins, by name or position
    settings : the settings used: numbers of rows, the criterion, and how B(J) was computed

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> report = bayesnb.ForwardSelection().fit(votes.X, votes.y).report_
    >>> [str(name) for name in report.selected]
    ['physician_fee_freeze', 'synfuels_corporation_cutback', 'adoption_of_the_budget_resolution']
    """

    steps: pd.DataFrame
    selected: tuple[Any, ...]
    forced: tuple[Any, ...]
    dropped: tuple[Any, ...]
    ignored: dict[str, int]
    error: float
    error_on: str
    classification: pd.DataFrame
    scale: tuple[Any, ...]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, for JSON; NaN becomes None."""
        plain = dict(vars(self))  # all fields by name; the two tables are replaced below
        for name, table in (("steps", self.steps.reset_index()), ("classification", self.classification)):
            # as objects, since a column of numbers cannot hold None
            with_none = table.astype(object).where(table.notna(), None)
            plain[name] = with_none.rename(columns=str).to_dict("records")  # a dictionary for each row
        return plain

    def __str__(self) -> str:
        """The sequence of sets, the one chosen, what was left out and how rows are classified."""
        settings = self.settings

        # The table of sets: the initial set has no predictor that was added, and the chosen one is marked by a word in
        # place of True.
        initial = "(forced)" if self.forced else "(no predictor)"
        added = self.steps["added"].fillna(initial)
        steps = self.steps.assign(added=added, best=np.where(self.steps["best"], "best", ""))

        # the rows over which B(J), the part of l̄(J) that counts do not give, is an average
        mean_over = f"{settings['denominator']} rows"
        if settings["normalizer"] == "simulated":
            mean_over = "1,000 simulated rows"

        reasons = {"bic": "smallest pseudo-BIC", "test": "largest log-likelihood held out", "exact": "exact number"}
        reason = reasons[settings["criterion"]]
        ignored = [f"ignored: {count} rows with {lack}" for lack, count in self.ignored.items() if count]
        return "\n".join(
            [
                steps.to_string(),
                f"\n{settings['rows_training']} training rows, {settings['rows_test']} held out; B(J) by {mean_over}",
                f"selected ({reason}): {listed(self.selected, len(self.selected))}",
                f"cut into bins: {listed(self.scale, len(self.scale))}",
                f"classification error {self.error:.4f} on the {self.error_on} rows",
                f"with fewer than two categories: {listed(self.dropped, len(self.dropped))}",
                *ignored,
                f"\nobserved class by predicted class\n{self.classification.to_string()}",
            ]
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ForwardSelection(ProbaOfLog, SelectorMixin, ClassifierMixin, BaseEstimator):
    """Categorical naive Bayes with forward selection of the predictors by average log-likelihood.

    The search starts with the forced predictors. Each step adds the predictor that raises the average log-likelihood l̄
    of the classes most. The best set of this sequence is kept. At the end of a `Pipeline` this is a classifier. Inside
    a `Pipeline` it passes on the chosen columns.

    Parameters
    ----------
    max_features : int or "auto", default "auto"
        largest number of predictors that are added to the forced ones. "auto" is min{100, max(20, ⌊d/5⌋)} for d
        predictors that are not dropped, or all of them if there are fewer
    exact_features : int, optional
        exact number of predictors that are added to the forced ones. The last set of the sequence is then chosen, and
        `max_features` and `criterion` are not used
    force : sequence of columns, by name or position, default ()
        the initial set, which is part of every set
    criterion : "auto", "bic" or "test", default "auto"
        how the best set is chosen. "bic" takes the smallest pseudo-BIC −l̄(J) + ½ J log N / N on the training rows.
        "test" takes the largest l̄(J) on the held-out rows. "auto" is "test" if rows are held out, otherwise "bic". The
        smaller of two equally good sets wins
    test_share : float between 0 and 1, optional
        share of each class that is held out at random, if there is no `partition`. At least one row of each class stays
        in training. Neither the counts nor `estimator_` use the held-out rows
    partition : (n,) array, optional
        the rows for training: 1 or True marks them, and all other rows are held out
    alpha : float or (d,), optional
        the pseudo-count f of the cells, positive, by default 1/N
    class_alpha : float or (c,), optional
        the pseudo-count λ of the classes, positive, by default 1/N
    normalizer : "exact" or "simulated", default "exact"
        "exact" computes B(J) as an average over the training rows. "simulated" averages over rows drawn from the model
        of all predictors, 1,000 of them, which saves a pass over the training rows for each candidate
    denominator : "N" or "N'", default "N"
        the divisor of the sum in B(J). "N" is the number of all rows, as in A(J). "N'" is the number of rows with some
        predictor of J, as the chapter prints it. The two differ if cells are missing, see the Notes
    seed : int, Generator or None, default 0
        seed of the held-out rows and of the simulated rows

    Attributes
    ----------
    report_ : SelectionReport
        the sequence of sets; `print` shows it as a table
    estimator_ : CategoricalNB or None
        the model of the chosen columns, with the observed levels. Its input is the output of `transform`. It is None if
        no predictor is worth its penalty; the prediction is then the class shares
    support_ : (d,) bool
        whether each column was chosen
    held_out_ : (n,) bool
        whether each row was held out; where weights count rows, whether one of its units was
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Columns hold levels that `CategoricalNB` accepts: strings, categoricals or whole numbers. `EqualWidthBinner` makes
    levels from measurements, and `SPSSNaiveBayes` includes that step. Only observed categories count as levels.
    Predictors with at most one observed category are dropped, even if forced. Rows without a target, or without any
    remaining predictor, are ignored. The report lists both. All products leave out missing cells and categories that
    are not in the training rows. If classes are equally probable (to rounding), the prediction is the one with the
    larger π.

    With N′ a predictor that is often missing looks better than it is. B(J) is then an average over the rows that have
    it, while A(J) is an average over all rows. On breast cancer in ten bins with a tenth of the cells missing, N′ stops
    after one predictor. See the page "The sources, and where they slip".

    Simulated rows miss cells as often as the training rows of their class, so A(J) and B(J) refer to the same cells.
    B(J) then has a Monte Carlo error of about its spread over the rows divided by √1000. It is the average over
    rows of the model, not over real rows. If predictors are correlated within a class, as in the House votes, l̄(J) is
    too large, and pseudo-BIC keeps too many predictors. Hold out rows in this case; their l̄(J) is exact.

    References
    ----------
    IBM SPSS Statistics, chapter Naive Bayes Algorithms, for the procedure; command reference of NAIVEBAYES, subcommands
    SUBSET, for what the maximum counts (predictors beyond the forced ones) and the defaults of the two criteria, and
    TRAININGSAMPLE, for `partition`. Both leave open, and chosen here are: that J₀/5 in the automatic maximum is rounded
    down and J₀ counts the predictors that are not dropped, that an exact number counts beyond the forced ones too,
    held-out rows taken class by class, and missing cells in simulated rows.
    Natarajan & Pednault (2001), Using simulated pseudo data to speed up statistical predictive modeling from massive
    data sets: the idea of simulated rows.

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> model = bayesnb.ForwardSelection().fit(votes.X, votes.y)
    >>> len(model.get_feature_names_out())
    3
    """

    max_features: Any = "auto"
    exact_features: Any = None
    force: Any = ()
    criterion: Any = "auto"
    test_share: Any = None
    partition: Any = None
    alpha: Any = None
    class_alpha: Any = None
    normalizer: Any = "exact"
    denominator: Any = "N"
    seed: Any = 0

    _columns: Columns = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select the predictors and fit the model of the selected ones.

        Parameters
        ----------
        X : (n, d) levels, an array or a data frame; None, NaN and pandas.NA are missing cells
        y : (n,) labels; rows where it is None, NaN or pandas.NA are ignored
        sample_weight : (n,) non-negative weights. Of an integer type they count rows: the result is that of the
            repeated rows, and `test_share` holds out single units. Of a float type they are importance: a row is held
            out whole

        Raises
        ------
        ValueError
            if a setting is out of range, or if no row or no predictor remains. Also if `force` names an unknown column,
            or `exact_features` is larger than the number of predictors
        """
        learner = clone(self)  # so that an error in the middle leaves this estimator as it was
        learner._select_from(X, y, sample_weight)
        replace_learnt(self, vars(learner))
        return self

    def _select_from(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Select the predictors from the rows, and set every attribute that `fit` learns.

        `fit` calls it on a clone of the estimator, since an error in the middle leaves some attributes set.
        """
        criterion = self._check_settings()  # how the best set is chosen: "exact", "bic" or "test"
        rng = generator(self.seed)
        self._scale: list[int] = []  # columns cut into bins: none here, and filled in by `SPSSNaiveBayes`

        # 1. Which of the n rows are used: those with a label, a weight, and at least one cell that is not missing.
        table = self._checked(X, fresh=True)  # learns the names of the d columns
        labelled_rows = self._label_rows(table, y, sample_weight)  # learns the classes
        cells = self._read(table, fresh=True)  # d arrays (n,)
        has_cell = np.any([pd.notna(column) for column in cells], axis=0)  # (n,)
        usable_rows = labelled_rows.using_only(has_cell)

        # 2. A part of their weight is held out for a test, if the settings ask for it; all else is for training.
        split_rows = replace(usable_rows, test_weight=self._hold_out(usable_rows, rng))
        is_training = split_rows.is_training  # (n,)

        # 3. Cells become numbers of the categories that training rows have. A column with fewer than two categories is
        # dropped, and a row that has cells in such columns alone is not used.
        self._learn_categories(cells, is_training)
        categories = self._categories(cells)  # d arrays (n,)
        predictors = _Predictors.of(self._columns.labels.tolist(), categories, is_training)
        if not predictors.usable:
            raise ValueError(
                f"`X` has no column with two observed categories in the {split_rows.is_used.sum()} sample(s) that have "
                "a target and a predictor, so there is nothing to select from"
            )
        rows = split_rows.using_only(predictors.has_usable())

        # 4. The sequence of sets of predictors, and the best of them by the criterion.
        forced = [j for j in self._positions("force", self.force) if j in predictors.usable]
        task = _Task(rows, predictors, forced, self._model_of_all(predictors, rows), criterion)
        path = self._search(task, rng)
        steps = _steps(task, path)  # a data frame with one row for each set, and its criteria
        best = _best_step(steps, criterion)  # the position of the best row
        chosen = path.sets[best]  # the numbers of the columns of that set

        # 5. The model of the chosen columns, and what the user is told.
        self.support_ = np.isin(np.arange(len(predictors.names)), chosen)  # (d,) whether a column is chosen
        self.held_out_ = rows.is_held_out
        self._fit_chosen(task, categories)
        self.report_ = self._report(task, steps.assign(best=steps.index == best), chosen)

    def _label_rows(self, X: Any, y: Any, sample_weight: Any) -> _Rows:
        """The class number and weight of each of the n rows, of which none is held out yet; learns `classes_`.

        Rows without a label, or of weight 0, are marked as not used. For example, the labels a, missing, b, c with the
        weights 0, 1, 1, 1 have the classes b and c, the class numbers 0, 0, 0, 1, and only the last two rows are used.
        """
        with naming("X", "y"):  # errors of the checks then name these arguments
            labels, is_missing = split_labels(y)  # in the example a, b, c, and (n,) whether a row has none: F, T, F, F
            check_consistent_length(X, is_missing)
            check_classification_targets(labels)
        n = len(is_missing)
        weights = row_weights(sample_weight, n)
        refuse_no_weight(weights.values)  # ValueError if all are 0
        has_label = ~is_missing
        is_used = has_label & (weights.values > 0)  # (n,)

        # the labels of the used rows, b and c, and with them the classes
        is_used_of_labelled = is_used[has_label]  # of a, b, c: F, T, T
        used_labels = labels[is_used_of_labelled]
        self.classes_, class_numbers = np.unique(used_labels, return_inverse=True)
        label = np.zeros(n, int)
        label[is_used] = class_numbers
        return _Rows(label, weights, has_label=has_label, is_used=is_used, test_weight=np.zeros(n))

    # --- steps of the search ----------------------------------------------------------------------------------------

    def _model_of_all(self, predictors: _Predictors, rows: _Rows) -> SmoothedModel:
        """The categorical naive Bayes model of all predictors, estimated from the m training rows."""
        training = rows.is_training  # (n,)
        # `align` puts a pandas series in the order of the columns, or of the classes, by its index; a number or a list
        # stays as it is
        alpha = align("alpha", self.alpha, self._columns.names)
        class_alpha = align("class_alpha", self.class_alpha, self.classes_)
        return SmoothedModel.of(
            codes=predictors.codes[:, training],  # (d, m) numbers of the categories
            label=rows.label[training],  # (m,) class numbers
            weight=rows.training_weight[training],  # (m,)
            levels=predictors.sizes,  # (d,) numbers of categories
            c=len(self.classes_),
            alpha=alpha,
            class_alpha=class_alpha,
        )

    def _search(self, task: _Task, rng: np.random.Generator) -> SelectionPath:
        """The sequence of sets of predictors, from the forced ones on, each with one predictor more.

        The predictor that enters a set J is the one that makes its average log-likelihood largest. That is the mean
        over rows i of

            log p(y_i | x_iJ) = log p(y_i) + Σ_{j∈J} log p(x_ij | y_i) − log p(x_iJ)

        with x_iJ the cells of the predictors in J. The means of the first two terms follow from counts. The mean of
        −log p(x_iJ), called B(J), needs rows:

        - `normalizer="exact"` takes the training rows; "simulated" takes rows drawn from the model of all predictors.
        - `denominator="N"` divides by the weight of all these rows; "N'" by that of the rows with some predictor of J.
        """
        rows = task.rows
        usable = task.predictors.usable  # numbers of the columns with at least two categories
        candidates = [j for j in usable if j not in task.forced]

        # the rows of B(J): the category of each cell by predictor, and the weight of each row
        if self.normalizer == "simulated":
            # rows of the model of all predictors, each of weight 1
            codes = task.model.simulate(_SIMULATED, rng)  # (d, 1000)
            weight = np.ones(_SIMULATED)
        else:
            codes = task.predictors.codes[:, rows.is_training]  # (d, n)
            weight = rows.training_weight[rows.is_training]

        n_steps = self._count_steps(len(candidates), len(usable))
        divides_by_all_rows = self.denominator == "N"  # else by the rows with some predictor of J, N'
        return task.model.add_one_by_one(codes, weight, task.forced, candidates, n_steps, divides_by_all_rows)

    def _fit_chosen(self, task: _Task, columns: list[np.ndarray]) -> None:
        """Fit a `CategoricalNB` of the chosen columns to the training rows: `estimator_`, or None if none is chosen.

        Parameters
        ----------
        columns : (n,) categories of each of the d columns
        """
        rows = task.rows
        model = task.model
        training = rows.is_training  # (n,)
        chooses_none = not self.support_.any()

        # The same pseudo-counts as in the search. If no column was chosen, `_chosen` below makes one with a single
        # level, which says nothing, and the prediction is the class shares.
        alpha = 1.0 if chooses_none else model.alpha[self.support_]
        nb = CategoricalNB(estimate="mean", alpha=alpha, class_alpha=model.class_alpha)

        # the chosen columns in the training rows; as categorical columns, their levels are those of these rows
        table = pd.DataFrame(self._chosen(columns))[training]
        levels = table.apply(pd.Categorical)
        labels = self.classes_[rows.label[training]]
        # `self.classes_` says that each class is at the place that it has there
        self._nb = nb.partial_fit(levels, labels, self.classes_, rows.training_weight[training])
        self.estimator_ = None if chooses_none else self._nb

    def _report(self, task: _Task, steps: pd.DataFrame, chosen: list[int]) -> SelectionReport:
        """What the user is told: the sequence of sets, and how the chosen set classifies.

        Parameters
        ----------
        steps : one row for each set of the sequence, with its criteria, and `best`, which marks the chosen one
        chosen : numbers of the columns of the chosen set
        """
        rows = task.rows
        predictors = task.predictors
        model = task.model
        dropped = [j for j in range(len(predictors.names)) if j not in predictors.usable]  # fewer than two categories

        # the class of each row with the largest probability given the chosen set; ties go to the larger π
        log_joint = model.log_joint(predictors.codes, chosen)  # (c, n)
        predicted = most_probable(log_joint.T, model.log_pi)  # (n,) class numbers

        # the error is that of the rows held out, if there are any, else of the training rows
        samples = rows.samples()  # "training", and perhaps "test": (n,) the weight of each row in the sample
        error_on = "test" if "test" in samples else "training"
        error_weight = samples[error_on]

        # the confusion table of each sample
        classified = [self._classified(sample, rows.label, predicted, weight) for sample, weight in samples.items()]

        return SelectionReport(
            steps=steps.rename_axis("step"),
            selected=predictors.names_of(chosen),
            forced=predictors.names_of(task.forced),
            dropped=predictors.names_of(dropped),
            ignored=rows.ignored(),
            error=float(np.average(predicted != rows.label, weights=error_weight)),
            error_on=error_on,
            classification=pd.concat(classified, ignore_index=True),
            scale=predictors.names_of(self._scale),
            settings={
                "rows_training": int(rows.is_training.sum()),
                "rows_test": int(rows.is_held_out.sum()),
                "criterion": task.criterion,
                "normalizer": self.normalizer,
                "denominator": self.denominator,
            },
        )

    # --- settings and rows ------------------------------------------------------------------------------------------

    def _check_settings(self) -> str:
        """How the best set is chosen; ValueError on settings out of range.

        Rows are held out for a test where `test_share` says how many, or `partition` says which.

        Returns
        -------
        - "exact" : the set with the exact number of predictors that was asked for, the last of the sequence
        - "bic" : the set with the smallest pseudo-BIC on the training rows
        - "test" : the set with the largest log-likelihood of the rows held out
        """
        for name in ("max_features", "exact_features"):  # "auto" and None need no check; a number has to be at least 1
            if getattr(self, name) not in ("auto", None):
                check_least(1, **{name: getattr(self, name)})
        check_choice("criterion", self.criterion, ("auto", "bic", "test"))  # ValueError unless it is one of these
        check_choice("normalizer", self.normalizer, ("exact", "simulated"))
        check_choice("denominator", self.denominator, ("N", "N'"))

        if self.test_share is not None and not 0 < self.test_share < 1:
            raise ValueError(f"`test_share` is {self.test_share!r}; it needs to lie between 0 and 1")
        holds_rows_out = self.test_share is not None or self.partition is not None
        if self.criterion == "test" and not holds_rows_out:
            raise ValueError("`criterion` is 'test', but no rows are held out; give `test_share` or `partition`")

        # an exact number of predictors leaves nothing to choose; "auto" takes the held-out rows where there are any
        if self.exact_features is not None:
            return "exact"
        if self.criterion == "auto":
            return "test" if holds_rows_out else "bic"
        return self.criterion

    def _positions(self, argument: str, columns: Any) -> list[int]:
        """Numbers of columns given by name or number, each once, in the order given.

        Parameters
        ----------
        argument : name of the argument that gives the columns, for the error message
        columns : a name, or a sequence of names and numbers

        Raises
        ------
        ValueError
            if there is no such column
        """
        # a single name is a list of one, and not of its letters
        requested = [columns] if isinstance(columns, str) else [*columns]
        positions = []
        for column in requested:
            position = self._columns.place(column)  # None where there is none
            if position is None:
                labels = self._columns.labels.tolist()
                raise ValueError(
                    f"`{argument}` has {column!r}, which is not a column of `X`; the columns are {listed(labels)}"
                    f"{did_you_mean(column, labels)}"
                )
            positions.append(position)
        return list(dict.fromkeys(positions))  # without repetitions; the keys of a dictionary keep their order

    def _count_steps(self, candidates: int, usable: int) -> int:
        """How many predictors may be added to the forced ones.

        With `exact_features` it is this number, and otherwise `max_features`, or all candidates if there are fewer.

        Parameters
        ----------
        candidates : number of predictors that can be added
        usable : number of predictors with at least two categories, forced ones included
        """
        # an exact number has to be possible; a largest number is cut down to what is possible
        if self.exact_features is not None:
            if self.exact_features > candidates:
                raise ValueError(
                    f"`exact_features` is {self.exact_features}, but only {candidates} predictors with at least two "
                    "observed categories can be added to the forced ones; give at most that number"
                )
            return self.exact_features

        maximum = self.max_features
        if maximum == "auto":
            maximum = min(100, max(20, usable // 5))  # the rule of SPSS: a fifth, but at least 20 and at most 100
        return min(candidates, maximum)

    def _hold_out(self, rows: _Rows, rng: np.random.Generator) -> PerRow:
        """The part of the weight of each row that is held out for the test, (n,).

        With `partition` whole rows are held out, those that it does not mark by 1 (or True). With `test_share` a random
        share of each class is. Else nothing is. ValueError where no weight, or all of it, would be held out.
        """
        if self.partition is not None:
            check_consistent_length(rows.label, self.partition)
            # whole rows; marks are compared as objects, so that strings and missing values are simply not 1
            marks = pd.Series(np.asarray(self.partition, object))
            is_for_training = (marks == 1).to_numpy()
            test_weight = np.where(rows.is_used & ~is_for_training, rows.weights.values, 0)
        elif self.test_share is not None:
            test_weight = self._random_share(rows, rng)
        else:
            return np.zeros(len(rows.label))

        # something has to remain on both sides: without training rows there is no model, without test rows no criterion
        usable_weight = rows.weights.values[rows.is_used].sum()
        if not 0 < test_weight.sum() < usable_weight:
            n_rows = int((test_weight > 0).sum())
            raise ValueError(f"{n_rows} of {rows.is_used.sum()} usable rows are held out; hold out some, not all")
        return test_weight

    def _random_share(self, rows: _Rows, rng: np.random.Generator) -> PerRow:
        """The weight of each row in a random sample of the rows, which has a share `test_share` of each class, (n,).

        Weights may count rows: a row of weight 2 stands for two equal units, of which one may be in the sample and the
        other outside of it. Other weights are importance: a row is one unit, and is in the sample with its whole weight
        or not at all. At least one unit of each class stays outside.
        """
        n = len(rows.label)
        weights = rows.weights
        weight_in_sample = np.zeros(n)
        for k in np.unique(rows.label[rows.is_used]):
            # The units of the class: the position of each row, repeated as often as the row counts. For example, if
            # row 3 counts twice and row 5 once, they are 3, 3, 5.
            members = np.flatnonzero(rows.is_used & (rows.label == k))
            units = np.repeat(members, weights.times[members].astype(int))

            # 3 units and a share of 0.9 would give all 3, so 2 are drawn; they may be 3 and 5
            rounded = round(self.test_share * len(units))
            size = min(rounded, len(units) - 1)
            drawn = rng.choice(units, size, replace=False)
            n_drawn = np.bincount(drawn, minlength=n)  # (n,) units of each row: one of row 3, and one of row 5
            weight_in_sample += n_drawn if weights.are_counts else n_drawn * weights.values
        return weight_in_sample

    def _classified(self, sample: str, observed: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
        """The confusion table of a sample: the weight of the rows of each observed class, by predicted class.

        It has a row for each observed class, and columns `sample`, `observed`, one for each predicted class, and
        `correct`, the share of the observed class that is predicted rightly.

        Parameters
        ----------
        sample : name of the sample
        observed, predicted : (n,) class numbers
        weight : (n,) of each row in the sample, 0 of rows outside of it
        """
        c = len(self.classes_)
        counts = _weight_of_pairs(observed, predicted, weight, (c, c))  # entry [observed class, predicted class]
        with np.errstate(invalid="ignore"):
            correct = counts.diagonal() / counts.sum(1)  # (c,), NaN of a class without rows
        by_class = dict(zip(self.classes_.tolist(), counts.T, strict=True))  # a column (c,) for each predicted class
        return pd.DataFrame({"sample": sample, "observed": self.classes_, **by_class, "correct": correct})

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> Table:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that are present in the row."""
        nb, rows = self._inside(X)
        return nb.predict_log_proba(rows)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger π."""
        nb, rows = self._inside(X)
        return nb.predict(rows)

    def _inside(self, X: Any) -> tuple[CategoricalNB, Any]:
        """The `CategoricalNB` of the selected predictors, and the rows as it reads them: columns of categories."""
        check_is_fitted(self)
        return copy.copy(self)._model_and_rows(X)  # one state, whatever another thread fits meanwhile

    def _model_and_rows(self, X: Any) -> tuple[CategoricalNB, Any]:
        """The model of the selected predictors, and the rows as it reads them."""
        columns = self._read(self._checked(X))
        return self._nb, self._chosen(self._categories(columns))

    def _checked(self, X: Any, fresh: bool = False) -> Any:
        """The rows as an array or a data frame, cells with the types that they have.

        Parameters
        ----------
        fresh : True in `fit`, which learns number and names of the columns. Otherwise they have to be those of the fit
        """
        # the rows, and the number and names of their columns, which have to be those of the fit, if one is given
        columns_of_fit = None if fresh else self._columns
        table, _, columns = checked_rows(self, X, columns_of_fit, numbers=False, sparse=False)
        # number and names are learnt here, as scikit-learn wants them
        if fresh:
            self._columns = columns
            self.n_features_in_ = columns.n
            if columns.names is not None:  # scikit-learn has the attribute only with names
                self.feature_names_in_ = columns.names
        return table

    # --- the cells: here they are categories; `SPSSNaiveBayes` has numbers too --------------------------------------

    def _read(self, X: Any, fresh: bool = False) -> list[np.ndarray]:
        """The columns of a table, (n,) objects or floats each; `fresh` is True in `fit`, which checks the levels."""
        if fresh:
            learn_columns(CategoricalNB(), X, self.classes_)  # refuses cells that are no levels
        return [np.asarray(_safe_indexing(X, j, axis=1), dtype=object) for j in range(self.n_features_in_)]

    def _learn_categories(self, columns: list[np.ndarray], is_training: Bool[np.ndarray, " n"]) -> None:
        """Learn from the training rows how columns become categories: here there is nothing to learn."""

    def _categories(self, columns: list[np.ndarray]) -> list[np.ndarray]:
        """The columns as categories, (n,) each: here they are that already."""
        return columns

    def _chosen(self, columns: list[np.ndarray]) -> Any:
        """The chosen of d columns as the estimator inside reads them: a data frame where columns have names.

        Where no column is chosen, one with a single level stands for all: every row then has the same prediction.
        """
        names = self._columns.labels
        chosen = {names[j]: columns[j] for j in np.flatnonzero(self.support_)}
        if not chosen:
            chosen = {"none": np.zeros(len(columns[0]), int)}
        table = pd.DataFrame(chosen, dtype=object)  # (n, columns); objects, so that categories keep their types
        return table.to_numpy(dtype=object) if self._columns.names is None else table

    def _get_support_mask(self) -> Bool[np.ndarray, " d"]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True  # the checks of scikit-learn then ask for no good score
        for name in ("allow_nan", "categorical", "string", "positive_only"):
            setattr(tags.input_tags, name, True)
        return tags


def _weight_of_pairs(
    row: Int[np.ndarray, " n"], column: Int[np.ndarray, " n"], weight: PerRow, shape: tuple[int, int]
) -> Float[np.ndarray, "r c"]:
    """A table of two-way counts: entry [a, b] is the weight of the cases with the codes `row` a and `column` b.

    Parameters
    ----------
    row, column : (n,) the two codes of each case
    weight : (n,) of each case
    shape : numbers of rows and columns of the table
    """
    # entries of the table are numbered line by line: in a table of 3 columns, the entry [1, 2] is number 5
    n_rows, n_columns = shape
    number = row * n_columns + column  # (n,) of the entry that each case belongs to
    weight_of_entries = np.bincount(number, weight, n_rows * n_columns)
    return weight_of_entries.reshape(shape)


# --- the sequence of sets ---------------------------------------------------------------------------------------------


def _steps(task: _Task, path: SelectionPath) -> pd.DataFrame:
    """One row for each set of the sequence: the predictor that was added, the size of the set, and its criteria.

    The criteria are the mean log-likelihood of the training rows l̄, the pseudo-BIC −l̄ + ½ J log N / N of a set of J
    predictors, to be small, and l̄ of the rows held out, if there are any. All are in nats a row.
    """
    rows = task.rows
    n = float(rows.training_weight[rows.is_training].sum())  # N, the weight of the training rows

    # the predictor that was added to make each set, None for the initial one; and the size J of each set
    added_names = [None, *task.predictors.names_of(path.added)]
    steps = pd.DataFrame({"added": pd.Series(added_names, dtype=object)})
    steps["n_features"] = [len(members) for members in path.sets]

    # The criteria. The pseudo-BIC is a penalised loss a row: −log-likelihood + ½ · size · log N, divided by N.
    steps["log_likelihood"] = path.log_likelihood
    steps["pseudo_bic"] = -steps["log_likelihood"] + 0.5 * steps["n_features"] * np.log(n) / n
    if rows.is_held_out.any():
        steps["test_log_likelihood"] = _test_log_likelihood(task, path)
    return steps


def _test_log_likelihood(task: _Task, path: SelectionPath) -> Float[np.ndarray, " s"]:
    """Mean log p(y_i | x_i) of the held-out rows under the model of each of the s sets, in nats."""
    # of the m rows that are held out
    rows = task.rows
    codes = task.predictors.codes[:, rows.is_held_out]  # (d, m) numbers of categories
    label = rows.label[rows.is_held_out]  # (m,) class numbers
    weight = rows.test_weight[rows.is_held_out]  # (m,)

    log_p_of_labels = []  # for each set, (m,) log p(y_i | x_i)
    for members in path.sets:
        log_joint = task.model.log_joint(codes, members)  # (c, m) log p(x_i, y = k)
        log_p = log_normalize(log_joint.T)  # (m, c) log p(y = k | x_i)
        log_p_of_labels.append(log_p[np.arange(len(label)), label])  # of each row the entry in the class of its label
    return np.average(log_p_of_labels, axis=1, weights=weight)  # from (s, m) to (s,): a mean over the rows


def _best_step(steps: pd.DataFrame, criterion: str) -> int:
    """The position of the best set in the table of `_steps`; the smaller of two equally good ones.

    Sets grow along the table, and `argmin` and `argmax` answer the first of equal values.
    """
    if criterion == "exact":
        return len(steps) - 1
    if criterion == "bic":
        return int(np.argmin(steps["pseudo_bic"]))
    return int(np.argmax(steps["test_log_likelihood"]))
