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

from ..estimators._input import BLOCK
from ..estimators._suited import check_independent
from ..estimators.gaussian import column_scale
from ..families.base import as_jax
from ..numerics.progress import progress
from ..numerics.special import namespace
from ..numerics.supports import AMOUNT, Field
from ..sums.statistics import Moments, Totals

_LIMITS = np.log([1e-4, 1e4])  # of the coordinates
_AT_BOUND = 1e-3  # distance of a coordinate from a bound that counts as at it
_FIRST_STEPS = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own prior, tried first


class EvidenceOfPrior(NamedTuple):
    """The evidence as a function of the coordinates of the hyperparameters.

    A hyperparameter, such as α, is a number of the prior. Its coordinate z is one number for all c classes and d
    features: the hyperparameter is unit · exp z. A block is the prior of one family with the features that it reads.

    Fields
    ------
    blocks, stats    the estimator's own prior, and the sums over rows that the evidence depends on, by block
    columns          positions among all features of the columns of each block
    start : (c, d)   each hyperparameter, by name, as the estimator has it
    unit : (c, d)    of each hyperparameter, by name
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
        """From a fitted estimator: its own prior, its sums over rows, and the unit of each hyperparameter.

        A hyperparameter is a number of the prior, such as the rate β of a gamma density. It is written as unit · exp z,
        so that one coordinate z can serve features that are measured in metres and in millimetres. A feature that never
        varies in these rows says nothing of its prior, and is not free.

        The prior consists of blocks. Each is one family with the k of the d features that it reads, so the tables
        (c, d) of c classes and d features are filled block by block.
        """
        blocks = nb.prior_.blocks
        stats = nb.statistics_.blocks
        columns = nb.model_.block_columns  # by block, the positions of its k columns among the d features
        names = declared_fields(blocks).keys()  # of all hyperparameters

        # by name of the hyperparameter (c, d) its value and unit; and (d,) whether the prior of a feature is fitted
        n_classes = len(nb.classes_)
        n_features = nb.n_features_in_
        start = {name: np.empty((n_classes, n_features)) for name in names}
        unit = {name: np.ones((n_classes, n_features)) for name in names}
        free = np.ones(n_features, bool)

        for key, block in blocks.items():
            block_columns = columns[key]
            for name, value in _values_of_hyperparameters(block).items():
                start[name][:, block_columns] = value

            # Rates and variances are amounts, which are measured in a unit of the feature; other hyperparameters are
            # plain numbers, of unit 1. `varies` says whether the rows of a column say something of its prior.
            amounts = _names_of_amounts(block)
            scale = _scale_of_columns(stats[key], len(block_columns), bool(amounts))
            free[block_columns] = scale.varies
            for name in amounts:
                unit[name][:, block_columns] = scale.unit

        # The setting beta=None of an estimator says that its rates follow the rows of each feature. Their ratio to the
        # shape α is then the unit, so that z = 0 is the default rate. Other estimators have no setting "beta", or a
        # number.
        settings = nb.get_params(deep=False)
        follows_rows = "beta" in settings and settings["beta"] is None
        if follows_rows:
            unit["beta"] = start["beta"] / start["alpha"]
        if not free.any():
            raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
        return cls(blocks, stats, columns, start, unit, free)

    def hyperparameters(self, z: dict[str, Any]) -> dict[str, Any]:
        """The value of every hyperparameter, a table (c, d) by name, at the coordinates z.

        For example, a gamma density has a shape a, and a rate b that is fitted as a multiple of the shape:
        a = exp z_a and b = unit · exp z_b · a. A hyperparameter without a coordinate has the value of the estimator,
        and so has every one in a column that is not free.

        Parameters
        ----------
        z : one number for each of some hyperparameters, by name
        """
        # What a hyperparameter is a multiple of: `per` is the name of another one, and empty if there is none.
        fields = declared_fields(self.blocks)
        plain = [name for name in z if not fields[name].per]
        multiples = [name for name in z if fields[name].per]

        values = dict(self.start)
        for name in [*plain, *multiples]:  # a shape comes before the rate that is a multiple of it
            xp = namespace(z[name])  # NumPy or JAX
            value = self.unit[name] * xp.exp(z[name])  # (c, d)
            other = fields[name].per
            if other in z:
                value = value * values[other]
            values[name] = xp.where(self.free, value, self.start[name])  # `free` (d,) is the same for all classes
        return values

    def prior(self, z: dict[str, Any]) -> dict[str, Any]:
        """The prior at the coordinates z, as blocks by name: those of the estimator with other hyperparameters.

        A block holds its hyperparameters in arrays, its fields. One hyperparameter may fill several of them: α of a
        symmetric beta density is the value of both of its fields.
        """
        values = self.hyperparameters(z)  # (c, d) of all features, by name
        blocks = {}
        for key, block in self.blocks.items():
            # which of the d features are those of the block; `as_jax` has made floats of all arrays, indices included
            positions = self.columns[key].astype(int)  # (k,)
            new_fields = {}
            for name, field_names in block.hyperparameters.items():
                value = values[name][:, positions]  # (c, k)
                for field_name in field_names:
                    old_field = getattr(block, field_name)
                    new_fields[field_name] = _in_shape_of(old_field, value)
            blocks[key] = replace(block, **new_fields)  # a copy of the block with these fields
        return blocks


class _Scale(NamedTuple):
    """What the statistics of k columns say of their size.

    Fields
    ------
    unit : (k,) in which an amount of the column is measured
    varies : (k,) whether the rows say something of the prior of the column
    """

    unit: Any
    varies: Any


def _scale_of_columns(statistics: Any, k: int, has_amounts: bool) -> _Scale:
    """The unit of an amount in each of the k columns of a block, and whether the rows say something of its prior.

    - Measurements: the unit is the variance of the column over all rows. A constant column says nothing.
    - Sums of counts or times, whose family has an amount, such as a rate: the unit is 1. A column that is 0 in all rows
      has no scale, so it says nothing.
    - All others, such as counts of levels: the unit is 1, and every column says something.

    Parameters
    ----------
    statistics : of the block, over all classes
    has_amounts : whether some hyperparameter of the block is an amount
    """
    # measurements: `Moments` are sums of values and of squares, of which follow mean and variance of each column
    if isinstance(statistics, Moments):
        _, variance = column_scale(statistics)  # (k,), 0 where a column never varies
        varies = variance > 0
        return _Scale(np.where(varies, variance, 1), varies)

    # sums of counts or times, of all classes together
    if isinstance(statistics, Totals) and has_amounts:
        return _Scale(np.ones(k), statistics.total.sum(0) > 0)
    return _Scale(np.ones(k), np.ones(k, bool))


def _values_of_hyperparameters(block: Any) -> dict[str, Any]:
    """The value of each hyperparameter of a block, by its public name, in each class and column, (c, k).

    One hyperparameter may fill several arrays of the block, as α does both of a symmetric beta density. The first of
    them has its value: (c, k), or (c, k, l) with the same value for each of l levels.
    """
    values = {}
    for name, field_names in block.hyperparameters.items():
        field = getattr(block, field_names[0])
        values[name] = field[..., 0] if field.ndim == 3 else field
    return values


def _names_of_amounts(block: Any) -> list[str]:
    """The names of the hyperparameters of a block that have a unit, such as rates, scales and variances.

    Each declares a support, the set of values that it may have; that of a number with a unit is `AMOUNT`.
    """
    fields = declared_fields({"block": block})
    return [name for name in block.hyperparameters if fields[name].support is AMOUNT]


def _in_shape_of(field: Any, value: Any) -> Any:
    """The value of a hyperparameter, (c, k), in the shape that a field of the block has.

    For example, with 2 classes, 3 columns and 4 levels the value (2, 3) becomes (3,), (2, 3) or (2, 3, 4):

    - (k,): the classes share the field. The value of the first class stands for all, since they are equal.
    - (c, k): each class has its own.
    - (c, k, l): each of l levels has the value of its class and column.
    """
    if field.ndim == 1:
        value = value[0]  # (k,)
    elif field.ndim == 3:
        value = value[..., None]  # (c, k, 1), which is repeated below
    return namespace(value).broadcast_to(value, field.shape)


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What is declared of each hyperparameter, by its public name: `support`, the values that it may have, and `per`.

    `per` is the name of the hyperparameter of which it is a multiple, such as "alpha" of a rate; "" if there is none.
    Where a hyperparameter fills several arrays of a block, these are of one kind, and the first one tells it.
    """
    declared = {}
    for block in blocks.values():
        for name, field_names in block.hyperparameters.items():
            declared[name] = block.fields_[field_names[0]]
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
    # 1. fit the estimator with its own prior: the sums over the rows do not change any more
    check_independent(estimator, "fit_prior")
    nb = clone(estimator).fit(X, y, sample_weight)
    try:
        log_evidence_before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence to maximise: {error}") from None
    parameter = _parameter_of_prior(nb)  # the setting that takes a whole prior, or None; refuses what cannot be fitted

    # 2. choose the hyperparameters to fit: positive ones, such as α. A centre, which may be any real number, stays
    fields = declared_fields(nb.prior_.blocks)  # the kind of each hyperparameter, by its name
    names = sorted(name for name, field in fields.items() if field.support.kind != "real")

    # 3. maximise the evidence over their coordinates z: each hyperparameter is unit · exp z
    problem = EvidenceOfPrior.of(nb)
    with jax.enable_x64(True):
        z = _minimise(problem, names)  # a number for each name

    # 4. the estimator with the fitted values as its settings, fitted to the same rows by their sums
    tables = problem.hyperparameters(z)  # (c, d) by name
    values = {name: _compact(np.asarray(table)) for name, table in tables.items()}  # one number where all are equal
    fitted = copy.copy(nb).set_params(**_settings(nb, parameter, problem.prior(z), values))
    fitted = fitted.model_.with_statistics(nb.statistics_)
    return PriorFit(
        estimator=fitted,
        log_evidence=fitted.log_evidence_,
        log_evidence_before=log_evidence_before,
        hyperparameters={name: values[name] for name in names},
        at_bound={name: _bound_reached(coordinate) for name, coordinate in z.items()},  # −1, 0 or 1
    )


