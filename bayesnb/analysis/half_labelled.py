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

A class may have no row with a label, as in a table of positives and unlabelled rows. Then the rows do not tell how
frequent the positives are, because any part of U may be positive: their probability in U, π_U, is fixed. Where U is a
sample of the population, π_U is the class prior π of the population. Where the labelled rows come out of the same
sample of n rows, and l of them were labelled, which is the share c = l / (n π) of all positives, fewer are left in U:

    π_U = π (1 − c) / (1 − π c) = (n π − l) / (n − l)

References
----------
Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents using EM, Machine
Learning 39, §4 and §5.1 (λ; there the objective keeps no constants and θ is the mode).
Beal (2003), Variational algorithms for approximate Bayesian inference, PhD thesis, theorem 2.2: conjugate families.
Neal & Hinton (1998), A view of the EM algorithm that justifies incremental, sparse, and other variants.
Ward, Hastie, Barry, Elith & Leathwick (2009), Presence-only data and the EM algorithm, Biometrics 65: π is not
identified.
Elkan & Noto (2008), Learning classifiers from only positive and unlabeled data, KDD: the share c.
"""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import jax
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import entr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from ..estimators._base import AbstractNB
from ..estimators._input import checked_weights, naming, refuse_no_weight
from ..estimators._suited import check_independent, split_labels
from ..estimators._view import learn_columns
from ..estimators._wrapper import AbstractWrapper
from ..families.base import as_jax
from ..families.classes import FixedClasses
from ..models.naive_bayes import NaiveBayes, Rows, Statistics, by_rows
from ..numerics.arrays import Table
from ..numerics.progress import tracked
from ..numerics.pytrees import map_leaves
from ..numerics.special import log_normalize
from ..numerics.supports import check_choice, check_least, is_single, shortened
from ..sums.rows import rows_at
from ..sums.statistics import one_hot
from ..tables.names import listed


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
    classes : (c,) all labels, sorted, if no row has one of them: ["no", "yes"], where some rows are known to be "yes"
        and nothing is known of the others. The estimator then needs a `class_prior`. Default: the labels of the rows
    sampling : what a `class_prior` of the estimator is for. "population" (default): the rows without a label are a
        sample of the population, and it is theirs. "labelled-removed": all rows together are that sample, some of which
        were then labelled. It is that of all rows, and is converted to that of the rows without a label
    max_iter : largest number of iterations; each is a pass over the rows without a label
    tol : the fit stops if an iteration raises the bound by less than this, in nats a row

    Attributes
    ----------
    estimator_ : the fitted estimator. Its `statistics_` hold the soft labels, and its `posterior_` is q(θ). It has all
        its methods, such as `predict_interval`, `sample_proba`, and `partial_fit` with more labels. Its `log_evidence_`
        treats the soft labels as data. The bound on the evidence of the data is `lower_bound_`
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn; `classes_` are those of the rows with a label, or
        the setting `classes`
    label_distributions_ : (n, c) q_i(c) of all rows; one-hot if the label was given
    unlabelled_class_prior_ : (c,) class probabilities of the rows without a label. `estimator_` predicts with those of
        the population, which differ from them if `sampling` is "labelled-removed"
    transduction_ : (n,) labels of all rows: the given label, or else the most probable one
    lower_bounds_ : (n_iter_,) the bound after each iteration, in nats; it never decreases
    lower_bound_ : the last of them
    n_iter_ : number of iterations

    Notes
    -----
    The fit starts from the posterior of the rows with a label. It finds a local optimum, which depends on these rows.
    A class without a labelled row starts from all rows without a label, each with the weight of its class prior.

    With positives and unlabelled rows everything rests on the class prior and on the model. If columns depend on each
    other within a class, the fit finds a cluster of rows that the model describes well, not the negatives.

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

    Positives and unlabelled rows. Of all rows 30 % are positive, and half of these have a label:

    >>> rng = np.random.default_rng(0)
    >>> is_positive = rng.random(2000) < 0.3
    >>> X = rng.normal(size=(2000, 3)) + is_positive[:, None]
    >>> y = np.where(is_positive & (rng.random(2000) < 0.5), "yes", None)
    >>> nb = GaussianNB(class_prior=[0.7, 0.3])
    >>> few = HalfLabelledClassifier(nb, classes=["no", "yes"], sampling="labelled-removed").fit(X, y)
    >>> few.unlabelled_class_prior_.round(2), round(few.score(X, np.where(is_positive, "yes", "no")), 2)
    (array([0.82, 0.18]), 0.83)
    """

    estimator: Any
    _: KW_ONLY
    method: Any = "variational"
    unlabelled_weight: Any = 1.0
    missing_label: Any = -1
    classes: Any = None
    sampling: Any = "population"
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
            or if the estimator cannot use soft labels. Also if no row has the label of a class and there is no class
            prior, or of two classes. Errors of the estimator are passed on

        Warns
        -----
        ConvergenceWarning
            if the bound still rises after `max_iter` iterations
        """
        self._check_settings()

        # Of n rows, l have a label and u have none. Labels become class numbers, and cells become numbers, as arrays by
        # block: a block is one family with the columns that it reads.
        with naming("X", "y"):  # errors of the checks then name these arguments
            # (l,) labels, and (n,) whether a row has none
            labels, is_missing = split_labels(y, self.missing_label, is_one_enough=self.classes is not None)
            check_classification_targets(labels)
        classes = self._all_classes(labels, bool(is_missing.any()))  # (c,), sorted
        index = np.searchsorted(classes, labels)  # (l,) class numbers
        model = learn_columns(clone(self.estimator), X, classes)  # levels and kinds of columns, from all rows
        rows = model.encode(X)
        with naming("X", "y"):
            check_consistent_length(next(iter(rows.values())), is_missing)
        # (n,) non-negative numbers, 1 where none are given
        weight = checked_weights(sample_weight, X)
        refuse_no_weight(weight)

        # the sums over rows with a label, each with its weight in the class of the label, and the rows without one,
        # whose weight has the factor λ
        label_weights = one_hot(index, len(classes), weight[~is_missing])  # sparse (l, c)
        weight_in_fit = np.where(is_missing, self.unlabelled_weight * weight, weight)  # (n,)
        counter = model.prior_for()  # any prior will do: only its method that sums over rows is used
        data = _Data.of(counter, rows, is_missing, label_weights, weight_in_fit)
        _refuse_unsuited(self.estimator, counter, model.with_statistics(data.labelled))

        # A prior that is scaled by the rows depends on their weight, but not on how it is shared out among the classes.
        # So soft labels of 1/c give the prior of all iterations.
        uniform = np.full((is_missing.sum(), len(classes)), 1 / len(classes))  # (u, c)
        prior_of_all = model.prior_for(data.statistics(uniform))
        self._check_class_without_labels(prior_of_all, data, classes)
        prior = self._with_prior_of_unlabelled(prior_of_all, data, classes, float(weight[is_missing].sum()))
        # soft labels and parameters in turns: `q` (u, c) label distributions, `bounds` after each iteration
        climb = self._climb(prior, data)
        if not climb.has_ended:
            warnings.warn(climb.caution(data.total_weight), ConvergenceWarning, stacklevel=3)

        # the label distribution of each row, in the order of the rows: 0 and 1 where the label was given
        label_distributions = np.zeros((len(is_missing), len(classes)))
        label_distributions[~is_missing] = np.eye(len(classes))[index]
        label_distributions[is_missing] = climb.q
        return self._take_over(
            model.with_statistics(climb.statistics),
            n_iter_=len(climb.bounds),
            lower_bounds_=np.array(climb.bounds),
            lower_bound_=climb.bounds[-1],
            label_distributions_=label_distributions,
            unlabelled_class_prior_=np.exp(prior.update(climb.statistics).classes.log_predictive()),
            transduction_=classes[label_distributions.argmax(1)],
        )

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first setting out of range."""
        check_independent(self.estimator, "the probability of a missing label")
        check_choice("method", self.method, ("variational", "em"))  # ValueError unless it is one of these
        check_choice("sampling", self.sampling, ("population", "labelled-removed"))
        check_least(1, max_iter=self.max_iter)  # ValueError unless a whole number of at least 1
        if not 0 <= self.unlabelled_weight <= 1:
            raise ValueError(f"`unlabelled_weight` is {self.unlabelled_weight}; it needs to be from 0 to 1")

    def _climb(self, prior: NaiveBayes, data: "_Data") -> "_Climb":
        """Estimate soft labels and parameters in turns, until the bound on the evidence rises by less than `tol` a row.

        Of a row i without a label, let q_i(c) be the estimated distribution of the label, w_i the weight, and λ the
        factor `unlabelled_weight`. Each iteration takes two steps:

        1. Given the posterior of the parameters θ, the best q_i(c) is proportional to exp E log p(x_i, c | θ), or with
           EM to p(x_i, c | θ) at the mode.
        2. Given q, the posterior is that of all rows, where a row without a label counts λ w_i q_i(c) in class c. These
           weights of rows in classes are the soft labels r.

        With log Z(r) the evidence of the soft labels, and H the entropy, no step lowers the bound

            log Z(r) + λ Σ_i w_i H(q_i),    for EM plus log p(θ | r) at the mode

        Parameters
        ----------
        prior : of all iterations
        data : the rows with and without a label

        Returns
        -------
        the label distributions of the last iteration, the sums over all rows with them, the bound after each iteration,
        and whether it has stopped rising
        """
        # the first posterior is that of the rows with a label; `update` adds sums over rows to a conjugate prior
        posterior = prior.update(self._first_statistics(prior, data))
        if self.method == "em" and _has_no_mode(posterior):
            raise ValueError("`estimator` has concentrations below 1, so there is no mode; use method='variational'")

        bounds: list[float] = []
        # `tracked` yields the items of the range, and shows on a terminal how many are done
        for _ in tracked(range(self.max_iter), "labels and parameters in turns", self.max_iter, "rounds at most"):
            # Step 1: the label distribution of each of the u rows without a label. Step 2: the posterior of all rows.
            q = np.exp(log_normalize(self._log_label_weights(posterior, data.unlabelled)))  # (u, c)
            stats = data.statistics(q)
            posterior = prior.update(stats)

            # The bound, term by term: log Z(r), which is the closed-form log evidence of a conjugate prior; the
            # entropies with their weights λ w_i; and for EM log p(θ | r) at the mode.
            entropy = entr(q).sum(1)  # (u,) H(q_i)
            bound = prior.log_marginal(stats) + data.unlabelled_weight @ entropy
            if self.method == "em":
                bound += posterior.log_prob(posterior.mode())
            bounds.append(float(bound))

            # where rows without a label have no weight, the first iteration is the last
            rises_little = _last_gain(bounds) <= self.tol * data.total_weight
            has_ended = rises_little or not data.unlabelled_weight.any()
            if has_ended:
                break
        return _Climb(q, stats, bounds, has_ended)

    def _first_statistics(self, prior: NaiveBayes, data: "_Data") -> Statistics:
        """The sums over rows that the fit starts from: the rows with a label, and for a class without any the others.

        Of a class without a labelled row it is not known what its rows look like. At first they look like the average
        row without a label, of which it has the share that its class prior says.
        """
        is_unseen = data.labelled.n == 0  # (c,); `n` is the weight of the rows of each class
        if self.classes is None or not is_unseen.any():
            return data.labelled
        pi = np.exp(prior.classes.log_predictive())  # (c,)
        first_q = np.tile(np.where(is_unseen, pi, 0), (len(data.unlabelled_weight), 1))  # (u, c)
        return data.statistics(first_q)

    def _log_label_weights(self, posterior: NaiveBayes, rows: Rows) -> Table:
        """For u rows without a label, log q_i(c) of the best label distribution but for a constant of the row, (u, c).

        For EM it is log p(x_i, c | θ) at the mode of the parameters θ. Else it is the mean of log p(x_i, c | θ) over
        the posterior: that of log π_c, plus for each block of columns that of log p(cells of the block | θ_c).

        Parameters
        ----------
        rows : the cells of the u rows, by block
        """
        if self.method == "em":
            return np.asarray(posterior.log_joint(rows, posterior.mode()))

        def mean_log_joint(part: slice) -> np.ndarray:
            """Of m rows, (m, c): the mean of log π_c, and of log p(x_i | θ_c) by each block."""
            # E log π_c under the Dirichlet posterior of the class probabilities, (c,): the first cumulant of log π. The
            # variance and the third cumulant are not needed.
            mean_log_pi, _, _ = posterior.classes.log_cumulants()
            total = mean_log_pi
            # a block is the columns of one family, and independent of the others given the class: logarithms add up
            for name, block in posterior.blocks.items():
                cells = rows[name][part].astype(float, copy=False)
                mean_log_p, _ = block.log_moments(cells)  # (m, c) E log p(cells | θ_c) over θ; the variance is not used
                total = total + mean_log_p
            return total

        return by_rows(mean_log_joint, rows)  # calls it for some rows at a time, so that tables stay small

    # --- classes without a labelled row -----------------------------------------------------------------------------

    def _all_classes(self, labels: np.ndarray, has_unlabelled: bool) -> np.ndarray:
        """All classes, (c,), sorted: the setting `classes`, or else the labels (l,) of the rows.

        Parameters
        ----------
        labels : (l,) of the rows that have one
        has_unlabelled : whether some rows have none

        Raises
        ------
        ValueError
            if `classes` is not two or more labels in order, or lacks a label of the rows. The order matters, because
            the class prior of the estimator is in it. Also if there is a single label beside rows without one
        """
        if self.classes is None:
            classes = np.unique(labels)
            if len(classes) == 1 and has_unlabelled:
                raise ValueError(
                    f"all labels in `y` are {classes.tolist()[0]!r}; name every label there is in `classes`, and give "
                    "`estimator` a class prior, as rows cannot tell how frequent a class without labels is"
                )
            return classes
        given = [] if is_single(self.classes) else list(self.classes)
        classes = np.unique(pd.Series(given, dtype=object).infer_objects().to_numpy())
        if len(classes) < 2 or classes.tolist() != given:
            raise ValueError(
                f"`classes` is {shortened(self.classes)}; it needs two or more different labels, sorted, as the class "
                "prior of the estimator is in this order"
            )
        if self.missing_label is not None and self.missing_label in classes.tolist():
            raise ValueError(
                f"`classes` has {self.missing_label!r}, which marks a missing label. Set missing_label=None, and mark "
                "missing labels by None or NaN"
            )
        unknown = np.setdiff1d(labels, classes).tolist()
        if unknown:
            raise ValueError(f"`y` has the label {unknown[0]!r}, which is not one of `classes`, {classes.tolist()}")
        return classes

    def _check_class_without_labels(self, prior: NaiveBayes, data: "_Data", classes: np.ndarray) -> None:
        """ValueError if rows cannot tell what a class without a labelled row looks like, or nothing how frequent it is.

        Parameters
        ----------
        prior : of the estimator
        data : the rows with and without a label
        classes : (c,) labels
        """
        unseen = classes[data.labelled.n == 0].tolist()
        if self.classes is None or not unseen:
            return
        if len(unseen) > 1:
            raise ValueError(
                f"no row has the labels {listed(unseen)} of `classes`; rows without a label cannot tell two such "
                "classes apart. Give labelled rows of all classes but one"
            )
        if not data.unlabelled_weight.any():
            raise ValueError(
                f"no row has the label {unseen[0]!r} of `classes`, so rows without a label have to show what it looks "
                "like; give such rows, with an `unlabelled_weight` above 0"
            )
        if not isinstance(prior.classes, FixedClasses):
            raise ValueError(
                f"no row has the label {unseen[0]!r} of `classes`, so the rows do not tell how frequent it is; give "
                f"the class prior of the rows without a label, as in {type(self.estimator).__name__}(class_prior=…), "
                f"{len(classes)} probabilities in the order {classes.tolist()}"
            )

    def _with_prior_of_unlabelled(
        self, prior: NaiveBayes, data: "_Data", classes: np.ndarray, unlabelled: float
    ) -> NaiveBayes:
        """The prior with the class probabilities of the rows without a label, as `sampling` says.

        Where the labelled rows come out of the same sample as the others, n π_c rows of class c are expected in it, of
        which l_c have a label: of the n − l others the share (n π_c − l_c) / (n − l) is of the class.

        Parameters
        ----------
        prior, data, classes : as above
        unlabelled : weight n − l of the rows without a label, without the factor λ
        """
        if self.sampling == "population":
            return prior
        if not isinstance(prior.classes, FixedClasses):
            raise ValueError(
                "`sampling` is 'labelled-removed', but `estimator` has no class prior that could be converted; give "
                f"that of all rows, as in {type(self.estimator).__name__}(class_prior=…)"
            )
        labelled = data.labelled.n  # (c,)
        expected = prior.classes.pi * (labelled.sum() + unlabelled)  # (c,) rows of each class, n π_c
        is_exceeded = labelled > expected
        if is_exceeded.any():
            k = int(is_exceeded.argmax())
            raise ValueError(
                f"class {classes.tolist()[k]!r} has {labelled[k]:g} labelled rows, but by the class prior only "
                f"{expected[k]:.4g} of all {labelled.sum() + unlabelled:g} rows; raise its class prior, or set "
                "sampling='population' if the labelled rows are no part of the sample"
            )
        if not unlabelled:
            return prior
        return replace(prior, classes=FixedClasses((expected - labelled) / unlabelled))

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

        nb = self.estimator_
        prior = nb.prior_
        if isinstance(prior.classes, FixedClasses):  # those of the rows without a label, as in the fit
            prior = replace(prior, classes=FixedClasses(self.unlabelled_class_prior_))
        prior = as_jax(prior)
        # the labels that are there, and which rows have none
        labels, is_missing = split_labels(y, self.missing_label, is_one_enough=self.classes is not None)
        cells = nb.model_.encode(X)  # by block
        rows = {name: as_jax(x.toarray() if sparse.issparse(x) else x) for name, x in cells.items()}

        # prior and rows with a label: the model samples its parameters, and the trace notes the value of each
        with handlers.trace() as sites:
            # `sample` statements of NumPyro: θ from the prior, then the cells of these rows observed
            prior.model(rows_at(rows, ~is_missing), nb.model_.class_index(labels))
        # a site is a random variable of NumPyro; `from_sites` makes parameters by block of values by site
        theta = prior.from_sites({name: site["value"] for name, site in sites.items()})

        # rows without a label: λ Σ_i log Σ_c p(x_i, c | θ) is added to the log density
        table = prior.log_table(rows_at(rows, is_missing), theta)  # (u, c) log p(x_i, c | θ)
        log_p = jax.scipy.special.logsumexp(table, axis=-1)  # (u,) log p(x_i | θ)
        numpyro.factor("unlabelled", self.unlabelled_weight * log_p.sum())


