"""Half-labelled data: rows without a label help to learn what the classes look like.

With θ all parameters, L the rows with a label, U those without, w the sample weights and 0 ≤ λ ≤ 1 the weight of a row
without a label, what the data say about θ is

    ℓ(θ) = Σ_{i∈L} w_i log p(x_i, y_i | θ) + λ Σ_{i∈U} w_i log Σ_c p(x_i, c | θ)

For any q_i(c) that sum to one over the classes, Jensen's inequality bounds each logarithm in the second sum,

    log Σ_c p(x_i, c | θ) ≥ Σ_c q_i(c) log p(x_i, c | θ) + H(q_i),    H(q) = −Σ_c q(c) log q(c)

so that ℓ(θ) ≥ Σ_i Σ_c r_ic log p(x_i, c | θ) + λ Σ_{i∈U} w_i H(q_i), with soft labels r_ic = λ w_i q_i(c) for the rows
without a label and w_i [y_i = c] for the others: λ stands before the entropy as before the likelihood. The first sum is
what conjugate updates take, whatever the r. With log Z(r) the closed-form evidence of the soft labels, and p(θ | r) the
conjugate posterior, Bayes' identity log p(θ) + Σ r log p(x, c | θ) = log p(θ | r) + log Z(r) gives both bounds without
another pass over the rows:

    variational   log ∫ p(θ) exp ℓ(θ) dθ  ≥  log Z(r) + λ Σ_{i∈U} w_i H(q_i)                        at q(θ) = p(θ | r)
    em            log p(θ) + ℓ(θ)         ≥  log Z(r) + λ Σ_{i∈U} w_i H(q_i) + log p(θ | r)         at any θ

Either is climbed by turns. Given q_i, the best q(θ) is p(θ | r), the best θ its mode. Given these, the best q_i(c) is
proportional to exp E log p(x_i, c | θ), the mean over q(θ), and to p(x_i, c | θ). No step lowers the bound. At λ = 1
the left-hand side of the first line is the exact log evidence log p(X, y_L), a sum over all labels that U could have.

References
----------
Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents using EM, Machine
Learning 39, §4 and §5.1 (λ; there the objective keeps no constants and θ is the mode).
Beal (2003), Variational algorithms for approximate Bayesian inference, PhD thesis, theorem 2.2: conjugate families.
Neal & Hinton (1998), A view of the EM algorithm that justifies incremental, sparse, and other variants.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import jax
import numpy as np
from scipy import sparse
from scipy.special import entr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from ..base import as_jax
from ..core.arrays import Table
from ..core.pytrees import map_leaves
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..estimators._base import AbstractNB
from ..estimators._input import checked_weights, naming
from ..naive_bayes import NaiveBayes, Rows, Statistics, by_rows
from ..statistics import one_hot
from ..sums.rows import rows_at
from ._suited import check_independent, split_labels
from ._wrapper import AbstractWrapper


@dataclass(eq=False, repr=False)
class HalfLabelledClassifier(AbstractWrapper):
    """Naive Bayes that learns from rows with and without a label, by variational Bayes or by EM with soft labels.

    Parameters
    ----------
    estimator : any estimator of bayesnb except KernelNB, ComplementNB and OneDependenceNB. The likelihoods of the first
        two are not densities of a row, so labels cannot be summed out. A clone of the estimator is fitted
    method : "variational" (default) estimates the labels with a posterior of the parameters. "em" uses the joint mode
        of the parameters. With a concentration α of 1 the mode is maximum likelihood and may have probabilities of
        zero. The add-one smoothing of Nigam et al. is the mode at α = 2
    unlabelled_weight : λ, the weight of a row without a label, from 0 (it is not used) to 1 (default; it counts like
        other rows). If the model is wrong, rows without a label can make it worse. Choose λ on held-out labels
    missing_label : the value that marks a missing label, by default −1 as in scikit-learn. None, NaN and pandas.NA
        always mark a missing label. Set it to None if −1 is one of your labels
    max_iter : largest number of iterations; each is a pass over the rows without a label
    tol : the fit stops if an iteration raises the bound by less than this, in nats a row

    Attributes
    ----------
    estimator_ : the fitted estimator. Its `statistics_` hold the soft labels, and its `posterior_` is q(θ). It has all
        its methods, such as `predict_interval`, `sample_proba`, and `partial_fit` with more labels. Its `log_evidence_`
        treats the soft labels as data. The bound on the evidence of the data is `lower_bound_`
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn; the classes are those of the rows with a label
    label_distributions_ : (n, c) q_i(c) of all rows; one-hot if the label was given
    transduction_ : (n,) labels of all rows: the given label, or else the most probable one
    lower_bounds_ : (n_iter_,) the bound after each iteration, in nats; it never decreases
    lower_bound_ : the last of them
    n_iter_ : number of iterations

    Notes
    -----
    The fit starts from the posterior of the rows with a label. It finds a local optimum, which depends on these rows.

    A prior that is scaled by the data (`GaussianNB`, `GaussianDA`, `PoissonNB`, `ExponentialNB`, "clop") is scaled by
    all rows. Rows without a label have the weight λ there too. The scale needs no labels, so it is the same in all
    iterations. At λ = 0 it depends only on the rows with a label. The levels of `CategoricalNB`, and the kinds of
    columns of `MixedNB("auto")`, are always learnt from all rows.

    "variational" assumes that labels and parameters are independent a posteriori. Its labels and intervals are
    therefore more certain than those of the exact posterior, which `numpyro_model` samples. The option `estimate` of
    the estimator sets how it predicts and has no influence on the fit. "map" plugs in the mode that "em" found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, HalfLabelledClassifier
    >>> known = np.where(np.arange(150) % 10 == 0, y, -1)  # -1: no label
    >>> HalfLabelledClassifier(GaussianNB()).fit(X, known).score(X, y)
    0.9
    """

    estimator: Any
    _: KW_ONLY
    method: Any = "variational"
    unlabelled_weight: Any = 1.0
    missing_label: Any = -1
    max_iter: Any = 500
    tol: Any = 1e-6

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a clone of the estimator to all rows, with and without labels.

        Parameters
        ----------
        X : (n, d) rows in the form that the estimator accepts: dense, sparse or a data frame
        y : (n,) labels of any kind, some of them missing: None, NaN, pandas.NA or `missing_label`
        sample_weight : (n,) non-negative weights; an integer weight counts as that many copies of the row

        Raises
        ------
        ValueError
            if there is no label, or if −1 is both a class and the missing label. Also if a parameter is out of range,
            or if the estimator cannot use soft labels. Errors of the estimator are passed on

        Warns
        -----
        ConvergenceWarning
            if the bound still rises after `max_iter` iterations
        """
        check_independent(self.estimator, "the probability of a missing label")
        check_choice("method", self.method, ("variational", "em"))
        check_least(1, max_iter=self.max_iter)
        if not 0 <= self.unlabelled_weight <= 1:
            raise ValueError(f"`unlabelled_weight` is {self.unlabelled_weight}; it needs to be from 0 to 1")
        nb = clone(self.estimator)
        with naming("X", "y"):
            labels, missing = split_labels(y, self.missing_label)
            check_classification_targets(labels)
        classes, index = np.unique(labels, return_inverse=True)
        rows, n, c = nb.learn_columns(X, classes).encode(X), len(missing), len(classes)
        with naming("X", "y"):
            check_consistent_length(next(iter(rows.values())), missing)
        weight = checked_weights(sample_weight, X)
        known, unknown = rows_at(rows, ~missing), rows_at(rows, missing)
        gatherer = nb.prior_for()
        labelled = gatherer.suffstats(known, one_hot(index, c, weight[~missing]))
        scale = self.unlabelled_weight * weight[missing]

        _refuse(self.estimator, gatherer, nb.with_statistics(labelled))

        def soft(q: Table) -> Statistics:
            return labelled + gatherer.suffstats(unknown, scale[:, None] * q)

        # Σ_c r_ic does not depend on q, nor then does the scale of the data: any q gives the prior of all iterations
        prior = nb.prior_for(soft(np.full((missing.sum(), c), 1 / c)))
        posterior, bounds = prior.update(labelled), [-np.inf]
        # `on_boundary` asks for a concentration of at most 1; at 1 itself the density is finite
        if self.method == "em" and map_leaves(lambda leaf: np.nextafter(leaf, np.inf), posterior).on_boundary():
            raise ValueError("`estimator` has concentrations below 1, so there is no mode; use method='variational'")
        used = weight[~missing].sum() + scale.sum()
        for _ in range(self.max_iter):
            log_q = log_normalize(self._table(posterior, unknown))
            stats = soft(np.exp(log_q))
            posterior = prior.update(stats)
            bound = prior.log_marginal(stats) + scale @ entr(np.exp(log_q)).sum(1)
            if self.method == "em":
                bound += posterior.log_prob(posterior.mode())
            bounds.append(float(bound))
            gain = bounds[-1] - bounds[-2]
            if gain <= self.tol * used or not scale.any():
                break
        else:
            how = f"still increases by {gain / used:.2g} nats a row" if len(bounds) > 2 else "may increase further"
            warnings.warn(f"The bound {how}. Raise `max_iter` or `tol`", ConvergenceWarning, stacklevel=3)
        soft_labels = np.zeros((n, c))
        soft_labels[~missing], soft_labels[missing] = np.eye(c)[index], np.exp(log_q)
        return self._take_over(
            nb.with_statistics(stats),
            n_iter_=len(bounds) - 1,
            lower_bounds_=np.array(bounds[1:]),
            lower_bound_=bounds[-1],
            label_distributions_=soft_labels,
            transduction_=classes[soft_labels.argmax(1)],
        )

    def _table(self, posterior: NaiveBayes, rows: Rows) -> Table:
        """log p(x_i, c | θ) at the mode, or its mean over the posterior: log q_i(c) but for a constant of the row."""
        if self.method == "em":
            return np.asarray(posterior.log_joint(rows, posterior.mode()))

        def table(part: slice) -> np.ndarray:
            total = posterior.classes.log_cumulants()[0]
            for name, block in posterior.blocks.items():
                total = total + block.log_moments(rows[name][part].astype(float, copy=False))[0]
            return total

        return by_rows(table, rows)

    # --- the NumPyro side -------------------------------------------------------------------------------------------

    def numpyro_model(self, X: Any, y: Any) -> None:
        """The same model in NumPyro, with missing labels summed out: log p(θ) + ℓ(θ), all rows of weight one.

        Use it in `MCMC(NUTS(it.numpyro_model)).run(key, X, y)`; it has the prior of `fit`. The likelihood of a row
        without a label is the sum over all classes, and λ multiplies its logarithm. With few labels there are modes in
        which the classes have changed places. A chain does not leave such a mode, so start it near the fit with
        NumPyro's `init_to_value`.

        Parameters
        ----------
        X, y : as in `fit`
        """
        import numpyro
        from numpyro import handlers

        nb, prior = self.estimator_, as_jax(self.estimator_.prior_)
        labels, missing = split_labels(y, self.missing_label)
        rows = {name: as_jax(x.toarray() if sparse.issparse(x) else x) for name, x in nb.encode(X).items()}
        with handlers.trace() as sites:
            prior.model(rows_at(rows, ~missing), nb.class_index(labels))
        theta = prior.from_sites({name: site["value"] for name, site in sites.items()})
        table = prior.log_table(rows_at(rows, missing), theta)
        numpyro.factor("unlabelled", self.unlabelled_weight * jax.scipy.special.logsumexp(table, axis=-1).sum())


def _refuse(estimator: Any, model: NaiveBayes, nb: AbstractNB) -> None:
    """ValueError on likelihoods that are no density of a row, and on priors scaled by rows that are not known."""
    for block in model.blocks.values():
        why = block.no_evidence
        if block.is_composite:
            # a bound on Σ_c π_c Π_{k≠c} p(x | θ_k) could be climbed, but that sum is no p(x)
            why = "a row counts once for every other class, so the sum over its labels is not a density of the row"
        if why:
            raise ValueError(
                f"`estimator` is {type(estimator).__name__}, which cannot use rows without a label: {why}. Use "
                "MultinomialNB for counts of events, or GaussianNB for real features"
            )
    for _, own, names, k in nb.part_estimators():
        if k is not None and own.prior_follows_rows:
            part = next(iter(names.values()))
            raise ValueError(
                f"`estimator` has a part {part!r} of one class, whose prior is scaled by rows that are not known; give "
                "it its own `prior`"
            )