def _parameter_of_prior(nb: Any) -> str | None:
    """The parameter of the estimator that takes a whole prior.

    - "family", if there is one.
    - None, if each hyperparameter is a parameter of its own, such as `alpha`.
    - Otherwise "prior".

    ValueError if the estimator has no such parameter, or a block whose prior is not made of numbers.
    """
    parameters = nb.get_params(deep=False)  # the settings of the estimator, by name
    blocks = nb.prior_.blocks
    hyperparameters = declared_fields(blocks).keys()
    parameter: str | None
    if "family" in parameters:
        parameter = "family"
    elif hyperparameters <= parameters.keys():  # a subset: every one has a setting of the same name
        parameter = None
    else:
        parameter = "prior"

    # the last case is a guess: an estimator without a parameter "prior" takes no whole prior
    can_be_set = parameter is None or parameter in parameters
    has_numbers = all(block.hyperparameters for block in blocks.values())  # names of them, none of a covariance matrix
    if not can_be_set or not has_numbers:
        raise ValueError(
            f"`estimator` is a {type(nb).__name__}, whose prior cannot be fitted; choose an estimator whose "
            "hyperparameters are numbers, such as GaussianNB"
        )
    return parameter


def _settings(nb: Any, parameter: str | None, blocks: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator that stand for the fitted prior, for `set_params`.

    Parameters
    ----------
    parameter : the parameter that takes a whole prior; None if each hyperparameter is a parameter
    blocks : the fitted prior
    values : its hyperparameters by name
    """
    if parameter is not None:
        # an estimator with such a parameter has a single block, of this name
        return {parameter: blocks[BLOCK]}
    # single values, such as alpha; a whole prior that was set, too, would override them
    if "prior" in nb.get_params(deep=False):
        return values | {"prior": None}
    return values


def _bound_reached(coordinate: float) -> int:
    """Which bound of the search a coordinate is at: −1 the lower one, 1 the upper one, 0 none."""
    # the search ends near a bound rather than on it, so that a small distance counts as at it
    lower, upper = _LIMITS
    if coordinate >= upper - _AT_BOUND:
        return 1
    if coordinate <= lower + _AT_BOUND:
        return -1
    return 0


@partial(jax.jit, static_argnames="names")
def _energy(z: Any, names: tuple[str, ...], problem: EvidenceOfPrior) -> tuple[Any, Any]:
    """−log p(X | y, η) in nats, all of the evidence that depends on the hyperparameters η, and its gradient in z.

    Parameters
    ----------
    z : (p,) the coordinate of each of p hyperparameters
    names : their names, in the same order
    problem : makes a prior of coordinates, and holds the statistics of the rows, by block

    JAX compiles it once for each set of names; the arrays inside `problem` may then change.
    """

    def energy(z: Any) -> Any:
        """Minus the sum of the log evidence of all blocks, whose priors are independent."""
        prior = problem.prior(dict(zip(names, z, strict=True)))  # blocks by name
        return -sum(block.log_marginal(problem.stats[key]).sum() for key, block in prior.items())

    return jax.value_and_grad(energy)(z)


def _minimise(problem: EvidenceOfPrior, names: list[str]) -> dict[str, float]:
    """Coordinates, by name, at which the evidence has a local maximum inside the bounds.

    L-BFGS-B minimises −log evidence, by the gradient from JAX. It starts at the best of some multiples of the
    estimator's own prior.

    Parameters
    ----------
    names : of the hyperparameters that are fitted; all others keep the values of the estimator
    """
    on_device = as_jax(problem)  # the same with arrays of JAX, so that it can be compiled

    def energy(z: np.ndarray) -> tuple[float, np.ndarray]:
        """−log evidence at the coordinates z (p,), and its gradient (p,), in NumPy's types."""
        value, slope = _energy(as_jax(z), tuple(names), on_device)
        line.advance()  # of the progress, which is opened below before the first call
        return float(value), np.asarray(slope)

    candidates = _first_coordinates(problem, names)
    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    with progress("evidence of the prior", unit="priors tried") as line:  # shown on a terminal while it lasts
        # `energy` gives the value and the gradient; candidates are compared by the value
        best = min(candidates, key=lambda z: energy(z)[0])
        result = minimize(energy, best, jac=True, method="L-BFGS-B", bounds=[_LIMITS] * len(names), options=options)
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn("The evidence was still increasing after 1,000 iterations", ConvergenceWarning, stacklevel=3)
    return dict(zip(names, result.x.tolist(), strict=True))


def _first_coordinates(problem: EvidenceOfPrior, names: list[str]) -> list[np.ndarray]:
    """Coordinates (p,) of the estimator's own prior and of its multiples by 0.01, 0.1, 10 and 100, inside the bounds.

    Parameters
    ----------
    names : of the p hyperparameters that are fitted
    """
    # The value of a hyperparameter is unit · exp z, times another hyperparameter (`per`) if it is a multiple of it. So
    # z is the logarithm of a ratio. There is one z for all classes and features: the mean of theirs.
    fields = declared_fields(problem.blocks)
    start = []
    for name in names:
        ratio = problem.start[name] / problem.unit[name]  # (c, d)
        other = fields[name].per  # empty where there is none
        if other in names:
            ratio = ratio / problem.start[other]
        start.append(np.log(ratio)[:, problem.free].mean())

    # A multiple of another hyperparameter is not moved, since it moves with that one: if a rate is twice the shape, and
    # both were multiplied by 10, the rate would be 100 times as large.
    is_moved = np.array([fields[name].per not in names for name in names])
    start_inside = np.clip(start, *_LIMITS)  # a start outside the bounds is at them before it is moved
    return [(start_inside + step * is_moved).clip(*_LIMITS) for step in _FIRST_STEPS]


def _compact(values: np.ndarray) -> Any:
    """Values (c, d) as one number if all are equal, as (d,) if all classes have the same, and else as they are."""
    if (values == values[0, 0]).all():
        return float(values[0, 0])
    if (values == values[:1]).all():
        return values[0]
    return values
