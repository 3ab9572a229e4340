"""Fitting the prior: hyperparameters by type-II maximum likelihood.

    η̂ = argmax_η log p(X, y | η),   p(X, y | η) = ∫ p(X, y | θ) p(θ | η) dθ

In conjugate models the integral is closed, and a function of the sufficient statistics alone: one pass over the rows
serves every η. What is searched are the coordinates z of η,

    log α, log κ, log a        pseudo-counts, the shapes of gamma and inverse-gamma densities among them
    log b/(a u)                rate or scale over shape, in the feature's own unit u; log b/u where a is not fitted
    (m − m̄)/s                  centre of a Gaussian: m̄ and s are mean and standard deviation of all rows

References
----------
Minka (2000), Estimating a Dirichlet distribution, eq. (53) ff.: the evidence of counts as a function of α.
Bishop (2006), Pattern Recognition and Machine Learning, §3.5: type-II maximum likelihood, or evidence approximation.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base import as_jax
from ..core.arrays import Scalar
from ..core.special import namespace
from ..core.supports import AMOUNT, Field, check_choice
from ..estimators._base import AbstractNB
from ..estimators._input import BLOCK
from ..estimators.gaussian import column_scale
from ..statistics import Moments, Totals
from ._suited import check_independent

Coordinates = dict[str, Any]  # by hyperparameter: (), (d,) or (c, 1)
_OVER = {"scalar": "one value for all", "feature": "one value a feature", "class": "one value a class"}
_EDGE = 1e-3  # relative distance from a bound that counts as at it
_FIRST = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own pseudo-counts that are tried first


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EvidenceOfPrior:
    """The evidence as a function of the coordinates of the hyperparameters.

    Fields
    ------
    blocks, stats    the estimator's own prior, and the statistics, by block
    columns          positions among all features of the columns of each block
    start : (c, d)   each hyperparameter as the estimator has it
    unit : (c, d)    of each hyperparameter
    centre : (c, d)  where the coordinate of m is 0
    free : (d,)      columns whose prior is fitted; one that never varies keeps the firm prior that silences it
    """

    blocks: dict[str, Any]
    stats: dict[str, Any]
    columns: dict[str, Any]
    start: dict[str, Any]
    unit: dict[str, Any]
    centre: Any
    free: Any

    @classmethod
    def of(cls, nb: Any) -> "EvidenceOfPrior":
        """The estimator's own prior, its statistics, and the units of its hyperparameters."""
        blocks, columns, shape = nb.prior_.blocks, nb.block_columns(), (len(nb.classes_), nb.n_features_in_)
        declared, stats = declared_fields(blocks), nb.statistics_.blocks
        start, unit = {name: np.empty(shape) for name in declared}, {name: np.ones(shape) for name in declared}
        free, centre = np.ones(shape[1], bool), np.zeros(shape)
        for key, block in blocks.items():
            held, at = stats[key], columns[key]
            if isinstance(held, Moments):
                mean, spread = column_scale(held)
                free[at], centre[:, at] = spread > 0, mean
            elif isinstance(held, Totals) and any(declared[name].support is AMOUNT for name in block.hyperparameters):
                free[at] = held.total.sum(0) > 0
            for name, fields in block.hyperparameters.items():
                own, field = getattr(block, fields[0]), declared[name]
                start[name][:, at] = own[..., 0] if own.ndim == 3 else own
                if isinstance(held, Moments) and (is_centre(field) or field.support is AMOUNT):
                    unit[name][:, at] = np.where(spread > 0, spread, 1) ** (0.5 if is_centre(field) else 1)
        if nb.get_params(deep=False).get("beta", 1) is None:
            unit["beta"] = start["beta"] / start["alpha"]
        if not free.any():
            raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
        return cls(blocks, stats, columns, start, unit, centre, free)

    def hyperparameters(self, z: Coordinates) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        found, declared = dict(self.start), declared_fields(self.blocks)
        for name in sorted(z, key=lambda name: declared[name].per != ""):  # a shape comes before what is relative to it
            xp, per = namespace(z[name]), declared[name].per
            value = self.unit[name] * (z[name] if is_centre(declared[name]) else xp.exp(z[name]))
            value = value + self.centre if is_centre(declared[name]) else value * found[per] if per in z else value
            found[name] = xp.where(self.free, value, self.start[name])
        return found

    def prior(self, z: Coordinates) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values, found = self.hyperparameters(z), {}
        for key, block in self.blocks.items():
            changes = {}
            for name, field in ((name, field) for name, fields in block.hyperparameters.items() for field in fields):
                own, value = getattr(block, field), values[name][:, self.columns[key]]
                value = value[0] if own.ndim == 1 else value[..., None] if own.ndim == 3 else value  # shared; of levels
                changes[field] = namespace(value).broadcast_to(value, own.shape)
            found[key] = replace(block, **changes)
        return found

    def log_evidence(self, z: Coordinates) -> Any:
        """log p(X | y, η), nats: all of the evidence that depends on η."""
        return sum(block.log_marginal(self.stats[name]).sum() for name, block in self.prior(z).items())

    def begin(
        self, names: list[str], over: str, bounds: tuple[Scalar, Scalar]
    ) -> tuple[Coordinates, dict[str, tuple[float, float]]]:
        """Coordinates of the estimator's own prior, averaged where it has more of them than `over`; their limits."""
        z, limits, declared = {}, {}, declared_fields(self.blocks)
        for name in names:
            value, per = self.start[name], declared[name].per
            if is_centre(declared[name]):
                value, limits[name] = (value - self.centre) / self.unit[name], (-np.inf, np.inf)
            else:
                value = np.log(value / self.unit[name] / (self.start[per] if per in names else 1))
                limits[name] = np.log(bounds[0]), np.log(bounds[1])
            mean = {
                "class": value[:, self.free].mean(1, keepdims=True),
                "scalar": np.asarray(value[:, self.free].mean()),
            }
            z[name] = np.clip(mean.get(over, np.where(self.free, value.mean(0), 0)), *limits[name])
        return z, limits


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    return {name: block.fields_[f[0]] for block in blocks.values() for name, f in block.hyperparameters.items()}


