"""Estimators of naive Bayes: the class prior, point estimates, the linear form, the parameters, and the NumPyro model.

Each method reads the state once, at its start. Methods that hand the estimator on take a copy first, which keeps it.
"""

import copy
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..families.classes import AbstractClasses, DirichletClasses, FixedClasses
from ..models.naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..numerics.arrays import Scalar
from ..numerics.random import categorical
from ..numerics.supports import (
    COUNT,
    GIVEN_TOTALS,
    SIMPLEX,
    as_numbers,
    check_choice,
    check_least,
    check_level,
    checked_numbers,
    is_single,
    shortened,
)
from ..tables.names import did_you_mean, listed
from ._fitted import State
from ._input import BLOCK, Unavailable, align, boolean, checked_labels, classes_of, places_of
from ._predicting import AbstractBayes
from ._priors import with_own_prior

if TYPE_CHECKING:
    import pandas as pd

    from ..check.report import CheckReport
    from ._prior_summary import PriorSummary

ESTIMATES = "predictive", "mean", "map", "mle"


@dataclass(kw_only=True, eq=False, repr=False)
class AbstractNB(AbstractBayes):
    """What all naive Bayes estimators share."""

    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    # --- the prior --------------------------------------------------------------------------------------------------

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """Prior blocks where no `prior` is given; with statistics in the state those of the data's scale."""
        raise NotImplementedError

    def _blocks(self, state: State) -> dict[str, Any]:
        """Prior blocks by name, with the user's `prior`; without statistics any that can compute them."""
        blocks = self._default_blocks(state)
        if self.prior is None:
            return blocks
        return with_own_prior(self, state, blocks)

    def _prior(self, state: State) -> Any:
        """The model before the rows, that the hyperparameters stand for; its scale may be that of the statistics."""
        return NaiveBayes(self._class_prior(state), self._blocks(state))

    def _model_of_statistics(self, state: State) -> Any:
        """A model used only to compute statistics; its numbers do not matter."""
        return NaiveBayes(None, self._blocks(state))  # type: ignore[arg-type]  # no label is asked for

    @property
    def _class_prior_parameter(self) -> str:
        """The parameter that holds fixed class probabilities: of scikit-learn's two names that in use."""
        if self.class_prior is not None and self.priors is not None:
            raise Unavailable("`class_prior` and `priors` mean the same, and both are given. Leave one of them out")
        return "class_prior" if self.priors is None else "priors"

    def _class_prior(self, state: State) -> AbstractClasses:
        """The prior of the labels, by the first case that applies.

        1. `class_prior` (or `priors`) is given: fixed probabilities
        2. `fit_prior` is False: fixed and equal probabilities
        3. otherwise they are learnt, with the prior Dirichlet(class_alpha)

        Parameters
        ----------
        state : with the classes, in whose order a Series of pandas is put
        """
        name = self._class_prior_parameter  # "class_prior" or "priors"
        probabilities = getattr(self, name)
        n_classes = len(state.classes)

        if probabilities is not None:
            requirement = f"{n_classes} {SIMPLEX.describe()}, in the order of `classes_`"
            # `align` puts a Series of pandas in the order of the classes; `as_numbers` makes float64 of it, or raises
            # an error that states the requirement. `SIMPLEX.holds`: no number is negative, and the sum is 1
            pi = as_numbers(name, align(name, probabilities, state.classes), requirement)
            if pi.shape != (n_classes,) or not SIMPLEX.holds(pi):
                raise ValueError(f"`{name}` is {shortened(probabilities)}; it needs {requirement}")
            return FixedClasses(pi / pi.sum())  # a sum of one to all digits

        if not boolean("fit_prior", self.fit_prior):
            return FixedClasses(np.full(n_classes, 1 / n_classes))

        alpha = align("class_alpha", self.class_alpha, state.classes)
        # `checked_numbers` broadcasts to (c,), and raises an error unless all are positive
        return DirichletClasses(np.array(checked_numbers("class_alpha", alpha, (n_classes,))))

    def _concentration(self, state: State, shape: tuple[int, ...]) -> np.ndarray:
        """scikit-learn's `alpha` and `force_alpha` as concentrations of a prior, for estimators that have them.

        With force_alpha=False values below 1e-10 are raised to it, as in scikit-learn; a proper prior has no zeros.

        Parameters
        ----------
        state : with classes and columns, in whose order pandas objects are put
        shape : of the result, to which `alpha` has to broadcast
        """
        alpha = align("alpha", self.alpha, state.classes, state.columns.names)
        if not boolean("force_alpha", self.force_alpha):
            alpha = np.maximum(as_numbers("alpha", alpha, COUNT.describe()), 1e-10)
        return checked_numbers("alpha", alpha, shape)

    def _with_prior(self, state: State) -> State:
        """The state with the prior that the hyperparameters give beside its statistics."""
        check_choice("estimate", self.estimate, ESTIMATES)
        return super()._with_prior(state)

    # --- point estimates --------------------------------------------------------------------------------------------

    def _point_estimate(self, state: State) -> Parameters | None:
        """Parameters that `estimate` plugs in; None for "predictive".

        - "predictive" : none, because the parameters are integrated out
        - "mean" : the mean of the posterior
        - "map" : the mode of the posterior. Where the mode is not unique the posterior takes its mean
        - "mle" : what maximises the likelihood of the rows; of a class without rows, what the prior says

        Warns if the mode lies on the boundary of the parameter space, where probabilities are 0.

        Parameters
        ----------
        state : what was learnt, with the statistics of the rows, the prior, and the posterior

        Returns
        -------
        by block the mapping from parameter to array, such as {"class": {"log_pi": (c,)}, "x": {"mu": (c, d), …}}, in
        the basis in which the closed form holds them: log probabilities, logits, means
        """
        estimate = self.estimate
        if estimate == "predictive":
            return None
        check_choice("estimate", estimate, ESTIMATES)  # a ValueError if it is none of the four

        # a Dirichlet or beta density with a pseudo-count of 1 or less has its largest values at the boundary, where a
        # probability is 0
        if estimate == "map" and state.posterior.on_boundary():
            warnings.warn(
                "the posterior mode has parameters on the boundary (a concentration of at most 1): some probabilities "
                "are zero, and the smallest positive number replaces them, or the posterior mean where the mode is "
                "not unique. Use estimate='predictive', or concentrations above 1.",
                stacklevel=3,
            )
        if estimate == "mle":
            theta = state.prior.mle(state.statistics)  # a method of the prior, which is used for classes without rows
        elif estimate == "mean":
            theta = state.posterior.mean()
        else:
            theta = state.posterior.mode()
        return self._refined(state, theta)  # variances may be smoothed, singular covariances refused

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        """A point estimate as prediction uses it; raises ValueError where it cannot be plugged in."""
        return theta

    def _parameter(self, name: str) -> np.ndarray:
        """A parameter of the only block under the current estimate; the posterior mean for "predictive".

        Parameters
        ----------
        name : in the basis of the block, such as "logit_theta"
        """
        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        state = nb._fitted()
        theta = nb._point_estimate(state) or state.posterior.mean()
        return theta[BLOCK][name]

    def _tie_prior(self, state: State) -> np.ndarray:
        """log p(y = c), (c,), as it is estimated: of equally probable labels that with the larger one is predicted."""
        if self.estimate == "mle":
            return state.posterior.classes.mle(state.statistics.n)["log_pi"]
        return super()._tie_prior(state)

    @property
    def _ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not, such as "estimate='map'"; else ""."""
        return "" if self.estimate == "predictive" else f"estimate={self.estimate!r}"

    # --- the linear discriminant ------------------------------------------------------------------------------------

    def _linear_form(self, state: State, theta: Parameters | None) -> tuple[Any, Any]:
        """Weights (k, c) and intercepts (c,) of the discriminant; AttributeError if it is not linear."""
        theta = theta or self._point_estimate(state) or state.posterior.mean()  # `_point_estimate` may be None

        # a block is the columns that share one conjugate prior. Of each block its weights (k_block, c) and intercepts
        # (c,), such that log p(x_block | y = c) = x·w_c + b_c; None if it is not linear in x
        forms = [block.linear_form(theta[name]) for name, block in state.posterior.blocks.items()]
        if None in forms:
            raise AttributeError(f"{type(self).__name__} has no linear form with these settings")

        # log p(x, y = c) is the sum of the blocks and log π_c: weights lie side by side, intercepts add
        weights = np.concatenate([block_weights for block_weights, _ in forms])
        intercept = sum(block_intercept for _, block_intercept in forms)
        return weights, intercept + theta[CLASS]["log_pi"]

    def _weight_labels(self, state: State, names: np.ndarray) -> np.ndarray:
        """A label for each weight of the linear form, (k,), from names of the columns, (d,)."""
        return names

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the linear discriminant, (c, d); two classes give their difference (1, d), as in scikit-learn.

        With "predictive" the discriminant is linear only if it equals plugging in the posterior mean. Otherwise these
        are the weights of the posterior mean.
        """
        model = self.model_  # one state, whatever another thread fits meanwhile
        weights, _ = model.linear_form()  # (k, c), for k columns, or k levels of all columns
        coef = weights.T  # (c, k)
        if coef.shape[1] != model.state.columns.n:
            raise AttributeError(f"{type(self).__name__} is linear in levels, not in `X`; use rank_features")
        return coef[1:] - coef[:1] if len(coef) == 2 else coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of the linear discriminant, which includes the log class prior; (c,), or (1,) for two classes."""
        _, intercept = self.model_.linear_form()
        return intercept[1:] - intercept[:1] if len(intercept) == 2 else intercept

    # --- the parameters, and how well they fit ----------------------------------------------------------------------

    def tables(
        self, features: Any = None, *, level: Scalar = 0.9, feature_names: Any = None
    ) -> "dict[Any, pd.DataFrame]":
        """The parameters of each feature as a data frame with credible intervals, like R's `tables()`.

        Parameters
        ----------
        features : names or numbers of features, or one of them; None takes all
        level : posterior mass inside the intervals, between 0 and 1
        feature_names : (d,) names of the features, where the rows had none, as sparse counts of words. Or the fitted
            pipeline or transformer that made the rows

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
            if a feature is unknown, if `level` is out of range, or if there is not one name for each feature

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> nb = BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
        >>> nb.tables()[0].round(2).to_string(index=False).split()[5:]
        ['a', 'P(1)', '0.60', '0.25', '0.90', 'b', 'P(1)', '0.33', '0.03', '0.78']
        """
        from ..posterior.tables import tables

        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        if feature_names is not None:
            nb.feature_names_in_ = nb.model_.labels_of_features(feature_names)
        columns = nb._fitted().columns
        check_level(level)

        # the features that were asked for, as names or numbers, and their positions in X. A name or a number by itself,
        # which `is_single` tells from a list, is one feature
        all_names = columns.labels.tolist()
        if features is None:
            names = all_names
        elif is_single(features):
            names = [features]
        else:
            names = list(features)
        positions: list[Any] = [columns.place(name) for name in names]  # None where there is no such column
        if None in positions:
            unknown = names[positions.index(None)]
            similar = did_you_mean(unknown, all_names)
            raise ValueError(f"`features` has {unknown!r}; the features are {listed(all_names)}{similar}")
        return dict(zip(names, tables(nb, positions, level), strict=True))

    def prior_summary(self) -> "PriorSummary":
        """The prior in words: each density, the range of its parameters, and their estimates from the rows alone.

        Returns
        -------
        a text of at most 20 priors; columns with the same prior share one entry. For each parameter it gives the prior
        median, the range of 90 % of the prior over all classes, and the range of the maximum likelihood estimates of
        the classes, in the unit of the column

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> nb = BernoulliNB(prior={"a": 2, "b": 8}).fit([[0], [0], [1], [1], [0]], [0, 0, 0, 1, 1])
        >>> nb.prior_summary()
        Prior of BernoulliNB, beside 5 rows of 2 classes
        classes ~ Dirichlet(1): 2 pseudo-rows
        column 0 ~ Beta(2, 8)
            probability: 0.1796, 90 % in 0.041 to 0.429; the rows alone: 0.333 to 0.5
        """
        from ._prior_summary import prior_summary

        return prior_summary(copy.copy(self))

    @property
    def log_evidence_(self) -> float:
        """log p(X, y) of all training rows in nats, with all constants."""
        # log p(X, y) = Σ over labels and blocks of the log marginal likelihood, the parameters integrated out
        state = self._fitted()
        for block in state.prior.blocks.values():
            if block.evidence_error:  # the reason why there is none, such as an improper prior
                raise AttributeError(f"{type(self).__name__} has no log_evidence_: {block.evidence_error}")
        return float(state.prior.log_marginal(state.statistics))

    # --- new rows, draws, and NumPyro -------------------------------------------------------------------------------

    def _draw_rows(
        self, state: State, model: Any, rng: np.random.Generator, n: int, length: Any
    ) -> tuple[Rows, np.ndarray]:
        """As in `AbstractBayes`: the labels first, then of each block a draw of the parameters for each row."""
        # first the label of each row, then its columns given the label. A block is the columns that share one conjugate
        # prior; it draws parameters and then cells (n, d_block)
        log_pi = model.classes.log_predictive()  # (c,)
        y = categorical(rng, np.broadcast_to(log_pi, (n, len(state.classes))))
        rows = {}
        for name, block in model.blocks.items():
            # a multinomial has a measure `GIVEN_TOTALS`: it says how the events of a row divide, but not how many there
            # are
            if block.cells_.measure == GIVEN_TOTALS:
                events = _average_length(state, name) if length is None else length
                rows[name] = block.sample_predictive(rng, y, length=events)
            else:
                rows[name] = block.sample_predictive(rng, y)
        return rows, y

    def numpyro_model(
        self,
        X: Any = None,
        y: Any = None,
        *,
        n: int | None = None,
        length: Any = None,
        classes: Any = None,
        n_features: int | None = None,
    ) -> None:
        """The generative model in NumPyro with this estimator's prior: `MCMC(NUTS(nb.numpyro_model)).run(key, X, y)`.

        Its posterior is `posterior_`, and its normaliser the evidence. With `KernelNB` the rows enter as a product of
        leave-one-out densities, which is no density of them: X and y are both needed, and there is no evidence.

        It may be traced by JAX: `jax.jit(svi.update)`, `MCMC(…, jit_model_args=True)`. Traced rows and labels cannot be
        checked. Cells of levels must then be codes 0 … K−1, and labels that are no numbers must be places among
        `classes_`.

        Parameters
        ----------
        X : rows as in `predict`; with None the model draws them, which is a prior simulation
        y : labels as in `fit`. With None they are a latent discrete site that is enumerated in parallel. NUTS and
            `TraceEnum_ELBO` then sum them out, and `Predictive(…, infer_discrete=True)` draws them given X. NumPyro
            needs the package funsor for that: `pip install funsor`. A plain `Predictive` ignores X and
            draws labels from their prior
        n : number of rows, if X and y are None. With rows it is the number that they stand for: of a minibatch the
            likelihood is raised to the power n / number of rows, as `numpyro.plate(…, subsample_size=…)` does
        length : number of events of a row, a number or (n,), if X is None and rows are counts with given totals
            (`MultinomialNB`). The default is the rounded average of the training rows
        classes, n_features : labels and number of columns, for the model before a fit. Where the rows scale the default
            prior, it needs a `prior` of its own

        Examples
        --------
        >>> import jax, numpyro
        >>> from bayesnb import BernoulliNB, GaussianNB
        >>> nb = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> simulated = numpyro.infer.Predictive(nb.numpyro_model, num_samples=3)(jax.random.key(0), n=7)
        >>> simulated["x"].shape, simulated["y"].shape
        ((3, 7, 1), (3, 7))
        >>> before = {"n": 7, "classes": ["ham", "spam"], "n_features": 4}  # no fit: the prior predictive
        >>> numpyro.infer.Predictive(BernoulliNB().numpyro_model, num_samples=3)(jax.random.key(0), **before)["x"].shape
        (3, 7, 4)
        """
        from ..posterior.twin_rows import rows_that_stand_for

        # the prior: with `classes` or `n_features` there is no fit, and it has to follow from the settings alone
        if classes is not None or n_features is not None:
            nb = self._before_a_fit(classes, n_features)
            state = nb._known_state()
        else:
            nb = copy.copy(self)
            state = nb._fitted()
        prior = nb._prior(state) if state.prior is None else state.prior  # a state without rows has no prior yet
        prior.require_proper("draws from its generative model")  # or a ValueError with the reason

        # rows and labels as the prior takes them: columns by block, and class indices
        if X is None and length is None:
            length = _default_length(state, prior)
        rows = None if X is None else nb._numpyro_rows(state, X)
        class_index = None if y is None else nb._numpyro_labels(state, y)
        with rows_that_stand_for(n, rows):  # scales the likelihood of a minibatch
            prior.model(rows, class_index, n, length)

    def _numpyro_rows(self, state: State, X: Any) -> Rows:
        """Rows by block for the NumPyro model; without checks if JAX traces them, because they have no values then."""
        from ..posterior.twin_rows import is_traced

        if is_traced(X):
            return self._traced_rows_by_block(state, X)
        return self.model_.encode(X)

    def _traced_rows_by_block(self, state: State, X: Any) -> Rows:
        """Rows that JAX traces as columns by block."""
        return {BLOCK: X}

    def _numpyro_labels(self, state: State, y: Any) -> Any:
        """Class indices (n,) of labels, for the NumPyro model.

        Labels are traced if JAX compiles the model (`jax.jit`): they then have no values yet, and cannot be checked. If
        the classes are texts, JAX cannot hold labels, so traced ones are class indices already.

        Parameters
        ----------
        state : with the classes
        y : (n,) labels, or class indices as above
        """
        from ..posterior.twin_rows import is_traced

        if not is_traced(y):
            return places_of(checked_labels(y), state.classes)
        # traced labels: numbers (kinds boolean, integer, float) are labels, and all else are class indices already
        are_classes_numbers = state.classes.dtype.kind in "biuf"
        if not are_classes_numbers:
            return y

        # the classes are sorted, so a binary search gives the position of each label
        import jax.numpy as jnp

        return jnp.searchsorted(jnp.asarray(state.classes), y)

    def _before_a_fit(self, classes: Any, n_features: int | None) -> Self:
        """A copy of the estimator that knows its labels and the number of its columns, and has seen no rows.

        Its prior follows from the settings alone, so `numpyro_model` can draw from it before there are data: this is a
        prior predictive simulation. A `GaussianNB`, say, whose default prior has the mean and spread of the rows, has
        none before a fit; that is an error.

        Parameters
        ----------
        classes : labels, of which the distinct ones are the classes
        n_features : number of columns of X
        """
        if classes is None or n_features is None:
            missing = "classes" if classes is None else "n_features"
            raise ValueError(f"`{missing}` is None; before a fit the model needs `classes` and `n_features`")
        check_least(1, n_features=n_features)
        if self._prior_follows_rows:  # whether the rows scale the prior
            raise ValueError(
                f"the rows scale the default prior of {type(self).__name__}, so there is none before a fit; "
                "give `prior`, or fit first"
            )
        labels, _ = classes_of(np.asarray(classes))  # distinct and sorted

        # `_with_columns` is the step of a fit that learns what the columns are: their number, their names and the
        # levels of each. It learns no statistics, and never counts a row. It reads the number of columns off a table,
        # so it gets a table with one row. What its cells are does not matter, except to features with levels: these
        # have the level 0, and those that `min_categories` asks for
        row_of_zeros = np.zeros((1, int(n_features)))
        return self._with_columns(row_of_zeros, labels)

    def sample_posterior(
        self,
        draws: int = 1000,
        seed: int = 0,
        method: str = "exact",
        *,
        X: Any = None,
        y: Any = None,
        chains: int = 4,
        warmup: int = 1000,
        sites: bool = False,
    ) -> Any:
        """Posterior draws as ArviZ data; the dimensions are named class and feature and have labels as coordinates.

        Variables have the names of the sites of `numpyro_model`. Where columns have levels of their own, each has its
        own variable, such as `island.theta`, whose axis `island_level` has the words.

        Parameters
        ----------
        draws : number of draws in each chain
        seed : seed of NumPy's generator ("exact") or of the JAX key ("nuts"); equal seeds give equal draws on one
            machine
        method : "exact" gives independent draws from the closed form. "nuts" runs NumPyro's NUTS on the same model, on
            the rows if they are given and otherwise on the sufficient statistics
        X : training rows or new rows; each draw of the parameters comes with class probabilities and a label of each
            row. The index of a data frame is the coordinate `row`
        y : their labels; they add the groups log_likelihood and observed_data, and NUTS then runs on these rows
        chains, warmup : number of chains of either method; warm-up draws of NUTS
        sites : True adds to log_likelihood the observed sites, as `arviz.from_numpyro` has them: `y`, the log class
            probability π of the label, and `x`, log p(x_i | y_i, θ), of `MixedNB` one of each part; the sum is `joint`

        Returns
        -------
        arviz.InferenceData (ArviZ below 1) or xarray.DataTree
            posterior           draws of the parameters
            prior, log_prior    draws of a proper prior; its log density at each draw of the posterior, nats
            sample_stats        of NUTS: divergences, energy
            constant_data       x; with the rows
            posterior_predictive, prior_predictive
                                `p`, p(y = c | x_i, θ), and `y`, the index of a label drawn from it, with the labels as
                                the coordinate `class`; with labels also `x`, a row drawn from p(x | y_i, θ)
            observed_data       `y` and `x`; with the labels
            log_likelihood      `joint`, log p(x_i, y_i | θ), and `y_given_x`, log p(y_i | x_i, θ), nats; with labels

            `arviz.loo(…, var_name="joint")` estimates `elpd_joint` of `loo`, and `var_name="y_given_x"` its `elpd`.
            With `KernelNB` there is no log_likelihood, because its density at a training row contains the row's own
            kernel. Use `loo`. Arrays of more than 50 million numbers are left out, with a warning

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"]
        >>> data = BernoulliNB().fit(X, y).sample_posterior(draws=500, X=X, y=y)
        >>> sorted(data["log_likelihood"].data_vars), sorted(data["posterior_predictive"].data_vars)
        (['joint', 'y_given_x'], ['p', 'x', 'y'])
        >>> data["posterior_predictive"]["p"].dims
        ('chain', 'draw', 'row', 'class')
        """
        from ..posterior.sampling import sample_posterior

        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        return sample_posterior(nb, draws, seed, method, X=X, y=y, chains=chains, warmup=warmup, sites=sites)

    def check(self, X: Any, y: Any, seed: int = 0, *, sample_weight: Any = None, **settings: Any) -> "CheckReport":
        """Compare the closed form with NumPyro on data: Bayes' identity, mode, posterior, prediction.

        The estimator does not change: a clone is fitted to one half of the rows.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        sample_weight : (n,) weights of an integer type, which count rows: the report is that of the repeated rows
        settings : `false_alarm` (.01), the probability that a correct model fails one of the statistical rows by
            chance, and `on_row`, which is called with each row of the report when it is done

        Raises
        ------
        ValueError
            if there are fewer than two rows, if a setting is out of range, or if the model has no free parameter. Also
            if weights are importance, which NumPyro's model does not have
        """
        from ..check.check import check

        return check(self, X, y, sample_weight, seed=seed, **settings)


def _default_length(state: State, prior: Any) -> int | None:
    """The average number of events of a row, where a block's rows are counts with given totals; otherwise None."""
    # blocks of multinomial counts, whose rows need a number of events
    names = [name for name, block in prior.blocks.items() if block.cells_.measure == GIVEN_TOTALS]
    if not names:
        return None
    if state.statistics is None:
        raise ValueError("`length` is None; before a fit give the number of events of a row, a number or (n,)")
    return _average_length(state, names[0])


def _average_length(state: State, name: str) -> int:
    """Rounded average of the number of events of a row, in the block of that name."""
    n_events = state.statistics.blocks[name].n.sum()  # (c, d) counts of each event in each class
    n_rows = state.statistics.n.sum()  # (c,) weights of the classes; 0 before any rows
    return round(n_events / max(n_rows, 1))
