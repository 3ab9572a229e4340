"""Models compared on the same rows: evidence, and exact leave-one-out.

The evidence p(X, y | model) asks which model predicted rows and labels; leave-one-out Σ_i log p(y_i | x_i, D₋ᵢ) asks
which model predicts the labels of given rows. They may disagree: a better model of the rows can separate the classes
worse. A note then says which of the two to follow for what. The constants of all likelihoods are kept, so that evidence
compares likelihoods of different kinds as long as they are densities of the same cells with respect to the same
measure: counts with counts, real numbers with real numbers. Where they are not (a density with a probability; the
multinomial, whose row totals are given, with Poisson), a note says so. What it cannot see: an estimator that thresholds
its cells (`binarize`) has the evidence of thresholded cells.

References
----------
Kass & Raftery (1995), Bayes factors, JASA 90. Vehtari, Gelman & Gabry (2017), Statistics and Computing 27, eq. (24):
the standard error of a paired difference. Yao, Vehtari, Simpson & Gelman (2018), Bayesian Analysis 13, eq. (4):
stacking weights. McLatchie & Vehtari (2024), Efficient estimation and correction of selection-induced bias with order
statistics, Statistics and Computing 34: when the best of many models may be the luckiest.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtri
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from ..estimators._suited import check_own
from ..numerics.arrays import Float, PerRow
from ..numerics.progress import progress
from ..numerics.supports import COMPOSITE
from ..numerics.weights import RowWeights, row_weights
from ..posterior.loo import LooResult, loo_in_analyses

_NEWTON_STEPS = 6  # that polish stacking weights; the error of each is about the square of the last
_NEAR = 0.01  # of a weight: a step of Newton's method above it starts too far from the optimum
_NO_WEIGHT = 1e-6  # of a model without a share in the optimum
_MANY_MODELS = 11  # above it the best may have the largest elpd by chance
_COMPARABLE = 10.0  # nats times √n below the best, beyond which a model says nothing of chance
_ALIKE = 1e-10  # relative curvature of a direction in which models predict the same


@dataclass(frozen=True)
class Comparison:
    """A table of models, best first, with the results behind it.

    Attributes
    ----------
    table : data frame with one row a model, by `elpd` in descending order
        log_evidence        log p(X, y | model), nats; NaN if there is none
        log_bayes_factor    log_evidence minus the largest one, nats
        probability         of the model given the data, among models with an evidence; all are equal a priori
        elpd, se            Σ_i w_i log p(y_i | x_i, D₋ᵢ) and its standard error, nats
        elpd_diff, se_diff  elpd minus the largest one, and the standard error of that paired difference
        accuracy            share of the rows that are classified correctly from all other rows
        stacking            weights v ≥ 0, Σ_k v_k = 1, that maximise Σ_i w_i log Σ_k v_k p_k(y_i | x_i, D₋ᵢ): the
                            average of the models that predicts the labels best. NaN if a p_k is 0 or NaN
    loo : the exact leave-one-out result of each model, by name
    estimators : the fitted estimator of each model, by name
    notes : what is missing in the table, with the reason

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianDA, GaussianNB, compare
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> found.table.index[0]  # the model with the largest elpd
    'covariance'
    """

    table: pd.DataFrame
    loo: dict[str, LooResult]
    estimators: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The table, with four digits or two decimals, and the notes below it."""
        # large numbers with two decimals, small ones with four significant digits
        shown = self.table.to_string(
            formatters={"stacking": "{:.3f}".format},
            float_format=lambda value: f"{value:.4g}" if abs(value) < 10 else f"{value:.2f}",
        )
        notes = [f"note: {text}" for text in self.notes]
        return "\n".join([shown, *notes])


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    fitted: bool = False,
    groups: Any = None,
) -> Comparison:
    """Compare models of the same rows by their evidence and by exact leave-one-out.

    Parameters
    ----------
    estimators : mapping from name to estimator; each is cloned and fitted. A pair (estimator, X) has its own form of
        the same rows
    X, y, sample_weight : rows, labels and weights. Weights of an integer type count rows, and results are those of the
        repeated rows. Weights of a float type are importance, as in `loo`
    fitted : whether the estimators are already fitted to these rows; they are then used without a new fit
    groups : (n,) labels of groups of rows that are left out together, as in `loo`; for copies, one label a set of them

    Raises
    ------
    TypeError
        if an estimator has no method `loo`
    ValueError
        if `estimators` is no mapping, or is empty; or if a pair has another number of rows than `y`. Errors of `fit`
        and `loo` are passed on, with the name of the model

    Notes
    -----
    The default priors of the Gaussian and exponential variants are scaled by the rows, with two numbers a feature.
    Their evidence therefore uses the data twice. This favours them slightly over a model whose prior does not depend on
    the data.

    Evidence and leave-one-out are those of the model. They ignore `estimate`, and `norm` of `ComplementNB`, which only
    change the prediction; a note names each estimator that has such a setting.

    Of more than 11 models the best may be the luckiest. A note says so if the largest elpd is no larger than the
    largest of as many draws of a normal distribution would be.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianDA, GaussianNB, compare
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> found.table["elpd"].round(1).to_dict()
    {'covariance': -10.1, 'independent': -20.3}
    """
    models = _fitted_models(estimators, X, y, sample_weight, fitted)
    weights = row_weights(sample_weight, len(y))
    loo = _loo_of_all(models, y, weights, groups)  # by name, a `LooResult`: elpd, its terms by row, accuracy
    return comparison_of({name: model.nb for name, model in models.items()}, loo)