def is_centre(field: Field) -> bool:
    """Whether a hyperparameter is the centre of a density: any real number, in the unit of the feature."""
    return field.support.kind == "real"


@dataclass(frozen=True)
class PriorFit:
    """Hyperparameters of maximum evidence.

    Attributes
    ----------
    estimator : fitted clone with these hyperparameters as its parameters (`alpha`, `beta` or `prior`). It predicts, and
        it can be fitted to other rows with the same prior
    log_evidence, log_evidence_before : evidence of the fitted estimator and of the given one, in nats
    hyperparameters : the fitted hyperparameters by name: a float, (d,), (c, 1) or (c, d)
    at_bound : by name, −1 at the lower bound, 1 at the upper bound, otherwise 0; (), (d,) or (c, 1). At a bound the
        evidence still grows beyond it. It grows upwards if the data show no difference between classes, and downwards
        if each class has a single value. For a rate or a scale this is the bound of its ratio to the shape
    n_evaluations : number of evaluations of the evidence and its gradient
    over : "scalar", "feature" or "class"

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
    at_bound: dict[str, np.ndarray]
    n_evaluations: int
    over: str

    def __str__(self) -> str:
        gain = self.log_evidence - self.log_evidence_before
        lines = [
            f"{type(self.estimator).__name__}: prior of maximum evidence, {_OVER[self.over]}",
            f"  log evidence {self.log_evidence:.2f} nats, {gain:+.2f} ({self.n_evaluations} evaluations)",
        ]
        for name, value in self.hyperparameters.items():
            sides = {"lower": self.at_bound[name] == -1, "upper": self.at_bound[name] == 1}
            at = [f"; {at.sum()} of {at.size} at the {side} bound" for side, at in sides.items() if at.any()]
            lines.append(f"  {name:6} {_summary(value)}{''.join(at)}")
        return "\n".join(lines)


def fit_prior(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    over: str = "scalar",
    parameters: Sequence[str] | None = None,
    bounds: tuple[Scalar, Scalar] = (1e-4, 1e4),
) -> PriorFit:
    """Fit the hyperparameters of an estimator: their values of maximum evidence.

    Parameters
    ----------
    estimator : an estimator whose family declares hyperparameters that are numbers, such as GaussianNB, PoissonNB,
        CategoricalNB or FamilyNB. A clone of it is fitted. MixedNB, KernelNB and covariance matrices are not supported
    X, y, sample_weight : rows, labels and weights, as in `fit`
    over : "scalar" for one value, "feature" for one value a feature, "class" for one value a class
    parameters : hyperparameters to fit; the others keep their values. They are `alpha` (and `beta`), or for GaussianNB
        `kappa`, `a`, `b` and `m`, without `a` and `b` if the variance is known. By default all hyperparameters are
        fitted for which `over` makes sense. `m` needs "feature". "class" excludes `alpha` of CategoricalNB, and `a` and
        `b` of a pooled variance. With "feature" you can name `a` and `b` of a pooled variance. Each then depends on one
        variance, and its maximum is at the upper bound
    bounds : smallest and largest pseudo-count; also of the ratio of a rate or scale to its shape, in units of the
        feature

    Returns
    -------
    PriorFit

    Raises
    ------
    TypeError
        if the estimator is none of bayesnb, such as a pipeline
    ValueError
        if the estimator has no evidence or none of the priors above, or if no column varies. Also if `over`,
        `parameters` or `bounds` is out of range. Errors of the estimator's `fit` are passed on

    Notes
    -----
    Everything uses the sufficient statistics of one `fit`. L-BFGS-B finds a local maximum; it starts at the best of
    five multiples of the estimator's own prior. The maximum is never below the evidence of that prior if the prior lies
    within `bounds` and `over` can express it. "scalar", for example, cannot express one alpha a feature, and the
    evidence of `BernoulliNB(alpha=1e6)` may be above the maximum within the default bounds. The class prior is not
    fitted.

    The unit of a Gaussian `b` is the variance of the feature over all rows. If the estimator has `beta=None`, the unit
    of `beta` is the value of the default prior. "scalar" then means one multiple of these units. The fitted estimator
    holds plain numbers, which no longer change with the rows.

    With "feature", each hyperparameter depends on one parameter a class. With few classes it is often at a bound, and a
    plug-in value hides how little is known. A hyperparameter with a prior of its own is a hierarchical model: write it
    in NumPyro, with `prior.log_marginal(statistics)` as a factor, and let NUTS draw it with all else integrated out.

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
    if np.shape(bounds) != (2,) or not 0 < bounds[0] < bounds[1] < np.inf:
        raise ValueError(f"`bounds` is {bounds!r}; it needs two positive finite numbers, the smaller one first")
    nb = clone(estimator).fit(X, y, sample_weight)
    try:
        before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence to maximise: {error}") from None
    names = _names(nb, over, parameters)
    problem = EvidenceOfPrior.of(nb)
    start, limits = problem.begin(names, over, bounds)
    with jax.enable_x64(True):
        on_device = replace(as_jax(problem), columns=problem.columns, free=problem.free)
        z, evaluations = _minimise(start, limits, on_device)
    found = {name: _compact(np.asarray(value), over) for name, value in problem.hyperparameters(z).items()}
    parameter = _whole_prior(nb)
    given = found if parameter is None else {parameter: problem.prior(z)[BLOCK]}
    if parameter is None and "prior" in nb.get_params(deep=False):
        given = {**found, "prior": None}
    fitted = copy.copy(nb).set_params(**given).with_statistics(nb.statistics_)
    at_bound = {}
    for name in names:
        at = np.where(z[name] <= limits[name][0] + _EDGE, -1, np.where(z[name] >= limits[name][1] - _EDGE, 1, 0))
        at_bound[name] = np.where(problem.free, at, 0) if over == "feature" else at
    kept = {name: found[name] for name in names}
    return PriorFit(fitted, fitted.log_evidence_, before, kept, at_bound, evaluations, over)


