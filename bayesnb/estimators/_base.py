"""The scikit-learn shell: validate, encode labels, call the core, return NumPy.

What an estimator learns is `statistics_`; `prior_` and `posterior_` follow from it and are frozen. The shell has rooms,
each built on the one before: `_state` (how attributes are replaced), `_input` (checks), `_declared` (which cells there
may be), `_prior_of_settings`, `_fitting`, `_prediction`, `_explaining`, `_reading` (what analyses may ask),
and this one: what the posterior says without rows, and what goes to NumPyro and ArviZ.
"""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.random import categorical, generator
from ..core.supports import GIVEN_TOTALS, check_choice
from ..io import Saved
from ..naive_bayes import Parameters
from ._reading import AbstractReadable
from ._state import LazyPosterior

if TYPE_CHECKING:
    from ..inference.loo import LooResult
    from ..inference.report import CheckReport
    from ._prior_summary import PriorSummary

_Conditioned = LazyPosterior  # its name in pickles of version 0.1


class AbstractNB(Saved, AbstractReadable):
    """What all naive Bayes estimators share."""

    @property
    def log_evidence_(self) -> float:
        """log p(X, y) of all training rows in nats, with all constants."""
        for block in self._fitted_state().prior.blocks.values():
            if block.no_evidence:
                raise AttributeError(f"{type(self).__name__} has no log_evidence_: {block.no_evidence}")
        return float(self._fitted_state().prior.log_marginal(self._conditioned.statistics))

    def _linear_form(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (d, c) and intercepts (c,) of the discriminant under the current estimate."""
        return self.linear_form(self._theta() or self._fitted_state().posterior.mean())

    def linear_form(self, theta: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Weights (k, c) and intercepts (c,) of the discriminant at given parameters. Provisional.

        Raises
        ------
        AttributeError
            if it is not linear
        """
        forms = []
        for name, block in self._fitted_state().posterior.blocks.items():
            if (form := block.linear_form(theta[name])) is None:
                raise AttributeError(f"{type(self).__name__} has no linear form with these settings")
            forms.append(form)
        weights = np.concatenate([weights for weights, _ in forms])
        return weights, sum(intercept for _, intercept in forms) + theta["class"]["log_pi"]

    def _weight_labels(self, names: np.ndarray | None) -> np.ndarray:
        """A label for each weight of the linear form, (d,)."""
        return np.arange(self.n_features_in_) if names is None else names

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the linear discriminant, (c, d); two classes give their difference (1, d), as in scikit-learn.

        With "predictive" the discriminant is linear only if it equals plugging in the posterior mean. Otherwise these
        are the weights of the posterior mean.
        """
        weights = self._linear_form()[0].T
        if weights.shape[1] != self.n_features_in_:
            raise AttributeError(f"{type(self).__name__} is linear in levels, not in `X`; use rank_features")
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of the linear discriminant, which includes the log class prior; (c,), or (1,) for two classes."""
        intercept = self._linear_form()[1]
        return intercept[1:] - intercept[:1] if len(intercept) == 2 else intercept

    def sample(
        self, n_samples: int = 1, seed: int | np.random.Generator | None = None, *, source: str = "posterior"
    ) -> Any:
        """New rows and labels from the predictive; each row has its own draw of the parameters.

        Parameters
        ----------
        source : "posterior" or "prior": the distribution from which the parameters are drawn

        Returns
        -------
        X : (n, d) in the form of the input
        y : (n,) labels
        """
        return self._sample(n_samples, seed, source)

    def _sample(
        self, n_samples: Any, seed: int | np.random.Generator | None, source: str, length: Any = None
    ) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 0:
            raise ValueError(f"`n_samples` is {n_samples!r}; it needs to be a whole number, at least 0")
        check_choice("source", source, ("posterior", "prior"))
        model = self._fitted_state().posterior if source == "posterior" else self._fitted_state().prior
        if source == "prior":
            model.refuse_improper("draws from the prior")
        rng = generator(seed)
        log_pi = np.broadcast_to(model.classes.log_predictive(), (int(n_samples), len(self.classes_)))
        y = categorical(rng, log_pi)
        return self._as_input(self._draw(model, rng, y, length)), self.classes_[y]

    def _draw(self, model: Any, rng: np.random.Generator, y: np.ndarray, length: Any = None) -> dict[str, np.ndarray]:
        """New rows by block for class indices y; `length` is the number of events of a row whose total is given."""
        length = self._average_length(model) if length is None else length
        given = {} if length is None else {"length": length}
        return {name: block.sample_predictive(rng, y, **given) for name, block in model.blocks.items()}

    def prior_summary(self, columns: int = 20) -> "PriorSummary":
        """The prior in words: each density, the range of its parameters, and their estimates from the rows alone.

        Parameters
        ----------
        columns : number of priors to list; columns with the same prior share one entry

        Returns
        -------
        a text. For each parameter it gives the prior median, the range of 90 % of the prior over all classes, and the
        range of the maximum likelihood estimates of the classes, in the unit of the column

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

        return prior_summary(self, columns)

    # --- the NumPyro side -------------------------------------------------------------------------------------------

    def numpyro_model(self, X: Any = None, y: Any = None, *, n: int | None = None, length: Any = None) -> None:
        """The generative model in NumPyro with this estimator's prior: `MCMC(NUTS(nb.numpyro_model)).run(key, X, y)`.

        Parameters
        ----------
        X : rows as in `predict`; with None the model draws them, which is a prior simulation
        y : labels as in `fit`. With None they are a latent discrete site that is enumerated in parallel. NUTS and
            `TraceEnum_ELBO` then sum them out, and `Predictive(…, infer_discrete=True)` draws them given X. NumPyro
            needs the package funsor for that: `pip install 'bayesnb[enumerate]'`. A plain `Predictive` ignores X and
            draws labels from their prior
        n : number of rows, if X and y are None
        length : number of events of a row, a number or (n,), if X is None and rows are counts with given totals
            (`MultinomialNB`). The default is the rounded average of the training rows

        Raises
        ------
        ValueError
            if the estimator is not fitted and X or y is missing. With both, the model has the prior that `fit(X, y)`
            gives it. Without them the classes and the scale of the data are unknown

        Examples
        --------
        >>> import jax, numpyro
        >>> from bayesnb import GaussianNB
        >>> nb = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> simulated = numpyro.infer.Predictive(nb.numpyro_model, num_samples=3)(jax.random.key(0), n=7)
        >>> simulated["x"].shape, simulated["y"].shape
        ((3, 7, 1), (3, 7))
        """
        if "_conditioned" not in vars(self):
            if X is None or y is None:
                raise ValueError(
                    f"This {type(self).__name__} instance is not fitted yet, so its classes and the scale of its "
                    "prior are unknown. Call `fit` first, or give both `X` and `y`"
                )
            self = clone(self).fit(X, y)
        self._fitted_state().prior.refuse_improper("draws from its generative model")
        index = None if y is None else self.class_index(y)
        if X is None and length is None:
            length = self._average_length(self._fitted_state().prior)
        self._fitted_state().prior.model(None if X is None else self._encode(X), index, n, length)

    def _average_length(self, model: Any) -> int | None:
        """Rounded average of the events of a row of counts whose totals are given; None where there are no such."""
        stats = self._conditioned.statistics
        for name, block in model.blocks.items():
            if block.cells_.measure == GIVEN_TOTALS:
                return round(stats.blocks[name].n.sum() / max(stats.n.sum(), 1))
        return None

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
        progress_bar: bool = True,
    ) -> Any:
        """Posterior draws as ArviZ data; the dimensions are named class and feature and have labels as coordinates.

        Parameters
        ----------
        draws : number of draws in each chain
        seed : seed of NumPy's generator ("exact") or of the JAX key ("nuts"); equal seeds give equal draws on one
            machine
        method : "exact" gives independent draws from the closed form. "nuts" runs NumPyro's NUTS on the same model, on
            the rows if they are given and otherwise on the sufficient statistics
        X : training rows or new rows; each draw of the parameters comes with a drawn label for each row
        y : their labels; they add the groups log_likelihood and observed_data, and NUTS then runs on these rows
        chains, warmup, progress_bar : number of chains of either method; warm-up draws and progress bar of NUTS

        Returns
        -------
        arviz.InferenceData (ArviZ below 1) or xarray.DataTree
            the group posterior. A proper prior adds the groups prior and log_prior (log density of each draw in nats).
            NUTS adds sample_stats (divergences, energy). X adds posterior_predictive and prior_predictive: the index of
            a label of each row, y ~ p(y | x_i, θ), with the labels as the coordinate `class`. Labels y add
            log_likelihood (log p(x_i, y_i | θ) in nats) and observed_data. With `KernelNB` there is no log_likelihood,
            because its density at a training row contains the row's own kernel. Use `loo`
        """
        from ..inference.posterior import sample_posterior

        return sample_posterior(
            self, draws, seed, method, X=X, y=y, chains=chains, warmup=warmup, progress_bar=progress_bar
        )

    def check(self, X: Any, y: Any, seed: int = 0, **settings: Any) -> "CheckReport":
        """Compare the closed form with NumPyro on data: Bayes' identity, mode, posterior, prediction.

        The estimator does not change: a clone is fitted to one half of the rows.
        """
        from ..inference.check import check

        return check(self, X, y, seed=seed, **settings)

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None) -> "LooResult":
        """Exact leave-one-out: each training row is predicted from all other rows, without a refit. See `LooResult`.

        The result always uses the posterior predictive. It ignores `estimate`, and `norm` of `ComplementNB`. Its `elpd`
        sums log p(y | x) over the rows, and its `elpd_joint` log p(x, y); `arviz.loo` estimates the second. On iris
        GaussianNB has −20.3 and −388 nats.

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
        from ..inference.loo import loo

        return loo(self, X, y, sample_weight, prior=prior, groups=groups)


class AbstractOfTotals(AbstractNB):
    """An estimator of rows of counts whose totals are given: a new row needs a total, too."""

    def sample(
        self,
        n_samples: int = 1,
        seed: int | np.random.Generator | None = None,
        *,
        source: str = "posterior",
        length: Any = None,
    ) -> Any:
        """New rows and labels from the predictive; each row has its own draw of the parameters.

        Parameters
        ----------
        source : "posterior" or "prior": the distribution from which the parameters are drawn
        length : number of events of a row of `MultinomialNB`, a number or (n,); by default the rounded average of the
            training rows
        """
        return self._sample(n_samples, seed, source, length)