def comparison_of(fitted_models: dict[str, Any], loo: dict[str, LooResult]) -> Comparison:
    """The comparison of fitted models whose leave-one-out is known, by name."""
    # the two measures of each model: leave-one-out of the labels, and evidence of rows and labels
    evidence = _evidence_of(fitted_models)
    n_rows = len(next(iter(loo.values())).index)

    # sentences: no evidence or no common kind of it, contradictions, settings that have no influence, chance
    notes = [*evidence.notes, *_disagreements(loo, evidence), *_ignored_settings(fitted_models)]
    notes += _lucky_best({name: result.elpd for name, result in loo.items()}, n_rows)
    table = _table(loo, evidence)
    return Comparison(table, loo, fitted_models, tuple(notes))


class _Model(NamedTuple):
    """A fitted estimator `nb`, and the rows `X` in the form that it reads."""

    nb: Any
    X: Any


def _fitted_models(
    estimators: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, are_fitted: bool
) -> dict[str, _Model]:
    """Each estimator by name, fitted to the rows, with the rows in the form that it reads.

    Parameters
    ----------
    estimators : by name, either an estimator, which reads `X`, or a pair (estimator, rows) with a form of its own
    y : (n,) labels
    are_fitted : True if the estimators are fitted already, and are used as they are. Otherwise clones are fitted
    """
    if not isinstance(estimators, Mapping) or not estimators:
        kind = "empty" if isinstance(estimators, Mapping) else f"a {type(estimators).__name__}"
        raise ValueError(f"`estimators` is {kind}; give a mapping from name to estimator")

    models = {}
    for name, value in estimators.items():
        if isinstance(value, tuple):  # a pair: an estimator with rows of its own
            nb, rows = _Model(*value)
            name_of_rows = f"the rows of `estimators[{name!r}]`"
        else:
            nb = value
            rows = X
            name_of_rows = "`X`"
        check_own(nb, "compare", f"estimators[{name!r}]", "loo")  # TypeError unless it has a method `loo`
        _check_rows(name_of_rows, rows, y)  # ValueError unless there are as many rows as labels
        models[name] = _Model(nb, rows)
    if are_fitted:
        return models

    # clones are fitted, and the estimators that were given stay as they are
    fitted = {}
    with progress("fits", total=len(models), unit="models") as line:  # shown on a terminal while it lasts
        for name, (nb, rows) in models.items():
            line.begin(name)
            with _named(name):  # an error then says which model it is of
                fitted[name] = _Model(clone(nb).fit(rows, y, sample_weight), rows)
            line.advance()
    return fitted