def _names(nb: Any, over: str, parameters: Sequence[str] | None) -> list[str]:
    """Hyperparameters to fit, in the order of the family; ValueError where there is none such."""
    check_choice("over", over, [*_OVER])
    kind, blocks = type(nb).__name__, nb.prior_.blocks
    fittable = isinstance(nb, AbstractNB) and _whole_prior(nb) in (None, *nb.get_params(deep=False))
    if not fittable or not all(block.hyperparameters for block in blocks.values()):
        raise ValueError(
            f"`estimator` is a {kind}, whose prior cannot be fitted; choose an estimator whose hyperparameters are "
            "numbers, such as GaussianNB"
        )
    declared = declared_fields(blocks)
    shared = [name for name, field in declared.items() if "class" not in field.axes]  # by the classes
    wrong = [name for name, field in declared.items() if is_centre(field) and over != "feature"]
    if over == "class":
        if _whole_prior(nb) is None and any("level" in field.axes for field in declared.values()):
            raise ValueError(
                f"`over` is 'class', but {kind} has the same alpha in all classes; choose 'scalar' or 'feature'"
            )
        wrong += shared
    possible = [name for name in declared if name not in wrong]
    if parameters is None:  # over features a shared one would be a prior of each of d single numbers
        return [name for name in possible if not (over == "feature" and name in shared)]
    wanted = [parameters] if isinstance(parameters, str) else list(parameters)
    if not wanted or not set(wanted) <= set(possible):
        raise ValueError(f"`parameters` is {parameters!r}; with over={over!r} {kind} can fit {', '.join(possible)}")
    return [name for name in declared if name in wanted]


