"""Fitting the prior: hyperparameters by type-II maximum likelihood.

    η̂ = argmax_η log p(X, y | η),   p(X, y | η) = ∫ p(X, y | θ) p(θ | η) dθ

In conjugate models the integral is closed, and a function of the sufficient statistics alone: one pass over the rows
serves every η. What is searched are the coordinates z of η, one number for all classes and features,

    log α, log κ, log a        pseudo-counts, the shapes of gamma and inverse-gamma densities among them
    log b/(a u)                rate or scale over shape, in the feature's own unit u

References
----------
Minka (2000), Estimating a Dirichlet distribution, eq. (53) ff.: the evidence of counts as a function of α.
Bishop (2006), Pattern Recognition and Machine Learning, §3.5: type-II maximum likelihood, or evidence approximation.
"""

import copy
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base import as_jax
from ..core.progress import progress
from ..core.special import namespace
from ..core.supports import AMOUNT, Field
from ..estimators._input import BLOCK
from ..estimators.gaussian import column_scale
from ..statistics import Moments, Totals
from ._suited import check_independent

_LIMITS = np.log([1e-4, 1e4])  # of the coordinates
_AT_BOUND = 1e-3  # distance of a coordinate from a bound that counts as at it
_FIRST_STEPS = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own prior, tried first


class EvidenceOfPrior(NamedTuple):
    """The evidence as a function of the coordinates of the hyperparameters.

    Fields
    ------
    blocks, stats    the estimator's own prior, and the statistics, by block
    columns          positions among all features of the columns of each block
    start : (c, d)   each hyperparameter as the estimator has it
    unit : (c, d)    of each hyperparameter
    free : (d,)      columns whose prior is fitted; one that never varies keeps the firm prior that silences it
    """

    blocks: dict[str, Any]
    stats: dict[str, Any]
    columns: dict[str, Any]
    start: dict[str, Any]
    unit: dict[str, Any]
    free: Any

    @classmethod
    def of(cls, nb: Any) -> "EvidenceOfPrior":
        """The estimator's own prior, its statistics, and the units of its hyperparameters."""
        blocks = nb.prior_.blocks
        stats = nb.statistics_.blocks
        columns = nb.block_columns()
        shape = len(nb.classes_), nb.n_features_in_
        fields = declared_fields(blocks)
        start = {name: np.empty(shape) for name in fields}
        unit = {name: np.ones(shape) for name in fields}
        free = np.ones(shape[1], bool)
        for key, block in blocks.items():
            block_columns = columns[key]
            amounts = [name for name in block.hyperparameters if fields[name].support is AMOUNT]
            if isinstance(stats[key], Moments):
                _, spread = column_scale(stats[key])
                free[block_columns] = spread > 0
                for name in amounts:
                    unit[name][:, block_columns] = np.where(spread > 0, spread, 1)
            elif isinstance(stats[key], Totals) and amounts:
                free[block_columns] = stats[key].total.sum(0) > 0
            for name, (first_field, *_) in block.hyperparameters.items():
                value = getattr(block, first_field)
                start[name][:, block_columns] = value[..., 0] if value.ndim == 3 else value
        if nb.get_params(deep=False).get("beta", 1) is None:
            unit["beta"] = start["beta"] / start["alpha"]
        if not free.any():
            raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
        return cls(blocks, stats, columns, start, unit, free)

    def hyperparameters(self, z: dict[str, Any]) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        fields = declared_fields(self.blocks)
        values = dict(self.start)
        for name in sorted(z, key=lambda name: fields[name].per != ""):  # a shape comes before what is relative to it
            xp = namespace(z[name])
            relative_to = fields[name].per
            value = self.unit[name] * xp.exp(z[name])
            if relative_to in z:
                value = value * values[relative_to]
            values[name] = xp.where(self.free, value, self.start[name])
        return values

    def prior(self, z: dict[str, Any]) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values = self.hyperparameters(z)
        blocks = {}
        for key, block in self.blocks.items():
            changes = {}
            for name, block_fields in block.hyperparameters.items():
                value = values[name][:, self.columns[key].astype(int)]
                for field in block_fields:
                    changes[field] = _as_field(value, getattr(block, field))
            blocks[key] = replace(block, **changes)
        return blocks


