"""Averaged one-dependence estimators for scikit-learn users."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..class_statistics import with_error
from ..core.arrays import Scalar
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_choice, checked_numbers
from ..families.categorical import DirichletCategorical
from ..naive_bayes import NaiveBayes, Rows, Statistics, by_rows, fold_rows, row_slices
from ..one_dependence import BLOCK, OneDependence
from ..statistics import Counts
from ..sums.pairs import diagonal
from ..sums.rows import csr_slice
from ._input import concentration, cut_rows
from ._one_parent import AbstractOneParent
from ._state import LazyPosterior, laid_out

MAX_BYTES = 1 << 30
"""Largest table of counts that `OneDependenceNB` makes, in bytes of float64.

Fitting holds two of that size, batches nearly four, prediction and `loo` up to five more than the fitted model.
"""


@dataclass(kw_only=True, eq=False, repr=False)
class OneDependenceNB(AbstractOneParent):
    """Averaged one-dependence estimators for features with levels: p(y, x) = Σ_j v_j p(y, x_j) Π_{i≠j} p(x_i | y, x_j).

    Naive Bayes assumes that features are independent given the class. Here every feature may depend on the class and on
    one other feature, the parent. Each feature is the parent in one of d models, and the d models are averaged. The
    model therefore sees all pairs of features. It costs n·d² additions and needs no search.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each level of a feature, given a class and a level of the parent, positive
    prior : optional
        a prior of your own for the levels of a feature, given a class and a level of the parent. It is NumPyro's
        `dist.Dirichlet([5, 1, 1])`, or one pseudo-count for each level. As in `CategoricalNB`, it may be a mapping from
        column, or (column, level), to one of these. Columns that are not named keep `alpha`
    pair_alpha : float, default 1
        number of pseudo-rows of the table p(y, x_j) of each parent, split equally over its c·k_j pairs, positive
    min_categories : int, (d,) or None, default None
        smallest number of levels of a feature of whole numbers; its levels are 0 … max
    max_bytes : int, default 2³⁰
        largest size of the table of counts, which has 8 c (Σ_j k_j)² bytes. A larger table is refused. Fitting holds
        two tables of that size, and prediction up to five more

    Attributes
    ----------
    parent_log_evidence_ : (d,) log p(X, y) of the model of each parent in nats, over the rows whose x_j is not missing
    log_evidence_ : log of the mean of these evidences, if no parent has a missing cell; see the Notes
    categories_, n_categories_ : levels of each feature, and their number, as in `CategoricalNB`
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_ : the table of counts [y, u, v] of pairs of levels; `prior_`, `posterior_`: `OneDependence` before and
        after it

    Notes
    -----
    Levels have the forms that `CategoricalNB` accepts: strings, pandas categoricals and whole numbers. Bin real numbers
    first, in a pipeline: `make_pipeline(EqualWidthBinner(4), OneDependenceNB())`.

    Model j leaves out a row whose x_j is missing. In prediction it also leaves out a row whose x_j is a level that was
    not in the training rows. In training such a row adds nothing to model j. In prediction the weights of the other
    parents are divided by their sum. Any other missing cell is left out of the product. A row without any cell gets the
    class frequencies.

    *Evidence.* The model of each parent has an evidence. Now consider one model with a single unknown parent for all
    rows, where all parents are equally probable. `log_evidence_` is the evidence of that model, so `compare` can rank
    it against any other model of the same cells. The predictive of that model weights the parents by their evidence,
    and soon uses only one of them. The average here keeps the weights v. It predicts better, but has no evidence of its
    own. With missing cells the parents describe different rows, so there is no `log_evidence_`.

    *Draws.* A draw consists of a parent j, with probability v_j, and the parameters of its model. Intervals and
    `uncertainty` therefore show how much the probability would change if the parent and the parameters were known. The
    intervals are wide if the parents disagree.

    References
    ----------
    Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators, Machine Learning 58.

    Examples
    --------
    The class is whether two coins agree. A single coin does not predict it.

    >>> import numpy as np
    >>> from bayesnb import CategoricalNB, OneDependenceNB
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = X[:, 0] == X[:, 1]
    >>> CategoricalNB().fit(X, y).predict_proba(X[:2]).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> OneDependenceNB().fit(X, y).predict_proba(X[:2]).round(2)
    array([[0.08, 0.92],
           [0.92, 0.08]])
    """

    alpha: Any = 1.0
    prior: Any = None
    pair_alpha: float = 1.0
    min_categories: Any = None
    max_bytes: int = MAX_BYTES

    estimate = "predictive"  # of levels it is the posterior mean: there is nothing to choose
    _advice = (
        "Bin the column first, with `make_pipeline(EqualWidthBinner(), OneDependenceNB())` or EvidenceBinner, or pass "
        "it as strings (on the command line: --columns NAME=levels)."
    )

    _family = OneDependence
    _most_columns = 60

    # --- levels -----------------------------------------------------------------------------------------------------

    def _set_levels(self, levels: list[np.ndarray]) -> None:
        super()._set_levels(levels)
        c, k = len(self.classes_), int(self.n_categories_.sum())
        if (needed := 8 * c * k**2) > self.max_bytes:
            most = int(self.n_categories_.argmax())
            raise ValueError(
                f"`X` has {k} levels in {len(levels)} columns, most of them in column {self._label(most)} "
                f"({self.n_categories_[most]}); with {c} classes the table of their pairs needs {needed / 2**20:,.1f} "
                f"MiB, but `max_bytes` allows {self.max_bytes / 2**20:,.1f} MiB. Leave out columns that identify "
                "rows, merge rare levels, use fewer bins, or raise `max_bytes`"
            )

    def _counts(self) -> list[np.ndarray]:
        n = np.diagonal(self._conditioned.statistics.blocks[BLOCK].n, axis1=1, axis2=2)
        return np.split(n, np.cumsum(self.n_categories_)[:-1], axis=1)

    def _recode(self, levels: list[np.ndarray]) -> None:
        before, table = self._known(), self._conditioned.statistics.blocks[BLOCK].n
        old = np.concatenate([[0], np.cumsum(self.n_categories_)])
        self._set_levels(levels)
        new = np.concatenate([[0], np.cumsum(self.n_categories_)])
        pairs = list(zip(before, self.categories_, strict=True))
        source = np.concatenate([old[j] + np.arange(len(b)) for j, (b, _) in enumerate(pairs)])
        target = np.concatenate([new[j] + pd.Index(a).get_indexer(pd.Index(b)) for j, (b, a) in enumerate(pairs)])

        def moved(table: np.ndarray) -> np.ndarray:
            found = np.zeros((len(table), new[-1], new[-1], *table.shape[3:]))
            found[:, target[:, None], target] = table[:, source[:, None], source]
            return found

        error = {k: moved(v) for k, v in (self._conditioned.statistics.blocks[BLOCK].error or {}).items() if k == "n"}
        self.statistics_ = replace(
            self._conditioned.statistics, blocks={BLOCK: Counts(moved(table), np.zeros(len(table)), error)}
        )

    def _rows(self, X: Any) -> Rows:
        return {BLOCK: self._codes(X).astype(float, copy=False)}

    def _as_input(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        x = rows[BLOCK].astype(int)
        return np.stack([levels[x[:, j]] for j, levels in enumerate(self.categories_)], 1)

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _model(self) -> OneDependence:
        """The prior, with equal weights of the parents."""
        d = self.n_features_in_
        if self.prior is None:
            alpha = np.repeat(np.array(concentration(self.alpha, True, (d,))), self.n_categories_)
        else:
            alpha = np.concatenate(self._own_prior(), -1)
        total = float(checked_numbers("pair_alpha", self.pair_alpha, ()))
        return OneDependence.prior(len(self.classes_), self.n_categories_.tolist(), alpha, total, np.full(d, 1 / d))

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        r, prior = self._weights(X, index, sample_weight), self._model()

        def gather(part: slice) -> Statistics:
            rows, w = self._rows(cut_rows(X, part)), csr_slice(r, part)
            return with_error(prior.suffstats(rows, w), rows, w)

        return fold_rows(gather, row_slices({BLOCK: X}, prior.min_chunk_cells))

    def _set_statistics(self, stats: Statistics) -> Self:
        self._conditioned = LazyPosterior(self._model(), laid_out(stats))
        return self

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c) in nats, (n, c): log Σ_j v_j p_j(x_i, y = c | data)."""
        posterior = self._fitted_state().posterior
        X = self._validate(X, reset=False)
        return by_rows(
            lambda part: posterior.log_joint(self._rows(cut_rows(X, part))), {BLOCK: X}, posterior.min_chunk_cells
        )

    def predict_parents_log_proba(self, X: Any) -> np.ndarray:
        """log p_j(y = c | x_i) of the model of each parent in nats, (n, d, c); NaN where x_ij is missing."""
        rows, posterior = self._encode(X), self._fitted_state().posterior
        found = np.empty((len(rows[BLOCK]), self.n_features_in_, len(self.classes_)))
        with np.errstate(invalid="ignore"):  # −∞ − −∞
            for part, table in posterior.log_parents(rows):
                found[part] = log_normalize(table)
        return found

    def _sample(
        self, n_samples: int, seed: int | np.random.Generator | None, source: str, length: Any = None
    ) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        check_choice("source", source, ("posterior", "prior"))
        model = self._fitted_state().posterior if source == "posterior" else self._fitted_state().prior
        x, y = model.sample_predictive(generator(seed), n_samples)
        return self._as_input({BLOCK: x}), self.classes_[y]

    # --- what the posterior tells -----------------------------------------------------------------------------------

    @property
    def parent_log_evidence_(self) -> np.ndarray:
        """log p(X, y | parent j) of the rows whose x_j is not missing, (d,), in nats."""
        return self._fitted_state().prior.log_marginal(self._conditioned.statistics)

    @property
    def log_evidence_(self) -> float:
        """log (1/d) Σ_j p(X, y | parent j), in nats: one unknown parent for all rows, all parents equally probable."""
        evidence, n = self.parent_log_evidence_, self._conditioned.statistics.n.sum()
        seen = np.array([counts.sum() for counts in self._counts()])
        if (lost := seen < n * (1 - 1e-12)).any():
            column = self._label(int(lost.argmax()))
            raise AttributeError(
                f"OneDependenceNB has no log_evidence_ here: column {column} has missing cells, so the models "
                "describe different rows. Compare by `loo`, or code missing cells as a level"
            )
        return float(np.logaddexp.reduce(evidence) - np.log(len(evidence)))

    def tables(self, features: Any = None, *, level: Scalar = 0.9) -> Any:
        """P(level | class) of each feature in the model where it is the parent; see `AbstractNB.tables`."""
        posterior = self._fitted_state().posterior
        blocks: dict[str, Any] = {}
        nb = self._as_categorical()
        for name, at in nb._columns().items():
            own = [diagonal(posterior.alpha[:, posterior.levels(j), posterior.levels(j)]) for j in at.tolist()]
            blocks[name] = DirichletCategorical(np.stack(own, 1))
        held = Statistics(
            np.zeros(len(self.classes_)), {k: Counts(0 * b.alpha, 0 * b.alpha[..., 0]) for k, b in blocks.items()}
        )
        nb._conditioned = LazyPosterior(NaiveBayes(posterior.classes, blocks), held)
        return nb.tables(features, level=level)

    @property
    def _fit(self) -> Any:
        raise AttributeError("OneDependenceNB averages models, so it has no likelihood to maximise; use `parent(…)`")

    @property
    def n_parameters_(self) -> int:
        """An average of models has no number of parameters; reading it raises an AttributeError."""
        raise AttributeError("OneDependenceNB averages models, so it has no number of parameters; use `parent(…)`")

    def _linear_form(self) -> tuple[np.ndarray, np.ndarray]:
        raise AttributeError("OneDependenceNB uses pairs of features, so it has no linear form; use decision_function")

    def _weight_labels(self, names: np.ndarray | None) -> np.ndarray:
        raise AttributeError("OneDependenceNB uses pairs of features, so it has no linear form; use decision_function")

    def _tie_prior(self) -> np.ndarray:
        return self.class_count_  # p(y) rises with it

    def _prior_name(self) -> str:
        raise ValueError(
            "OneDependenceNB learns each class together with a parent, so it has no class prior to set; give a "
            "`sample_weight` with which the classes have the frequencies that you want"
        )

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        raise ValueError(
            "OneDependenceNB is an average of models, not a class prior times blocks of columns, so it cannot be a "
            "part of another model; use it alone, or use CategoricalNB as the part"
        )