def _check_rows(argument: str, X: Any, y: Any) -> None:
    """ValueError unless there are as many rows in `X` as labels in `y`.

    What has no length at all, and so is no table or no list of labels, is not judged here: `fit` says more of it.
    """
    try:
        # columns given as a dictionary have as many rows as the first of them
        first_column = next(iter(X.values())) if isinstance(X, dict) else X
        n_rows = _num_samples(first_column)
        n_labels = _num_samples(y)
    except (TypeError, StopIteration):  # it has no length, or is a dictionary without columns
        return
    if n_rows != n_labels:
        raise ValueError(f"{argument} and `y` have {n_rows} rows and {n_labels} labels; give each row its label")


def _loo_of_all(models: dict[str, _Model], y: Any, weights: RowWeights, groups: Any) -> dict[str, LooResult]:
    """Leave-one-out of each model, by name.

    Parameters
    ----------
    models : by name, a fitted estimator with the rows in the form that it reads
    y : (n,) labels
    weights : of the rows, and whether they count rows
    groups : (n,) labels of groups of rows that are left out together; None where each row leaves alone
    """
    results = {}
    with progress("leave-one-out", total=len(models), unit="models") as line:  # shown on a terminal while it lasts
        for name, model in models.items():
            line.begin(name)
            with _named(name):
                # log p(y_i | x_i, all rows but i) of each row, with sums and standard errors
                results[name] = loo_in_analyses(model.nb, model.X, y, weights, groups)
            line.advance()
    return results


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """A ValueError inside says which model it is of.

    Used as `with _named(name):` around the work on one model; the message then begins with the argument and this name.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"`estimators[{name!r}]`: {error}") from error


# --- evidence ---------------------------------------------------------------------------------------------------------


class _Evidence(NamedTuple):
    """The evidence of each model.

    Fields
    ------
    log_evidence : nats, by name of the model; NaN if there is none
    measures : what the likelihood is a density of, by name of each model that has an evidence
    notes : why a model has none, and why some cannot be compared
    """

    log_evidence: dict[str, float]
    measures: dict[str, str]
    notes: list[str]


def _evidence_of(models: Mapping[str, Any]) -> _Evidence:
    """The log evidence of each model by name, what its likelihood is a density of, and notes on what is missing.

    Evidence can be compared if the likelihoods are of the same kind: "densities" of real numbers, "probabilities" of
    counts or levels, or both of a model that has columns of both kinds.

    Parameters
    ----------
    models : the fitted estimator of each model, by name
    """
    evidence = _Evidence(log_evidence=dict.fromkeys(models, np.nan), measures={}, notes=[])
    for name, nb in models.items():
        try:
            evidence.log_evidence[name] = float(nb.log_evidence_)  # log p(X, y), parameters integrated out
        except AttributeError as error:  # it has none, and the error says why
            evidence.notes.append(f"{name} has no evidence: {error}")

        # the kind of its likelihood in words, such as "densities and probabilities"; a block is one family of columns
        if np.isfinite(evidence.log_evidence[name]):
            kinds = {cells.measure for cells in nb.prior_.cells.values()}
            evidence.measures[name] = " and ".join(sorted(kinds))

    # models whose likelihood is no density of a row lose their evidence here, if others have one
    comparable = _without_composite(evidence)
    has_several_kinds = len(set(comparable.measures.values())) > 1
    if has_several_kinds:
        listed = "; ".join(f"{name}: {measure}" for name, measure in comparable.measures.items())
        comparable.notes.append(
            f"evidence cannot be compared between likelihoods of different kinds ({listed}); compare by elpd"
        )
    return comparable


def _without_composite(evidence: _Evidence) -> _Evidence:
    """The evidence of all models but those with a composite likelihood, of which a note says that they have none.

    A composite likelihood is a product of several densities of the same row, so it is no density of the row, and cannot
    be compared with one. Where all models have likelihoods of one kind, the evidence stays as it is.
    """
    if len(set(evidence.measures.values())) < 2:  # one kind, composite or not: its evidence can be compared
        return evidence

    # copies are changed, not what was given
    log_evidence = dict(evidence.log_evidence)
    measures = dict(evidence.measures)
    notes = list(evidence.notes)
    for name, measure in evidence.measures.items():
        if COMPOSITE in measure:  # a kind is text, such as "densities and probabilities", in which this word may stand
            log_evidence[name] = np.nan
            notes.append(f"{name} has no evidence: a composite likelihood can only be compared with its own kind")
            del measures[name]
    return _Evidence(log_evidence, measures, notes)


# --- notes ------------------------------------------------------------------------------------------------------------


def _disagreements(results: Mapping[str, LooResult], evidence: _Evidence) -> list[str]:
    """Sentences that say where evidence and leave-one-out favour different models.

    Among the models of one kind of likelihood, one has the largest evidence: it is the best model of rows and labels.
    One has the largest elpd Σ_i log p(y_i | x_i, all other rows): it predicts the labels best. There is a sentence
    where the elpd of the first is more than two standard errors below that of the second.

    Parameters
    ----------
    results : leave-one-out result of each model, by name
    evidence : log evidence and kind of likelihood of each model, by name
    """
    notes = []
    kinds = dict.fromkeys(evidence.measures.values())  # each kind once, in the order of the models
    for kind in kinds:
        # among the models of this kind, whose evidence can be compared, the best by evidence and the best by elpd
        names = [name for name in evidence.measures if evidence.measures[name] == kind]
        by_evidence = max(names, key=lambda name: evidence.log_evidence[name])
        by_elpd = max(names, key=lambda name: results[name].elpd)

        # how much better the second predicts labels; 1e-6 is more than rounding where both predict the same
        gain = _paired_difference(results[by_elpd], results[by_evidence])  # in nats, with its standard error
        is_by_chance = gain.elpd <= max(2 * gain.se, 1e-6)
        if is_by_chance:
            continue
        # how much better the first is by evidence, in nats too
        nats = evidence.log_evidence[by_evidence] - evidence.log_evidence[by_elpd]
        notes.append(
            f"evidence and elpd disagree: {by_evidence} has the largest evidence (by {nats:.1f} nats), but {by_elpd} "
            f"predicts the labels better (by {gain.elpd:.1f} nats, standard error {gain.se:.1f}). To predict labels, "
            f"follow elpd: {by_elpd}. To say which model wrote the table, rows and labels, follow the evidence: "
            f"{by_evidence}"
        )
    return notes


def _ignored_settings(models: Mapping[str, Any]) -> list[str]:
    """A sentence for each fitted model with a setting that only changes its prediction, not its leave-one-out."""
    # elpd and evidence integrate the parameters out, even of an estimator that predicts by a single estimate of them
    notes = []
    for name, nb in models.items():
        setting = nb.model_.ignored_by_loo  # in words, such as estimate="mean"; empty where there is none
        if setting:
            notes.append(
                f"{name} predicts with {setting}, which leave-one-out ignores: elpd and accuracy are those of the "
                "posterior predictive"
            )
    return notes


def _lucky_best(elpd: Mapping[str, float], n_rows: int) -> list[str]:
    """A sentence if the best of more than 11 models may owe its elpd to chance.

    Suppose that no model is truly better than the median one. Then the differences of their elpd to its elpd are draws
    of N(0, σ²), and the largest of K draws is about Φ⁻¹(1 − 1/(2K)) σ. If the best model is no further above the
    median, it may be best by luck.

    References
    ----------
    McLatchie & Vehtari (2024), §4.
    """
    # Models far below the best say nothing of chance, and would move the median. The terms of n rows spread by about 1
    # nat, so that their sum has the standard error √n: 10 √n nats are beyond any chance.
    ascending = np.sort([value for value in elpd.values() if np.isfinite(value)])
    lowest = ascending.max(initial=-np.inf) - _COMPARABLE * np.sqrt(n_rows)
    values = ascending[ascending >= lowest]
    if len(values) <= _MANY_MODELS:
        return []

    # σ² is the mean square of the upper half alone, which bad models do not disturb: N(0, σ²) is symmetric
    median = values[len(values) // 2]
    difference = values - median  # ascending
    upper_half = difference[difference >= 0]
    sigma = np.sqrt(np.mean(upper_half**2))

    # what the largest of K differences would be by chance; `ndtri` is the quantile function Φ⁻¹ of the normal density
    n_differences = len(values) - 1
    largest_by_chance = ndtri(1 - 1 / (2 * n_differences)) * sigma
    is_beyond_chance = difference[-1] > largest_by_chance
    if is_beyond_chance:
        return []
    best = max(elpd, key=lambda name: elpd[name])
    return [
        f"{best} may be best by luck: its elpd is {difference[-1]:.1f} nats above the model in the middle, and the "
        f"largest of {len(values)} equally good models would be {largest_by_chance:.1f} (McLatchie & Vehtari 2024)"
    ]


# --- the table --------------------------------------------------------------------------------------------------------


class _Difference(NamedTuple):
    """elpd of one model minus that of another, nats, and the standard error of this paired difference."""

    elpd: float
    se: float


def _paired_difference(first: LooResult, second: LooResult) -> _Difference:
    """elpd of `first` minus that of `second`, with the standard error of this sum of differences row by row."""
    terms = first.terms(first.pointwise - second.pointwise)  # independent terms of the sum, weighted as the rows are
    return _Difference(float(terms.total()), float(terms.standard_error()))


def _table(results: Mapping[str, LooResult], evidence: _Evidence) -> pd.DataFrame:
    """The table of `Comparison`: one row a model, by elpd in descending order. Columns are as documented there.

    Parameters
    ----------
    results : leave-one-out result of each model, by name
    evidence : log evidence of each model, by name; NaN if there is none
    """
    # The probability of a model is p(M | data) = p(data | M) / Σ p(data | M'), by Bayes' theorem with equal prior
    # probabilities; models without an evidence have NaN, and are left out of the sum. The largest evidence is divided
    # out first, since exp of a small log evidence would be 0.
    table = pd.DataFrame({"log_evidence": evidence.log_evidence}).rename_axis("model")
    table["log_bayes_factor"] = table["log_evidence"] - table["log_evidence"].max()
    log_sum = logsumexp(table["log_bayes_factor"].dropna())
    table["probability"] = np.exp(table["log_bayes_factor"] - log_sum)

    # leave-one-out of each model, and its difference from the model with the largest elpd
    best = max(results.values(), key=lambda result: result.elpd)
    for name, result in results.items():
        difference = _paired_difference(result, best)  # same rows, so that their common noise cancels
        table.loc[name, "elpd"] = result.elpd
        table.loc[name, "se"] = result.se
        table.loc[name, "elpd_diff"] = difference.elpd
        table.loc[name, "se_diff"] = difference.se
        table.loc[name, "accuracy"] = result.accuracy

    # the weights of the average of models that predicts labels best; all results have the same weights of rows
    table["stacking"] = stacked_weights([result.pointwise for result in results.values()], best.weight)
    return table.sort_values("elpd", ascending=False, kind="stable")


def stacked_weights(pointwise: Sequence[np.ndarray], weight: PerRow) -> Float[np.ndarray, " k"]:
    """Weights v of models, v ≥ 0 with Σ v_k = 1, whose average Σ_k v_k p_ik predicts the labels of n rows best.

    They maximise the score Σ_i w_i log Σ_k v_k p_ik, which is concave in v.

    Parameters
    ----------
    pointwise : for each model k an array (n,) of log p_ik, nats, where p_ik is the probability that the model gives to
        the label of row i. If one of them is not finite, the weight of the model is NaN
    weight : (n,) w_i, non-negative

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), Using stacking to average Bayesian predictive distributions, Bayesian
    Analysis 13, eq. (4): weights that maximise the leave-one-out score.
    """
    has_weight = weight > 0
    share = weight[has_weight] / weight.sum()  # (n,) w_i / W of the n rows with a weight
    log_p = np.stack(pointwise, 1)[has_weight]  # (n, k) log p_ik of the k models

    # a model with an infinite or missing term has the weight NaN, and the u others are stacked without it
    stacked = np.full(log_p.shape[1], np.nan)
    is_usable = np.isfinite(log_p).all(0)  # (k,)
    n_usable = int(is_usable.sum())
    if not n_usable:
        return stacked

    # p_ik divided by the largest of its row: exp of very small logarithms would be 0. A factor of a row adds a constant
    # to the score, so that the best weights stay the same.
    usable_log_p = log_p[:, is_usable]  # (n, u)
    largest_of_row = usable_log_p.max(1, keepdims=True)
    p = np.exp(usable_log_p - largest_of_row)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the mean score, −Σ_i s_i log Σ_k v_k p_ik with the share s_i of row i, and its gradient (u,)."""
        mixture = np.maximum(p @ v, 1e-300)  # (n,) Σ_k v_k p_ik
        minus_score = -share @ np.log(mixture)
        gradient = -(share / mixture) @ p  # its derivative in v_k is −Σ_i s_i p_ik / Σ_l v_l p_il
        return minus_score, gradient

    # SLSQP is a minimiser with constraints: 0 ≤ v_k ≤ 1 and Σ v_k − 1 = 0, whose gradient is a vector of ones
    optimum = minimize(
        loss,
        np.full(n_usable, 1 / n_usable),  # equal weights to begin with
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n_usable,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )

    # It stops near the best weights, and Newton's method goes on from there. Negative weights of rounding size are set
    # to 0 first.
    stacked[is_usable] = _refined_by_newton(optimum.x.clip(0), p, share)
    return stacked