def _whole_prior(nb: Any) -> str | None:
    """The parameter that takes a block as the prior; None where the estimator has one for each hyperparameter."""
    own, named = nb.get_params(deep=False).keys(), declared_fields(nb.prior_.blocks).keys()
    return "family" if "family" in own else None if named <= own else "prior"


@jax.jit
def _energy(z: Coordinates, problem: EvidenceOfPrior) -> tuple[Any, Coordinates]:
    """−log p(X | y, η), nats, and its gradient."""
    return jax.value_and_grad(lambda z: -problem.log_evidence(z))(z)


def _minimise(
    z: Coordinates, limits: dict[str, tuple[float, float]], problem: EvidenceOfPrior
) -> tuple[Coordinates, int]:
    """Coordinates of the largest evidence, by L-BFGS-B, and how many evaluations that took."""
    _, unravel = ravel_pytree(as_jax(z))
    declared = declared_fields(problem.blocks)

    def energy(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _energy(unravel(jnp.asarray(flat)), problem)
        return float(value), np.asarray(ravel_pytree(slope)[0])

    def moved(shift: float) -> np.ndarray:
        counts = {k: shift * (not is_centre(declared[k]) and declared[k].per not in z) for k in z}
        return np.asarray(ravel_pytree({k: np.clip(v + counts[k], *limits[k]) for k, v in z.items()})[0])

    begin = min((moved(shift) for shift in _FIRST), key=lambda flat: energy(flat)[0])
    box = [pair for name in sorted(z) for pair in [limits[name]] * z[name].size]
    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    result = minimize(energy, begin, jac=True, method="L-BFGS-B", bounds=box, options=options)
    evaluations = result.nfev + len(_FIRST)
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn(
            f"The evidence was still increasing after {evaluations} evaluations. Fit fewer hyperparameters: set "
            "`parameters` or `over`",
            ConvergenceWarning,
            stacklevel=3,
        )
    return {name: np.asarray(value) for name, value in unravel(jnp.asarray(result.x)).items()}, evaluations


def _compact(full: np.ndarray, over: str) -> Any:
    """A hyperparameter (c, d) as a float, (d,) or (c, 1), where it is the same for all, all classes or all columns."""
    if over == "scalar" and (full == full[0, 0]).all():
        return float(full[0, 0])
    if over == "class" and (full == full[:, :1]).all():
        return full[:, :1]
    return full[0] if (full == full[:1]).all() else full


def _summary(value: Any) -> str:
    """One number, or the smallest, middle and largest of many."""
    flat = np.ravel(value)
    if flat.size == 1:
        return f"{flat[0]:.4g}"
    return f"{flat.min():.4g} to {flat.max():.4g}, median {np.median(flat):.4g}, of {flat.size}"