@dataclass(frozen=True, eq=False)
class _Data:
    """l rows with a label, and u rows without.

    Fields
    ------
    counter : the model whose method `suffstats` sums over rows; its prior does not matter
    labelled : sums over the rows with a label, which are all that their likelihood depends on
    unlabelled : the cells of the other rows, by block
    labelled_weight, unlabelled_weight : (l,) and (u,) weights of both; those of the second have the factor λ
    """

    counter: NaiveBayes
    labelled: Statistics
    unlabelled: Rows
    labelled_weight: np.ndarray
    unlabelled_weight: np.ndarray

    @classmethod
    def of(
        cls, counter: NaiveBayes, rows: Rows, is_missing: np.ndarray, label_weights: Any, weight: np.ndarray
    ) -> "_Data":
        """The sums over rows with a label, made once, and the other rows, whose sums change with their soft labels.

        Parameters
        ----------
        rows : the cells of all n rows, by block
        is_missing : (n,) whether a row has no label
        label_weights : sparse (l, c), of the rows with a label their weight in the class of the label
        weight : (n,) of all rows; those without a label with the factor λ
        """
        # `suffstats` sums over rows with their weights in each class; `rows_at` takes some rows of every block
        has_label = ~is_missing
        return cls(
            counter=counter,
            labelled=counter.suffstats(rows_at(rows, has_label), label_weights),
            unlabelled=rows_at(rows, is_missing),
            labelled_weight=weight[has_label],
            unlabelled_weight=weight[is_missing],
        )

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.labelled_weight.sum() + self.unlabelled_weight.sum())

    def statistics(self, q: Table) -> Statistics:
        """Sums over all rows, where row i without a label has the weight λ w_i q_i(c) in each class c; q is (u, c)."""
        # `suffstats` sums over rows, each with a weight in each class; sums of two sets of rows add up
        soft_labels = self.unlabelled_weight[:, None] * q  # (u, c)
        return self.labelled + self.counter.suffstats(self.unlabelled, soft_labels)


