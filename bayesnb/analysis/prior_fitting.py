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
from ..core.special import namespace
from ..core.supports import AMOUNT, Field
from ..estimators._input import BLOCK
from ..estimators.gaussian import column_scale
from ..statistics import Moments, Totals
from ._suited import check_independent

_LIMITS = np.log([1e-4, 1e4])  # of the coordinates
_EDGE = 1e-3  # relative distance from a bound that counts as at it
_FIRST = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own pseudo-counts that are tried first


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
        blocks, columns, shape = nb.prior_.blocks, nb.block_columns(), (len(nb.classes_), nb.n_features_in_)
        stats, fields, free = nb.statistics_.blocks, declared_fields(blocks), np.ones(shape[1], bool)
        start, unit = {name: np.empty(shape) for name in fields}, {name: np.ones(shape) for name in fields}
        for key, block in blocks.items():
            held, at = stats[key], columns[key]
            amounts = [name for name in block.hyperparameters if fields[name].support is AMOUNT]
            if isinstance(held, Moments):
                spread = column_scale(held)[1]
                free[at] = spread > 0
                for name in amounts:
                    unit[name][:, at] = np.where(spread > 0, spread, 1)
            elif isinstance(held, Totals) and amounts:
                free[at] = held.total.sum(0) > 0
            for name, own in block.hyperparameters.items():
                value = getattr(block, own[0])
                start[name][:, at] = value[..., 0] if value.ndim == 3 else value
        if nb.get_params(deep=False).get("beta", 1) is None:
            unit["beta"] = start["beta"] / start["alpha"]
        if not free.any():
            raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
        return cls(blocks, stats, columns, start, unit, free)

    def hyperparameters(self, z: dict[str, Any]) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        found, fields = dict(self.start), declared_fields(self.blocks)
        for name in sorted(z, key=lambda name: fields[name].per != ""):  # a shape comes before what is relative to it
            xp, per = namespace(z[name]), fields[name].per
            value = self.unit[name] * xp.exp(z[name]) * (found[per] if per in z else 1)
            found[name] = xp.where(self.free, value, self.start[name])
        return found

    def prior(self, z: dict[str, Any]) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values, found = self.hyperparameters(z), {}
        for key, block in self.blocks.items():
            changes = {}
            for name, field in ((name, field) for name, fields in block.hyperparameters.items() for field in fields):
                own, value = getattr(block, field), values[name][:, self.columns[key].astype(int)]
                value = value[0] if own.ndim == 1 else value[..., None] if own.ndim == 3 else value  # shared; of levels
                changes[field] = namespace(value).broadcast_to(value, own.shape)
            found[key] = replace(block, **changes)
        return found


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    return {name: block.fields_[f[0]] for block in blocks.values() for name, f in block.hyperparameters.items()}


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
    >>> found = fit_prior(BernoulliNB(binarize=3.0), X, y)
    >>> round(float(found.estimator.alpha), 2)
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
    >>> found = fit_prior(BernoulliNB(binarize=3.0), X, y)
    >>> round(float(found.estimator.alpha), 2)  # of the largest evidence
    0.1
    """
    check_independent(estimator, "fit_prior")
    nb = clone(estimator).fit(X, y, sample_weight)
    try:
        before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence to maximise: {error}") from None
    own, blocks = nb.get_params(deep=False), nb.prior_.blocks
    fields = declared_fields(blocks)
    parameter = "family" if "family" in own else None if fields.keys() <= own.keys() else "prior"  # of a whole prior
    if parameter not in (None, *own) or not all(block.hyperparameters for block in blocks.values()):
        raise ValueError(
            f"`estimator` is a {type(nb).__name__}, whose prior cannot be fitted; choose an estimator whose "
            "hyperparameters are numbers, such as GaussianNB"
        )
    problem = EvidenceOfPrior.of(nb)
    names = sorted(name for name, field in fields.items() if field.support.kind != "real")
    with jax.enable_x64(True):
        z = _minimise(problem, names)
    found = {name: _compact(np.asarray(value)) for name, value in problem.hyperparameters(z).items()}
    given = {parameter: problem.prior(z)[BLOCK]} if parameter else found | ({"prior": None} if "prior" in own else {})
    fitted = copy.copy(nb).set_params(**given).with_statistics(nb.statistics_)
    at_bound = {name: int(at >= _LIMITS[1] - _EDGE) - int(at <= _LIMITS[0] + _EDGE) for name, at in z.items()}
    return PriorFit(fitted, fitted.log_evidence_, before, {name: found[name] for name in names}, at_bound)


@partial(jax.jit, static_argnames="names")
def _energy(z: Any, names: tuple[str, ...], problem: EvidenceOfPrior) -> tuple[Any, Any]:
    """−log p(X | y, η), nats, all of the evidence that depends on η, and its gradient in the coordinates."""

    def energy(z: Any) -> Any:
        blocks = problem.prior(dict(zip(names, z, strict=True))).items()
        return -sum(block.log_marginal(problem.stats[key]).sum() for key, block in blocks)

    return jax.value_and_grad(energy)(z)


def _minimise(problem: EvidenceOfPrior, names: list[str]) -> dict[str, float]:
    """Coordinates of a local minimum inside the bounds, from multiples of the estimator's own prior."""
    start, free, on_device = [], problem.free, as_jax(problem)
    per = [declared_fields(problem.blocks)[name].per for name in names]
    for name, shape in zip(names, per, strict=True):
        value = problem.start[name] / problem.unit[name] / (problem.start[shape] if shape in names else 1)
        start.append(np.log(value)[:, free].mean())

    def energy(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _energy(as_jax(z), tuple(names), on_device)
        return float(value), np.asarray(slope)

    # a start outside the bounds is at them before it is moved
    moved = (np.clip(start, *_LIMITS) + step * ~np.isin(per, names) for step in _FIRST)
    begin = min((z.clip(*_LIMITS) for z in moved), key=lambda z: energy(z)[0])
    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    result = minimize(energy, begin, jac=True, method="L-BFGS-B", bounds=[_LIMITS] * len(names), options=options)
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn("The evidence was still increasing after 1,000 iterations", ConvergenceWarning, stacklevel=3)
    return dict(zip(names, result.x.tolist(), strict=True))


def _compact(full: np.ndarray) -> Any:
    """Values (c, d) as a number or (d,) where that loses nothing."""
    return float(full[0, 0]) if (full == full[0, 0]).all() else full[0] if (full == full[:1]).all() else full