def _as_field(value: Any, field: Any) -> Any:
    """Values (c, d) with the axes of a field: without the class if classes share it, with one more for levels."""
    if field.ndim == 1:
        value = value[0]
    elif field.ndim == 3:
        value = value[..., None]
    return namespace(value).broadcast_to(value, field.shape)


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    declared = {}
    for block in blocks.values():
        for name, (first_field, *_) in block.hyperparameters.items():
            declared[name] = block.fields_[first_field]
    return declared


@dataclass(frozen=True)
class PriorFit:
    """Hyperparameters of maximum evidence.

    Attributes
    ----------
    estimator : fitted clone with these hyperparameters as its parameters (`alpha`, `beta` or `prior`). It predicts, and
        it can be fitted to other rows with the same prior
    log_evidence, log_evidence_before : evidence of the fitted estimator and of the given one, in nats
    hyperparameters : the fitted hyperparameters by name: a float, or (d,) where the features' units differ
    at_bound : by name, −1 at the lower bound, 1 at the upper bound, otherwise 0. At a bound the evidence still grows
        beyond it. It grows upwards if the data show no difference between classes, and downwards if each class has a
        single value. For a rate or a scale this is the bound of its ratio to the shape

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import BernoulliNB, fit_prior
    >>> fit = fit_prior(BernoulliNB(binarize=3.0), X, y)
    >>> round(float(fit.estimator.alpha), 2)
    0.1
    """

    estimator: Any
    log_evidence: float
    log_evidence_before: float
    hyperparameters: dict[str, Any]
    at_bound: dict[str, int]


def fit_prior(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
) -> PriorFit:
    """Fit the hyperparameters of an estimator: their values of maximum evidence.

    Parameters
    ----------
    estimator : an estimator whose family declares hyperparameters that are numbers, such as GaussianNB, PoissonNB,
        CategoricalNB or FamilyNB. A clone of it is fitted. MixedNB, KernelNB and covariance matrices are not supported
    X, y, sample_weight : rows, labels and weights, as in `fit`

    Returns
    -------
    PriorFit

    Raises
    ------
    TypeError
        if the estimator is none of bayesnb, such as a pipeline
    ValueError
        if the estimator has no evidence or none of the priors above, or if no column varies. Errors of the
        estimator's `fit` are passed on

    Notes
    -----
    Everything uses the sufficient statistics of one `fit`. Each hyperparameter gets one value, or one multiple of its
    units. The centre `m` of a Gaussian and the class prior are not fitted. L-BFGS-B finds a local maximum. It starts at
    the best of five multiples of the estimator's own prior. The maximum is never below the evidence of that prior if
    the prior is one value for all. Pseudo-counts, and the ratio of a rate or scale to its shape in units of the
    feature, stay between 1e-4 and 1e4.

    The unit of a Gaussian `b` is the variance of the feature over all rows. If the estimator has `beta=None`, the unit
    of `beta` is the value of the default prior. The fitted estimator holds plain numbers, which no longer change with
    the rows.

    A hyperparameter with a prior of its own is a hierarchical model: write it in NumPyro, with
    `prior.log_marginal(statistics)` as a factor, and let NUTS draw it with all else integrated out.

    ComplementNB has a composite evidence, in which each row counts for all classes except its own. Its maximum is a
    sensible setting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import BernoulliNB, fit_prior
    >>> fit = fit_prior(BernoulliNB(binarize=3.0), X, y)
    >>> round(float(fit.estimator.alpha), 2)  # of the largest evidence
    0.1
    """
    check_independent(estimator, "fit_prior")
    nb = clone(estimator).fit(X, y, sample_weight)
    try:
        before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence to maximise: {error}") from None
    parameter = _parameter_of_prior(nb)
    fields = declared_fields(nb.prior_.blocks)
    problem = EvidenceOfPrior.of(nb)
    names = sorted(name for name, field in fields.items() if field.support.kind != "real")
    with jax.enable_x64(True):
        z = _minimise(problem, names)
    values = {name: _compact(np.asarray(value)) for name, value in problem.hyperparameters(z).items()}
    fitted = copy.copy(nb).set_params(**_settings(nb, parameter, problem.prior(z), values))
    fitted = fitted.with_statistics(nb.statistics_)
    at_bound = {name: _bound_reached(coordinate) for name, coordinate in z.items()}
    return PriorFit(fitted, fitted.log_evidence_, before, {name: values[name] for name in names}, at_bound)