@dataclass(frozen=True, eq=False)
class _Climb:
    """Where an ascent of the bound has arrived.

    Fields
    ------
    q : (u, c) label distribution of each row without a label
    statistics : sums over all rows with these distributions
    bounds : the bound after each iteration, nats
    has_ended : whether the bound rises by less than is asked for
    """

    q: Table
    statistics: Statistics
    bounds: list[float]
    has_ended: bool

    def caution(self, total_weight: float) -> str:
        """The warning that the bound still rises; `total_weight` of all rows makes it a gain a row."""
        if len(self.bounds) > 1:
            state = f"still increases by {_last_gain(self.bounds) / total_weight:.2g} nats a row"
        else:
            state = "may increase further"
        return f"The bound {state}. Raise `max_iter` or `tol`"


def _has_no_mode(posterior: NaiveBayes) -> bool:
    """Whether some concentration of the posterior is below 1, so that its density is infinite at a boundary.

    `on_boundary` asks whether a concentration is at most 1, where the mode is at a boundary. At exactly 1 it is a mode
    nevertheless, with a finite density. So the question is put to a posterior whose numbers are all the next larger
    floating-point numbers: then 1 is above 1, and what is below 1 is still at most 1.
    """
    # `map_leaves` applies a function to every array of the posterior; `nextafter` is the next number upwards
    next_larger = map_leaves(lambda values: np.nextafter(values, np.inf), posterior)
    return bool(next_larger.on_boundary())


