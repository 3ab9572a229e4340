"""What every estimator predicts, and what its posterior says of rows.

Each method reads the state once, at its start. Methods that hand the estimator on take a copy first, which keeps it.
"""

import copy
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..models.naive_bayes import CLASS, Parameters, Rows, by_rows
from ..numerics.arrays import Scalar, is_sparse
from ..numerics.pytrees import map_leaves
from ..numerics.random import generator
from ..numerics.special import log_normalize, most_probable
from ..numerics.supports import check_choice, check_least
from ._fitted import AbstractFitted, State
from ._input import BLOCK, Unavailable, as_table, cut_rows
from ._view import ModelView, PartView

if TYPE_CHECKING:
    import pandas as pd

    from ..posterior.explanation import Contributions
    from ..posterior.intervals import Uncertainty
    from ..posterior.loo import LooResult

Seed = int | np.random.Generator | None


class AbstractBayes(AbstractFitted):
    """What all estimators share: those of naive Bayes, and `OneDependenceNB`, which averages models of pairs."""

    _variants: ClassVar[dict[str, dict[str, Any]]] = {}
    """Settings by the name of a model on the command line. A report tries all but the first as well."""
    _most_cells: ClassVar[float] = np.inf  # of a table that is quick enough to be tried unasked
    _most_columns: ClassVar[float] = np.inf

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c) in nats, (n, c), under the current `estimate`."""
        return copy.copy(self)._joint_table(X)  # one moment of it, whatever another thread fits or sets meanwhile

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): the normalised joint table.

        With estimate="predictive" this is the Bayes predictive p(y | x, data): the parameters are integrated out of the
        joint probability. The posterior mean of the class probabilities is a different number,
        `sample_proba(X).mean(0)`.
        """
        return copy.copy(self)._joint_table(X, scores=True, normalized=True)

    def predict_proba(self, X: Any, *, draws: Any = None, average: str = "posterior") -> np.ndarray:
        """p(y = c | x_i), (n, c); see `predict_log_proba`. With `draws` it is an average over draws of the parameters.

        Parameters
        ----------
        draws : draws of the parameters by the site names of `numpyro_model`, from NUTS, SVI or any other sampler:
            `mcmc.get_samples()`, a mapping of arrays (s, …) or (chain, draw, …), or ArviZ data. `estimate` is not used
        average : "posterior" is the posterior mean of p(y = c | x_i, θ), the mean of `sample_proba(X, draws=draws)`.
            "joint" averages p(x_i, y = c | θ) and then normalises, as the closed form does. It weighs the draws by
            p(x_i | θ), and warns of rows where it rests on fewer than 50 of them

        Raises
        ------
        ValueError
            if a site is missing or has another shape, or if `average` is neither

        Examples
        --------
        >>> import jax, numpyro
        >>> from bayesnb import BernoulliNB
        >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 1]], [0, 0, 1, 1]
        >>> nb = BernoulliNB().fit(X, y)
        >>> with jax.enable_x64(True):
        ...     mcmc = numpyro.infer.MCMC(
        ...         numpyro.infer.NUTS(nb.numpyro_model), num_warmup=300, num_samples=3000, progress_bar=False
        ...     )
        ...     mcmc.run(jax.random.key(0), X, y)
        >>> nb.predict_proba([[1, 0]], draws=mcmc, average="joint").round(1), nb.predict_proba([[1, 0]]).round(1)
        (array([[0.9, 0.1]]), array([[0.9, 0.1]]))
        """
        check_choice("average", average, ("posterior", "joint"))
        # without draws: the closed form
        if draws is None:
            return np.exp(self.predict_log_proba(X))

        # the mean over the draws θ_s of p(y = c | x_i, θ_s)
        if average == "posterior":
            return self.sample_proba(X, draws=draws).mean(0)

        # the mean over the draws of p(x_i, y = c | θ_s), normalised over c. A *state* is all that the estimator has
        # learnt: labels, columns, statistics, prior and posterior. `rows` are checked; a block is the columns that
        # share one conjugate prior, and `_float_rows_by_block` gives an array (n, d_block) for each, by its name
        from ..posterior.given_draws import ENOUGH_DRAWS, joint_average

        state = self._fitted()
        rows, _, _ = self._validate(X, state)
        result = joint_average(state.posterior, self._float_rows_by_block(state, rows), draws)

        # a draw under which a row is improbable adds nearly nothing to the mean of that row. `effective_draws`, (n,),
        # is the number of draws that count; if it is small, the mean is not to be relied on
        is_thin = result.effective_draws < ENOUGH_DRAWS
        if is_thin.any():
            warnings.warn(
                f"{np.count_nonzero(is_thin)} of {len(is_thin)} rows rest on fewer than {ENOUGH_DRAWS} effective draws "
                f"(the least: {result.effective_draws.min():.1f}). Their joint average is not to be relied on; the "
                "closed form, `predict_proba(X)`, has no such limit",
                stacklevel=2,
            )
        return result.proba

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger class prior.

        Probabilities count as equal if their difference may be rounding. With equal class priors a tie goes to the
        first label.
        """
        model = self.model_  # one state, whatever another thread fits meanwhile
        scores = model.estimator._joint_table(X, scores=True)  # log p(x_i, y = c) up to a term of each row, (n, c)
        best = most_probable(scores, model.tie_prior)  # the column of the largest score of each row, (n,)
        return model.classes[best]

    def decision_function(self, X: Any) -> np.ndarray:
        """The decision score in nats: the log odds of the second of two classes, (n,).

        With more than two classes it is log p(y = c | x_i), (n, c), and the largest value wins. Moving the threshold on
        the log odds away from 0 is the same as moving the class prior. It trades precision against recall.
        """
        # log p(x_i, y = c) up to a term of each row, which differences and the normaliser cancel
        table = copy.copy(self)._joint_table(X, scores=True)  # (n, c)
        if table.shape[1] == 2:
            return table[:, 1] - table[:, 0]
        return log_normalize(table)

    def novelty_score(self, X: Any) -> np.ndarray:
        """log p(x_i) in nats, (n,), under the current `estimate`; low for rows that differ from the training rows.

        The score is log Σ_c p(x_i, y = c). Only compare it between rows: its level depends on the units and on the
        number of features. For counts of words it also depends on the length of the row.
        """
        log_joint = self.predict_joint_log_proba(X)
        return np.logaddexp.reduce(log_joint, axis=1)

    def predict_part_log_likelihood(self, X: Any) -> dict[str, np.ndarray]:
        """log p(x_i,part | y = c) in nats, a table (n, c) for each part, under the current `estimate`.

        `predict_joint_log_proba` is `class_log_prior_` plus the sum of these tables. `MixedNB` has one table for each
        of its `parts`, under the name of the part. All other estimators have one table, named "x". The leave-one-out
        tables of the training rows are `loo(X, y).by_block`.

        With `ComplementNB` the table is log p(x_i | y = c) of a composite likelihood, without its option `norm`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`
        """
        model = self.model_  # one state, whatever another thread fits meanwhile
        # a block is the columns that share one conjugate prior; a part of a `MixedNB` may have several blocks, such as
        # one for each number of levels, whose tables are added
        blocks_by_part = model.blocks_of_parts  # names of the blocks of each part
        block_names = [*blocks_by_part.values()]
        theta = model.estimator._point_estimate(model.state)  # parameters to plug in; None integrates them out
        posterior = model.posterior

        def tables_of(rows: Rows) -> np.ndarray:
            return posterior.log_parts(rows, block_names, theta)  # (parts, n, c)

        tables = model.estimator._table_of_all_rows(model.state, X, tables_of)
        return dict(zip(blocks_by_part, tables, strict=True))

    def _joint_table(self, X: Any, scores: bool = False, normalized: bool = False) -> np.ndarray:
        """log p(x_i, y = c) in nats, (n, c), under the current `estimate`, a slice of rows at a time.

        Parameters
        ----------
        X : rows as the user gives them
        scores : True leaves out terms that are equal in all classes of a row, such as multinomial coefficients
        normalized : True subtracts log p(x_i) from each row, which gives log p(y = c | x_i)
        """
        state = self._fitted()
        posterior = state.posterior
        theta = self._point_estimate(state)  # None integrates the parameters out
        rows, _, _ = self._validate(X, state)  # rows of X, checked, with the types that they have
        if theta is not None and is_sparse(rows):
            # for speed: the product of sparse rows and parameters (c, d) reads a column of all classes at once
            theta = map_leaves(np.asfortranarray, theta)

        def table_of_slice(part: slice) -> np.ndarray:
            rows_of_slice = cut_rows(rows, part)
            # log p(x_i, y = c), (rows, c), of rows as arrays by the name of a block of columns
            log_joint = posterior.log_table(self._rows_by_block(state, rows_of_slice), theta, scores=scores)
            # an infinite cell makes log p of its row the lowest number or NaN. So dense rows are not searched for
            # infinite cells before, but only if there is such a number
            if self._infinite_shows and not log_joint.min() > np.finfo(float).min:
                self._check_finite(rows_of_slice)
            return log_normalize(log_joint, out=log_joint) if normalized else log_joint

        # `by_rows` cuts the rows into slices, calls the function for each, in several threads, and joins the tables.
        # The last argument gives the smallest number of cells that is worth a slice, as in `NaiveBayes.log_joint`
        return by_rows(table_of_slice, {BLOCK: rows}, lambda: posterior.min_chunk_cells() // 8)

    def _table_of_all_rows(self, state: State, X: Any, table_of: Callable[[Rows], np.ndarray]) -> np.ndarray:
        """A table (…, n, c) of rows, made a slice of rows at a time, so that memory does not grow with the rows.

        Parameters
        ----------
        state : what was learnt of the columns, by which rows are validated and encoded
        X : rows as the user gives them
        table_of : rows by block, in float64 → their table (…, rows, c)
        """
        rows, _, _ = self._validate(X, state)

        # `by_rows` cuts the rows into slices, calls the function for each, and joins the tables along the rows
        def table_of_slice(part: slice) -> np.ndarray:
            return table_of(self._float_rows_by_block(state, cut_rows(rows, part)))

        return by_rows(table_of_slice, {BLOCK: rows}, state.posterior.min_chunk_cells)

    def _point_estimate(self, state: State) -> Parameters | None:
        """Parameters that prediction plugs in, by block; None where it integrates them out, which is the default."""
        return None

    @property
    def class_log_prior_(self) -> np.ndarray:
        """log p(y = c) in nats, (c,), as used for prediction under the current `estimate`."""
        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        state = nb._fitted()
        theta = nb._point_estimate(state)
        # None means "predictive": log p(y = c) with the class probabilities integrated out
        if theta is None:
            return state.posterior.classes.log_predictive()
        return theta[CLASS]["log_pi"]

    # --- how sure a prediction is -----------------------------------------------------------------------------------

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: Seed = None, *, draws: Any = None) -> np.ndarray:
        """Draws of the class probabilities p(y = c | x_i, θ) over the posterior of θ, (s, n, c).

        Their mean is the posterior mean of the class probability. It differs from `predict_proba`, which first averages
        the joint probability and then normalises.

        Parameters
        ----------
        n_draws, seed : number and seed of exact draws from the closed form
        draws : draws of θ from another sampler in their place, as in `predict_proba`; chains follow each other
        """
        from ..posterior.intervals import fix_seed, log_probability_draws

        check_least(1, n_draws=n_draws)
        state = self._fitted()
        valid_rows, _, _ = self._validate(X, state)
        rows = self._float_rows_by_block(state, valid_rows)
        if draws is not None:
            from ..posterior.given_draws import proba_at_draws

            return proba_at_draws(state.posterior, rows, draws)

        # exact draws. `log_probability_draws` gives log p(y = c | x_i, θ_s) of some rows at a time: a slice, and
        # (rows, c, s). The seed is made a number, so that all slices see the same draws of θ
        seed = fix_seed(seed)
        n_rows = next(iter(rows.values())).shape[0]
        proba = np.empty((int(n_draws), n_rows, len(state.classes)))
        for part, log_p in log_probability_draws(state.posterior, rows, int(n_draws), seed):
            np.exp(np.moveaxis(log_p, -1, 0), out=proba[:, part])
        return proba

    def predict_interval(
        self, X: Any, level: Scalar = 0.9, method: str = "auto", n_draws: int | None = None, seed: Seed = 0
    ) -> np.ndarray:
        """Equal-tailed credible interval of the class probability p(y = c | x_i, θ) over the posterior of θ, (n, c, 2).

        The interval shows how much the probability would change if the parameters were known. It describes the
        posterior and does not depend on `estimate`. The posterior mean is `sample_proba(X).mean(0)`. `predict_proba`
        averages the joint probability first, so it may lie outside the interval.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        method : "analytic" matches the first three moments of log p(x, y = c | θ). They are closed forms, so it needs
            no draws of θ. "draws" is the interval of `n_draws` draws of all parameters. "auto" is "analytic", except
            for models and rows whose shape three moments do not tell; there it is "draws". See the Notes
        n_draws : number of draws, by default 1,000, or 4,000 for the rows that "auto" finds too skewed. With
            "analytic" and more than two classes it is the number of points in c dimensions, by default 1,024, and
            is rounded up to a power of two
        seed : seed of the draws or points, which all rows share

        Raises
        ------
        ValueError
            if `level`, `method` or `n_draws` is out of range

        Notes
        -----
        The moments are exact. The shape, a shifted gamma for each class, is an approximation. We compared 90 %
        endpoints with those of 4,000 draws, fitted to half of the rows of digits, breast cancer, penguins and spam
        counts. They are 0.0001 to 0.0009 off on average, as are the draws themselves, and 89 to 91 % of the posterior
        is inside. With 12 to 40 rows they are 0.0004 to 0.007 off, again like the draws themselves. A single endpoint
        can be off by up to 1 if the probability jumps from 0 to 1 near the quantile. Two sets of draws do not agree
        there either.

        If classes share a variance or a covariance, the shared part is drawn at quasi-random points. Given it, the
        classes are independent, each with its exact distribution. For 5 to 150 rows of 3 to 6 classes, endpoints are at
        most 0.004 off on average, and a single one at most 0.07. With 1,000 draws these numbers are 0.01 and 0.27. The
        table is in the guide "How sure is it?", section "Intervals of coupled classes".

        "auto" uses draws for KernelNB, for which "analytic" is an error. It also uses them for rows where the skewness
        of some log p(x, y = c | θ) is above 1.3, as with few rows or concentrations below 1.

        We also compared intervals of 50, 90 and 99 % with 8,000 draws, for ten models of 5, 12 and 40 simulated rows.
        On average 49 to 51, 90 and 98.6 to 99 % of the posterior is inside. For a single class of a single row it is 44
        to 55, 87 to 93 and 97.5 to 99.6 %. With "analytic" the last interval may hold as little as 95 %.
        """
        from ..posterior.intervals import fix_seed, intervals

        state = self._fitted()
        fixed_seed = fix_seed(seed)

        # the rows are worked on in slices, whose tables (…, rows, c) are put together along the rows. `intervals` has
        # the two ends of an interval on the last axis, (rows, c, 2), so this axis is moved to the front, and back at
        # the end
        def ends_of(rows: Rows) -> np.ndarray:
            low_and_high = intervals(state.posterior, rows, level, method, n_draws, fixed_seed)  # (rows, c, 2)
            return np.moveaxis(low_and_high, 2, 0)  # (2, rows, c)

        ends = self._table_of_all_rows(state, X, ends_of)  # (2, n, c)
        return np.moveaxis(ends, 0, 2)

    def uncertainty(self, X: Any, method: str = "auto", n_draws: int | None = None, seed: Seed = 0) -> "Uncertainty":
        """Entropy of the label of each row in nats, split: fields `total`, `aleatoric`, `epistemic`, (n,) each.

        `total` is the entropy of the posterior mean of p(y | x_i, θ). `aleatoric` is the posterior mean of its entropy.
        `epistemic` is the difference: the mutual information of label and parameters, which shrinks as rows are added.
        All three describe the posterior and do not depend on `estimate`. The parameters are those of
        `predict_interval`.
        """
        from ..posterior.intervals import Uncertainty, fix_seed, uncertainty

        state = self._fitted()
        fixed_seed = fix_seed(seed)

        def entropies_of(rows: Rows) -> np.ndarray:
            entropies = uncertainty(state.posterior, rows, method, n_draws, fixed_seed)  # three arrays (rows,)
            # the slices of rows are put together as tables (…, rows, c): here three tables with a single column
            return np.stack(entropies)[..., None]  # (3, rows, 1)

        table = self._table_of_all_rows(state, X, entropies_of)  # (3, n, 1)
        return Uncertainty(*table[..., 0])

    def explain(
        self,
        X: Any,
        *,
        against: Any = None,
        n: int | None = None,
        level: Scalar = 0.9,
        n_draws: int = 1000,
        seed: Seed = 0,
        feature_names: Any = None,
    ) -> "pd.DataFrame":
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
        feature_names : (d,) names of the features, where X has none, as sparse counts of words. Or the fitted pipeline
            or transformer that made X. `bayesnb.explain` takes the whole pipeline and its texts

        Returns
        -------
        pandas.DataFrame
            columns row (0 … n−1), class_, feature, value, contribution, low and high. The first entry of each row is
            "(class prior)". "(other features)" is the sum of all features that are not listed, if there are any.
            Features are sorted by the size of their contribution to the class

        Raises
        ------
        ValueError
            if `against` is not a class, if a setting is out of range, or if there is not one name for each feature

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
        model = self.model_  # one state, whatever another thread fits meanwhile
        labels = model.labels_of_features(feature_names)
        contributions, b = model.contributions(X, against=against, n=n, level=level, n_draws=n_draws, seed=seed)
        return model.estimator._frame(contributions, X, b, labels)

    def _check_likelihood(self) -> None:
        """Raise a ValueError if the settings make predictions that come from no likelihood."""

    def _frame(self, contributions: "Contributions", X: Any, b: int | None, labels: np.ndarray) -> "pd.DataFrame":
        """The frame of `explain`: for each row and class the prior, the features by size, then all other features.

        Parameters
        ----------
        contributions : e entries, one for each row and listed feature: `row` and `feature` (e,), and a value for each
            class with its interval, `value`, `low` and `high` (e, c)
        X : the rows as the user gave them, of which the frame shows cells
        b : position of the class that the odds are against, which has no entries; None if there is none
        labels : (d,) what the features are called
        """
        import pandas as pd

        from ..posterior.explanation import OTHERS

        state = self._fitted()
        # `feature` is the number of a column, or PRIOR = −1 or OTHERS = −2, which as indices count from the end: they
        # are the last name and the one before it
        names = np.array([*labels, "(other features)", "(class prior)"], object)
        is_feature = contributions.feature >= 0
        cells = _cells_at(X, contributions.row, contributions.feature, is_feature)  # (e,), the cell of each entry or ""

        # the place of each kind of entry within its row: the class prior first, then the features, then all others
        rank = np.zeros(len(is_feature), int)
        rank[is_feature] = 1
        rank[contributions.feature == OTHERS] = 2

        # a frame for each class, sorted by row, then by rank, then by size, the largest first
        frames = []
        for k, label in enumerate(state.classes):
            if k == b:
                continue
            frame = pd.DataFrame(
                {
                    "row": contributions.row,
                    "class_": np.full(len(is_feature), label, state.classes.dtype),
                    "feature": names[contributions.feature],
                    "value": cells,
                    "contribution": contributions.value[:, k],
                    "low": contributions.low[:, k],
                    "high": contributions.high[:, k],
                }
            )
            size = abs(contributions.value[:, k])
            # `lexsort` takes the keys in reverse: first by row, within a row by rank, and within a rank by −size
            order = np.lexsort([-size, rank, contributions.row])
            frames.append(frame.iloc[order])

        # the frames of the classes stand one below the other, so that row 0 comes once in each. Sorted by row, all of
        # its entries stand together, class after class: a stable sort keeps the order of the entries with one row
        return pd.concat(frames).sort_values("row", kind="stable", ignore_index=True)

    # --- new rows, and rows that are left out -----------------------------------------------------------------------

    def sample(self, n_samples: int = 1, seed: Seed = None, *, source: str = "posterior", length: Any = None) -> Any:
        """New rows and labels from the predictive; each row has its own draw of the parameters.

        Parameters
        ----------
        n_samples, seed : number of rows, and seed or NumPy generator of the draws
        source : "posterior" or "prior": the distribution from which the parameters are drawn
        length : number of events of a row of `MultinomialNB`, a number or (n,); by default the rounded average of the
            training rows. Other likelihoods ignore it

        Returns
        -------
        X : (n, d) in the form of the input
        y : (n,) labels
        """
        state = self._fitted()
        check_least(0, n_samples=n_samples)
        check_choice("source", source, ("posterior", "prior"))
        # a new row is drawn in the form in which the model holds rows: numbers or codes of levels, by the name of a
        # block of columns; `_as_input` makes cells of X of them, and `y` are class indices
        rng = generator(seed)
        model = state.posterior if source == "posterior" else state.prior  # the density of the parameters
        if source == "prior" and model.is_improper:
            model.require_proper("draws from the prior")  # raises an error with the reason
        rows, y = self._draw_rows(state, model, rng, int(n_samples), length)
        return self._as_input(state, rows), state.classes[y]

    def _draw_rows(
        self, state: State, model: Any, rng: np.random.Generator, n: int, length: Any
    ) -> tuple[Rows, np.ndarray]:
        """n new rows by block, and their class indices (n,), from the predictive of a model.

        Parameters
        ----------
        state : with the classes, and with statistics for the average length
        model : the prior or the posterior
        rng : NumPy's generator
        length : number of events of a row of counts whose total is given, or (n,); None is the average of the training
            rows
        """
        raise NotImplementedError

    def _as_input(self, state: State, rows: Rows) -> Any:
        """Rows by block as an array like the one fitted."""
        return rows[BLOCK]

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None) -> "LooResult":
        """Exact leave-one-out: each training row is predicted from all other rows, without a refit. See `LooResult`.

        The result always uses the posterior predictive. It ignores `estimate`, and `norm` of `ComplementNB`. Its `elpd`
        sums log p(y | x) over the rows, and its `elpd_joint` log p(x, y). On iris GaussianNB has −20.3 and −388 nats.

        Parameters
        ----------
        X, y, sample_weight : all or some of the rows, as they were fitted; a row is left out with its whole weight
        prior : "kept" (default) keeps the prior of the fit. If the data scale the prior, row i then has a share in it.
            "refit" removes row i from the scale of the prior too. The result equals a fit on all other rows
        groups : (n,), optional
            labels of groups of rows that are left out together, such as repeated measures of one subject. Row i is then
            predicted from the rows of all other groups

        Raises
        ------
        ValueError
            if some of the rows cannot have been fitted, or if `prior` or `groups` is not one of the above
        """
        from ..posterior.loo import loo

        return loo(self.model_, X, y, sample_weight, prior=prior, groups=groups)

    # --- what classes of estimators answer differently, for `ModelView` ---------------------------------------------

    def _part_views(self, state: State) -> list[PartView]:
        """The parts of the model; a `MixedNB` has several."""
        block_names = {name: name for name in self._block_columns(state)}
        return [PartView(BLOCK, ModelView(self, state), block_names)]

    def _levels_of(self, state: State, feature: int) -> Any:
        """Labels of the levels of the column at a position, (k,); None where it has no levels."""
        return None

    def _block_labels(self, state: State, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class."""
        return {"feature": state.columns.labels}

    def _block_dims(self, state: State, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis."""
        dims = list(self._block_labels(state, block))  # names of the axes after the class, as ["feature", "level"]
        if ndim == 1:
            return dims[:1]
        return ["class", *dims[: ndim - 1]]

    def _tie_prior(self, state: State) -> np.ndarray:
        """log p(y = c), (c,): of equally probable labels that with the larger one is predicted."""
        return state.posterior.classes.log_predictive()

    @property
    def _ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not, such as "estimate='map'"; else ""."""
        return ""

    @property
    def _class_prior_parameter(self) -> str:
        """The parameter that holds fixed class probabilities."""
        raise NotImplementedError

    def _linear_form(self, state: State, theta: Parameters | None) -> tuple[Any, Any]:
        """Weights (k, c) and intercepts (c,) of the discriminant; AttributeError if it is not linear."""
        raise Unavailable(f"{type(self).__name__} has no linear form")

    def _weight_labels(self, state: State, names: np.ndarray) -> np.ndarray:
        """A label for each weight of the linear form, (k,), from names of the columns, (d,)."""
        raise Unavailable(f"{type(self).__name__} has no linear form")


def _cells_at(X: Any, rows: np.ndarray, features: np.ndarray, is_feature: np.ndarray) -> np.ndarray:
    """The cells of a table that entries are about, as objects, (e,); an empty text where an entry is no feature.

    Parameters
    ----------
    X : rows in any form that `predict` takes
    rows, features : (e,) position of each entry's cell
    is_feature : (e,) whether the entry is about a cell
    """
    table = as_table(X)  # a data frame of pandas, an array, a sparse array or a list
    cells = table.tocsr() if is_sparse(table) else np.asarray(table, object)  # both can be indexed by pairs
    # entry i is about the cell (rows[i], features[i]); both CSR arrays and NumPy arrays take two arrays of positions
    values = np.full(len(rows), "", object)
    if is_feature.any():
        cells_of_features = cells[rows[is_feature], features[is_feature]]
        values[is_feature] = np.ravel(cells_of_features)  # older sparse matrices give a matrix (1, m)
    return values