def _parameter_of_prior(nb: Any) -> str | None:
    """The parameter that takes a whole prior ("family" or "prior"); None if each hyperparameter is one of its own."""
    parameters = nb.get_params(deep=False)
    blocks = nb.prior_.blocks
    parameter = None
    if "family" in parameters:
        parameter = "family"
    elif not declared_fields(blocks).keys() <= parameters.keys():
        parameter = "prior"
    can_be_set = parameter is None or parameter in parameters
    if not can_be_set or not all(block.hyperparameters for block in blocks.values()):
        raise ValueError(
            f"`estimator` is a {type(nb).__name__}, whose prior cannot be fitted; choose an estimator whose "
            "hyperparameters are numbers, such as GaussianNB"
        )
    return parameter


def _settings(nb: Any, parameter: str | None, blocks: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator that stand for the fitted prior."""
    if parameter is not None:
        return {parameter: blocks[BLOCK]}
    if "prior" in nb.get_params(deep=False):  # which would override them
        return values | {"prior": None}
    return values


def _bound_reached(coordinate: float) -> int:
    """−1 at the lower bound, 1 at the upper bound, otherwise 0."""
    lower, upper = _LIMITS
    if coordinate >= upper - _AT_BOUND:
        return 1
    return -1 if coordinate <= lower + _AT_BOUND else 0


@partial(jax.jit, static_argnames="names")
def _energy(z: Any, names: tuple[str, ...], problem: EvidenceOfPrior) -> tuple[Any, Any]:
    """−log p(X | y, η), nats, all of the evidence that depends on η, and its gradient in the coordinates."""

    def energy(z: Any) -> Any:
        blocks = problem.prior(dict(zip(names, z, strict=True))).items()
        return -sum(block.log_marginal(problem.stats[key]).sum() for key, block in blocks)

    return jax.value_and_grad(energy)(z)


def _minimise(problem: EvidenceOfPrior, names: list[str]) -> dict[str, float]:
    """Coordinates of a local minimum inside the bounds, from multiples of the estimator's own prior."""
    on_device = as_jax(problem)
    fields = declared_fields(problem.blocks)

    def energy(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _energy(as_jax(z), tuple(names), on_device)
        line.advance()
        return float(value), np.asarray(slope)

    start = []  # the estimator's own prior
    for name in names:
        ratio = problem.start[name] / problem.unit[name]
        if fields[name].per in names:
            ratio = ratio / problem.start[fields[name].per]
        start.append(np.log(ratio)[:, problem.free].mean())
    is_own_scale = np.array([fields[name].per not in names for name in names])  # a ratio to another stays
    # a start outside the bounds is at them before it is moved
    candidates = [(np.clip(start, *_LIMITS) + step * is_own_scale).clip(*_LIMITS) for step in _FIRST_STEPS]
    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    with progress("evidence of the prior", unit="priors tried") as line:
        best = min(candidates, key=lambda z: energy(z)[0])
        result = minimize(energy, best, jac=True, method="L-BFGS-B", bounds=[_LIMITS] * len(names), options=options)
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn("The evidence was still increasing after 1,000 iterations", ConvergenceWarning, stacklevel=3)
    return dict(zip(names, result.x.tolist(), strict=True))


def _compact(values: np.ndarray) -> Any:
    """Values (c, d) as a number or (d,) where that loses nothing."""
    if (values == values[0, 0]).all():
        return float(values[0, 0])
    if (values == values[:1]).all():
        return values[0]
    return values