def _last_gain(bounds: list[float]) -> float:
    """By how much the last iteration raised the bound, in nats; infinite after the first."""
    return bounds[-1] - bounds[-2] if len(bounds) > 1 else np.inf


def _refuse_unsuited(estimator: Any, model: NaiveBayes, nb: AbstractNB) -> None:
    """ValueError if the estimator cannot use rows without a label.

    Their label is summed out, which needs a likelihood that is a density of a row. And a prior that is scaled by the
    rows of one class alone would need to know which rows these are.

    Parameters
    ----------
    estimator : as the user gave it, for the message
    model : its prior; each of its blocks is the columns of one family, such as Gaussian
    nb : the estimator, fitted to the rows with a label
    """
    for block in model.blocks.values():
        reason = block.evidence_error  # in words; empty where the likelihood is a density
        # as of complement naive Bayes, where a row counts in all classes but its own: a product of several densities
        if block.is_composite:
            # a bound on Σ_c π_c Π_{k≠c} p(x | θ_k) could be climbed, but that sum is no p(x)
            reason = "a row counts once for every other class, so the sum over its labels is not a density of the row"
        if reason:
            raise ValueError(
                f"`estimator` is {type(estimator).__name__}, which cannot use rows without a label: {reason}. Use "
                "MultinomialNB for counts of events, or GaussianNB for real features"
            )

    # The parts of a model: the estimator itself, or those that a MixedNB is made of, each an estimator with the columns
    # that it reads. A part may be the model of a single class, `only_class`, and else that is None. A prior that
    # follows the rows, such as one with the variance of the column, would then follow the rows of this class.
    for part in nb.model_.parts:
        if part.only_class is not None and part.model.prior_follows_rows:
            name = next(iter(part.block_names.values()))
            raise ValueError(
                f"`estimator` has a part {name!r} of one class, whose prior is scaled by rows that are not known; give "
                "it its own `prior`"
            )
