"""Why a row is predicted as it is, what the parameters are, and how well they fit: as data frames and numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.supports import check_choice, check_least, check_level
from ._prediction import AbstractPredicting

if TYPE_CHECKING:
    import pandas as pd

    from ..inference.explanation import Contributions
    from ..inference.tables import Summary


class AbstractExplaining(AbstractPredicting):
    """What an estimator says of its predictions and of its parameters."""

    def explain(
        self,
        X: Any,
        *,
        against: Any = None,
        n: int | None = None,
        level: Scalar = 0.9,
        n_draws: int = 1000,
        seed: int | np.random.Generator | None = 0,
        output: str = "frame",
    ) -> Any:
        """What each feature of each row adds to the log odds of each class, in nats, with its credible interval.

            log p(c | x)/p(b | x) = log p(c)/p(b) + Σ_j contribution of feature j

        The sum over the class prior and all features is exact: it is the log odds of `predict_proba`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`; for sparse rows only the stored cells are listed
        against : class b. By default the odds are against the other class. With more than two classes they are against
            the geometric mean of all other classes: log p(c | x) − mean of log p(k | x) over k ≠ c
        n : number of features to list for each row, those with the largest contributions; the others share one entry.
            None lists all features
        level : posterior mass inside the intervals, between 0 and 1
        n_draws, seed : number and seed of the draws of the parameters, which give the intervals
        output : "frame" or "xarray"

        Returns
        -------
        pandas.DataFrame
            columns row (0 … n−1), class_, feature, value, contribution, low and high. The first entry of each row is
            "(class prior)". "(other features)" is the sum of all features that are not listed, if there are any.
            Features are sorted by the size of their contribution to the class
        xarray.Dataset
            with output="xarray": contribution, low and high with the dimensions row, class_ and feature. A feature that
            is not listed is NaN

        Raises
        ------
        ValueError
            if `against` is not a class, or a setting is out of range

        Notes
        -----
        The contributions are those of the current `estimate`. The intervals are quantiles over the posterior of the
        parameters. "predictive" takes logarithms of averages, so its contributions need not lie in the middle of the
        intervals.

        *Independent features.* The contribution of feature j is the difference of log p(x_j | c) between classes. A
        missing cell adds 0.

        *Counts that share a row* (MultinomialNB, ComplementNB, "predictive"). A row of L events has the probability Π_j
        α_j^(x_j) / A^(L), with rising factorials. Word j gets log α_j^(x_j) − (x_j/L) log A^(L). A word that does not
        occur in the row gets 0.

        *Features that depend on each other* (GaussianDA, OneDependenceNB, families of your own). The contribution is
        the Shapley value of log p(x_S | c) over the sets S of features. It is exact for up to five features. With more
        features it is exact if no interaction has more than two features. Otherwise it is an average over 1,024 orders
        of the features, or over 64 for draws and for OneDependenceNB. The sum of all contributions is always exact.

        References
        ----------
        Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian classifier, PKDD.
        Shapley (1953), A value for n-person games.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb import BernoulliNB
        >>> X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 5), np.array([1, 1, 0, 0] * 5)
        >>> nb = BernoulliNB().fit(X, y)
        >>> frame = nb.explain(X[:1])
        >>> frame[frame.class_ == 1][["feature", "contribution"]].round(2).to_string(index=False).split()
        ['feature', 'contribution', '(class', 'prior)', '0.0', '0', '2.4', '1', '0.0']
        """
        check_choice("output", output, ("frame", "xarray"))
        found, b = self.contributions(X, against=against, n=n, level=level, n_draws=n_draws, seed=seed)
        frame = self._frame(found, X, b)
        if output == "frame":
            return frame
        known = frame.drop(columns="value").set_index(["row", "class_", "feature"])
        return known.to_xarray()

    def contributions(self, X: Any, *, against: Any = None, **settings: Any) -> "tuple[Contributions, int | None]":
        """What `explain` shows, as arrays, and the place of the class that the odds are against. Provisional."""
        from ..inference.explanation import contributions, odds_against

        check_is_fitted(self)
        c, level, b = len(self.classes_), settings.get("level", 0.9), None
        if c < 2:
            raise ValueError(
                f"the model has a single class, {self.classes_[0]!r}, but log odds need two; fit it to rows of two "
                "classes"
            )
        if against is not None:
            found = np.flatnonzero(self.classes_ == against)
            if len(found) != 1:
                raise ValueError(f"`against` is {against!r}; the classes are {self.classes_.tolist()}")
            b = int(found[0])
        check_level(level)
        check_least(1, **{name: settings[name] for name in ("n", "n_draws") if settings.get(name) is not None})
        theta = self._theta()
        return contributions(
            self._fitted_state().posterior,
            self._encode(X),
            self._columns(),
            theta if self._refine is None else self._refine(theta),
            self.n_features_in_,
            odds_against(c, b),
            refined=self._refine,
            **settings,
        ), b

    _refine: Any = None  # from parameters, or None, to those that the table of scores is made of: see ComplementNB

    def _frame(self, found: "Contributions", X: Any, b: int | None) -> "pd.DataFrame":
        import pandas as pd

        from ..inference.explanation import OTHERS, PRIOR

        classes = [k for k in range(len(self.classes_)) if k != b]
        names = np.array([*self.feature_names(), "(other features)", "(class prior)"], object)
        t, feature = len(found.row), found.feature
        order = np.lexsort([np.arange(t), found.row])
        values = np.full(t, "", object)
        listed = np.flatnonzero(feature >= 0)
        values[listed] = _cells(X, found.row[listed], feature[listed])
        frame = pd.DataFrame(
            {
                "row": np.repeat(found.row[order], len(classes)),
                "class_": np.tile(self.classes_[classes], t),
                "feature": np.repeat(names[feature[order]], len(classes)),
                "value": np.repeat(values[order], len(classes)),
                "contribution": found.value[order][:, classes].ravel(),
                "low": found.low[order][:, classes].ravel(),
                "high": found.high[order][:, classes].ravel(),
            }
        )
        ends = {PRIOR: 0, OTHERS: 2}  # the class prior comes first, all other features last
        place = np.repeat([ends.get(j, 1) for j in feature[order].tolist()], len(classes))
        keys = [-abs(frame["contribution"]), place, np.tile(np.arange(len(classes)), t), frame["row"]]
        return frame.iloc[np.lexsort(keys)].reset_index(drop=True)

    def feature_names(self) -> list[Any]:
        """Names of the columns of X, or their numbers. Provisional."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))

    # --- the parameters ---------------------------------------------------------------------------------------------

    def tables(self, features: Any = None, *, level: Scalar = 0.9) -> "dict[Any, pd.DataFrame]":
        """The parameters of each feature as a data frame with credible intervals, like R's `tables()`.

        Parameters
        ----------
        features : names or numbers of features; None takes all
        level : posterior mass inside the intervals, between 0 and 1

        Returns
        -------
        dict from feature to pandas.DataFrame
            columns class_, parameter, estimate, low and high. The column parameter holds "P(level)" for each level,
            "P(1)" for yes/no features, "mean" and "sd" for normal features, "rate" for counts, and so on. The column
            estimate follows the current `estimate`; with "predictive" it is the posterior mean. The class_ of a
            parameter that the classes share is "all classes", and of a complement's parameter "not c"

        Raises
        ------
        ValueError
            if a feature is unknown, or `level` is out of range

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> nb = BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
        >>> nb.tables()[0].round(2).to_string(index=False).split()[5:]
        ['a', 'P(1)', '0.60', '0.25', '0.90', 'b', 'P(1)', '0.33', '0.03', '0.78']
        """
        from ..inference.tables import tables

        check_is_fitted(self)
        check_level(level)
        known = self.feature_names()
        names = known if features is None else [features] if isinstance(features, str) else list(features)
        places = []
        for name in names:
            if (place := self._place(name)) is None:
                raise ValueError(f"`features` has {name!r}; the features are {known[:8]}{' …' if known[8:] else ''}")
            places.append(place)
        found = tables(self, places, level)
        return dict(zip(names, found, strict=True))

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of a column, None where it has no levels. Provisional."""
        levels = getattr(self, "categories_", None)
        return None if levels is None else levels[feature]

    def summary(self, level: Scalar = 0.9) -> "Summary":
        """The fitted model in a few lines: rows, features, evidence, likelihood, AIC, BIC and the class probabilities.

        `print` shows it as text, and a notebook shows it as tables.

        Parameters
        ----------
        level : posterior mass inside the intervals of the class probabilities
        """
        from ..inference.tables import summarise

        check_is_fitted(self)
        check_level(level)
        return summarise(self, level)

    # --- how well they fit ------------------------------------------------------------------------------------------

    @property
    def log_likelihood_(self) -> float:
        """log p(X, y | θ̂) of all training rows in nats, at the maximum likelihood estimate θ̂.

        It needs no rows. By Bayes' identity the likelihood at any θ is the evidence times the posterior density over
        the prior density.
        """
        from ..inference.tables import log_likelihood

        return log_likelihood(self)

    @property
    def aic_(self) -> float:
        """Akaike's criterion −2 `log_likelihood_` + 2 k, with k the number of free parameters; smaller is better."""
        return 2 * self.n_parameters_ - 2 * self.log_likelihood_

    @property
    def bic_(self) -> float:
        """Schwarz's criterion −2 `log_likelihood_` + k log N, with k free parameters and N the weight of all rows.

        −½ `bic_` is an approximation of `log_evidence_`. The evidence is exact and includes the prior.
        """
        return self.n_parameters_ * float(np.log(self._fitted_state().statistics.n.sum())) - 2 * self.log_likelihood_

    @property
    def n_parameters_(self) -> int:
        """Number k of free parameters of all classes and features together, including the class probabilities."""
        from ..inference.tables import count_free

        return count_free(self._fitted_state().posterior)


def _cells(X: Any, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Cells of the input as they came, one for each pair of row and column."""
    found = np.empty(len(row), object)
    if sparse.issparse(X):
        found[:] = np.asarray(X.tocsr()[row, column]).ravel().tolist() if len(row) else []
        return found
    if hasattr(X, "columns") and not hasattr(X, "iloc"):
        X = X.to_pandas()
    for j in np.unique(column):
        here = np.flatnonzero(column == j)
        values = X.iloc[:, j] if hasattr(X, "iloc") else [line[j] for line in X] if isinstance(X, list) else X[:, j]
        some = np.asarray(values, object)[row[here]]
        found[here] = some
    return found