def _refined_by_newton(
    v: Float[np.ndarray, " k"], p: Float[np.ndarray, "n k"], share: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " k"]:
    """The weights v ≥ 0 of the largest score Σ_i s_i log Σ_k v_k p_ik with Σ_k v_k = 1, from weights near them.

    Newton's method moves them, to more digits than an optimiser that compares scores. It needs a function whose maximum
    is at the best weights without the constraint on their sum. That is

        f(v) = Σ_i s_i log Σ_k v_k p_ik − Σ_k v_k

    With r_ik = p_ik / Σ_l v_l p_il, its derivatives are

        ∂f/∂v_k = Σ_i s_i r_ik − 1            0 at the best weights, where v_k > 0
        ∂²f/∂v_k∂v_l = −Σ_i s_i r_ik r_il

    Parameters
    ----------
    v : weights of the models, near the best
    p : predictive probability of the label of each row, by model
    share : weight s_i of each row, with the sum 1
    """
    weights = v / v.sum()
    for _ in range(_NEWTON_STEPS):
        mixture = p @ weights  # (n,) Σ_l v_l p_il
        ratio = p / mixture[:, None]  # (n, k) r_ik
        slope = share @ ratio - 1  # (k,) ∂f/∂v_k

        # m of the k weights may move; a weight of 0 stays 0, unless the score would grow with it
        is_free = (weights > _NO_WEIGHT) | (slope > _NO_WEIGHT)
        ratio_of_free = ratio[:, is_free]  # (n, m)
        curvature = (share * ratio_of_free.T) @ ratio_of_free  # (m, m) minus the second derivatives

        # Newton's step solves curvature · step = slope. Models that predict the same make the matrix singular, and
        # least squares then takes the shortest step.
        step = np.linalg.lstsq(curvature, slope[is_free], rcond=_ALIKE)[0]
        if abs(step).max() > _NEAR:  # the optimiser has not come near enough for Newton's method
            return weights

        # weights that a step made negative are 0 now, and the sum is 1 again
        moved = np.zeros_like(weights)
        moved[is_free] = (weights[is_free] + step).clip(0)
        weights = moved / moved.sum()
    return weights
