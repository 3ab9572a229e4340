"""Fitting the prior: hyperparameters by type-II maximum likelihood, or sampled with the parameters integrated out.

    η̂ = argmax_η log p(X, y | η),   p(X, y | η) = ∫ p(X, y | θ) p(θ | η) dθ

In conjugate models the integral is closed, and a function of the sufficient statistics alone: one pass over the rows
serves every η. What is searched are the coordinates z of η,

    log α, log κ, log a        pseudo-counts, the shapes of gamma and inverse-gamma densities among them
    log b/(a u)                rate or scale over shape, in the feature's own unit u; log b/u where a is not fitted
    (m − m̄)/s                  centre of a Gaussian: m̄ and s are mean and standard deviation of all rows

With `collapsed=True` every coordinate gets the hyperprior Normal(0, 2²) instead, and NUTS draws z from
p(z | X, y) ∝ p(X, y | η(z)) p(z); no θ is ever sampled. A prediction then averages the joint tables of the draws.

References
----------
Minka (2000), Estimating a Dirichlet distribution, eq. (53) ff.: the evidence of counts as a function of α.
Bishop (2006), Pattern Recognition and Machine Learning, §3.5: type-II maximum likelihood, or evidence approximation.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._special import log_normalize
from .._support import AMOUNT, Field
from .._typing import Scalar
from ..base import as_jax
from ..estimators._base import AbstractNB
from ..estimators._state import BLOCK
from ..estimators.gaussian import column_scale
from ..estimators.mixed import MixedNB
from ..statistics import Moments, Totals

Coordinates = dict[str, Any]  # by hyperparameter: (), (d,) or (c, 1)

_OVER = {"scalar": "one value for all", "feature": "one value a feature", "class": "one value a class"}
_WIDTH = 2.0  # standard deviation of the hyperprior of a coordinate
_FIRST = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own pseudo-counts that are tried first
_EDGE = 1e-3  # relative distance from a bound that counts as at it


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Problem:
    """The evidence as a function of the coordinates of the hyperparameters.

    Fields
    ------
    blocks, stats    the estimator's own prior and the statistics, by block
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

    def hyperparameters(self, z: Coordinates) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        found, declared = dict(self.start), _declared(self.blocks)
        for name in sorted(z, key=lambda name: declared[name].per != ""):  # a shape comes before what is relative to it
            if _is_centre(declared[name]):
                value = self.centre + self.unit[name] * z[name]
            else:
                value = self.unit[name] * jnp.exp(z[name])
                if declared[name].per in z:
                    value = value * found[declared[name].per]
            found[name] = jnp.where(self.free, value, self.start[name])
        return found

    def prior(self, z: Coordinates) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values = self.hyperparameters(z)
        return {name: _rebuilt(block, values, self.columns[name]) for name, block in self.blocks.items()}

    def log_evidence(self, z: Coordinates) -> Any:
        """log p(X | y, η), nats: all of the evidence that depends on η."""
        return sum(block.log_marginal(self.stats[name]).sum() for name, block in self.prior(z).items())


def _declared(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    return {
        name: block.fields_[fields[0]] for block in blocks.values() for name, fields in block.hyperparameters.items()
    }


def _is_centre(field: Field) -> bool:
    """Whether a hyperparameter is the centre of a density: any real number, in the unit of the feature."""
    return field.support.kind == "real"


def _rebuilt(block: Any, values: dict[str, Any], columns: Any) -> Any:
    """A block with hyperparameters (c, d) of all features in the place of its own."""
    changes = {}
    for name, fields in block.hyperparameters.items():
        for field in fields:
            own, value = getattr(block, field), values[name][:, columns]
            if own.ndim == 1:  # shared by the classes
                value = value[0]
            changes[field] = jnp.broadcast_to(value[..., None] if own.ndim == 3 else value, own.shape)
    return replace(block, **changes)


@jax.jit
def _objective(z: Coordinates, problem: _Problem, precision: Any) -> tuple[Any, Coordinates]:
    """−log p(X | y, η) + ½ precision Σ z², and its gradient."""

    def energy(z: Coordinates) -> Any:
        return 0.5 * precision * sum((value**2).sum() for value in z.values()) - problem.log_evidence(z)

    return jax.value_and_grad(energy)(z)


@dataclass(frozen=True)
class PriorFit:
    """Hyperparameters of maximum evidence.

    Attributes
    ----------
    estimator : fitted clone with these hyperparameters as its parameters (`alpha`, `beta` or `prior`): it predicts, and
        can be fitted to other rows with the same prior
    log_evidence, log_evidence_before : of the fitted estimator and of the one given, nats
    hyperparameters : those fitted, by name: a float, (d,), (c, 1) or (c, d)
    at_bound : by name, −1 where the lower and 1 where the upper bound was reached, else 0; (), (d,) or (c, 1). There
        the evidence grows beyond the bound: upwards where the data show no difference between classes, downwards where
        every class keeps to one value. For a rate or scale it is the bound of its ratio to the shape
    n_evaluations : of the evidence and its gradient
    over : "scalar", "feature" or "class"
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
            line = f"  {name:6} {_summary(value)}"
            for side, bound in ((-1, "lower"), (1, "upper")):
                count = int((self.at_bound[name] == side).sum())
                if count:
                    line += f"; {count} of {self.at_bound[name].size} at the {bound} bound"
            lines.append(line)
        return "\n".join(lines)


@dataclass(frozen=True)
class PriorDraws:
    """Draws of the hyperparameters given the rows, all other parameters integrated out.

    Attributes
    ----------
    estimator : fitted clone with the hyperparameters at the mode of the density of the coordinates
    draws : ArviZ data, group `posterior`: each hyperparameter by chain and draw, with dims feature or class if it has
    over : "scalar", "feature" or "class"
    """

    estimator: Any
    draws: Any
    over: str
    _problem: _Problem
    _coordinates: dict[str, np.ndarray]  # (draws of all chains, …)

    def predict_joint_log_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """log p(x_i, y = c | data), averaged over the hyperparameters, (n, c), nats.

        log of the mean over `n_draws` evenly spaced draws of the joint tables with parameters integrated out.
        """
        total = len(next(iter(self._coordinates.values())))
        if not 1 <= n_draws:
            raise ValueError(f"`n_draws` is {n_draws}; at least one draw is needed")
        nb, rows = self.estimator, self.estimator._encode(X)
        table = None
        chosen = np.unique(np.linspace(0, total - 1, min(n_draws, total)).astype(int))
        for s in chosen:
            z = {name: value[s] for name, value in self._coordinates.items()}
            model = replace(nb.prior_, blocks=_on_host(self._problem, z)).update(nb.statistics_)
            one = model.log_joint(rows)
            table = one if table is None else np.logaddexp(table, one)
        return table - np.log(len(chosen))

    def predict_log_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """log p(y = c | x_i, data), averaged over the hyperparameters, (n, c), nats."""
        return log_normalize(self.predict_joint_log_proba(X, n_draws))

    def predict_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """p(y = c | x_i, data), averaged over the hyperparameters, (n, c)."""
        return np.exp(self.predict_log_proba(X, n_draws))

    def predict(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """Label with the largest probability for each row, (n,)."""
        return self.estimator.classes_[np.argmax(self.predict_joint_log_proba(X, n_draws), axis=1)]

    def __str__(self) -> str:
        lines = [f"{type(self.estimator).__name__}: draws of the prior, {_OVER[self.over]}"]
        for name, values in self.draws["posterior"].data_vars.items():
            mean, sd = np.asarray(values.mean(("chain", "draw"))), np.asarray(values.std(("chain", "draw")))
            lines.append(f"  {name:6} mean {_summary(mean)}; sd {_summary(sd)}")
        return "\n".join(lines)


@overload
def fit_prior(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    over: str = "scalar",
    parameters: Sequence[str] | None = None,
    bounds: tuple[Scalar, Scalar] = (1e-4, 1e4),
    collapsed: Literal[False] = False,
) -> PriorFit: ...


@overload
def fit_prior(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    collapsed: Literal[True],
    sample_weight: Any = None,
    over: str = "scalar",
    parameters: Sequence[str] | None = None,
    bounds: tuple[Scalar, Scalar] = (1e-4, 1e4),
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    seed: int = 0,
) -> PriorDraws: ...


def fit_prior(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    over: str = "scalar",
    parameters: Sequence[str] | None = None,
    bounds: tuple[Scalar, Scalar] = (1e-4, 1e4),
    collapsed: bool = False,
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    seed: int = 0,
) -> PriorFit | PriorDraws:
    """Fit the hyperparameters of an estimator to rows: those of maximum evidence, or draws of them.

    Parameters
    ----------
    estimator : one whose family declares hyperparameters that are numbers, such as GaussianNB, PoissonNB, CategoricalNB
        or FamilyNB; a clone of it is fitted. MixedNB, KernelNB and covariance matrices are not supported
    X, y, sample_weight : rows, labels and weights, as in `fit`
    over : "scalar", one value for all; "feature", one a feature; "class", one a class
    parameters : hyperparameters to fit, the others staying as the estimator has them: `alpha` (and `beta`), or for
        GaussianNB `kappa`, `a`, `b` and `m`, less `a` and `b` with a known variance. By default all that `over` has a
        meaning for: `m` has one with "feature" only; a class can have no `alpha` of its own in CategoricalNB, nor an
        `a` or `b` where the variance is pooled (with "feature" they can be named, but rest on one variance each, and
        their maximum is at the upper bound)
    bounds : least and largest pseudo-count, and ratio of a rate or scale to its shape in units of the feature
    collapsed : False finds the maximum; True samples the coordinates by NumPyro's NUTS under the hyperprior
        Normal(0, 2²) each, see the Notes
    draws, warmup, chains, seed : of NUTS

    Returns
    -------
    PriorFit, or PriorDraws with `collapsed`

    Raises
    ------
    ValueError
        if the estimator has no evidence or none of the priors above, if `over`, `parameters`, `bounds` or the sizes
        of the chains are out of range, if no column varies; and what the estimator's `fit` raises

    Notes
    -----
    All is done on the sufficient statistics of one `fit`. The maximum is a local one of L-BFGS-B, begun at the best of
    five multiples of the estimator's own prior. It is never below the evidence of that prior as long as `over` has room
    for it, which it has not for "scalar" after one alpha a feature, for instance. The class prior is not fitted.

    The unit of a Gaussian `b` is the variance of the feature over all rows; that of `beta`, where the estimator has
    None, is what its default prior sets: "scalar" then means one multiple of these. The fitted estimator holds the
    numbers, which no longer move with the rows it is fitted to.

    A hyperparameter of each feature rests on one parameter a class: with few classes it is often at a bound, and a
    plug-in value hides how little is known. `collapsed=True` tells. Its hyperprior is one of the coordinates: with 95 %
    a pseudo-count is between 0.02 and 50, the ratio of rate or scale to shape within a factor of 50 of its unit, and m
    within four standard deviations of the mean of all rows.

    ComplementNB has a composite evidence, in which every row counts for all classes but its own; its maximum is a
    sensible setting, and its draws are too narrow.
    """
    nb = clone(estimator).fit(X, y, sample_weight)
    low, high = _checked_bounds(bounds)
    try:
        before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence that could be maximised: {error}") from None
    names = _names(nb, over, parameters)
    problem = _problem(nb)
    if collapsed:
        for name, value in (("draws", draws), ("chains", chains), ("warmup", warmup)):
            if value < 1:
                raise ValueError(f"`{name}` is {value}; at least 1 is needed")
    with jax.enable_x64(True):
        on_device = replace(
            problem, **{f: as_jax(getattr(problem, f)) for f in ("blocks", "stats", "start", "unit", "centre")}
        )
        z, limits = _start(problem, names, over, (low, high))
        z, evaluations = _minimise(z, limits, on_device, _WIDTH**-2 if collapsed else 0.0)
        sampled = _nuts(z, on_device, draws, warmup, chains, seed) if collapsed else None
    fitted, found = _with_prior(nb, problem, z, over)
    if sampled is not None:
        flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sampled.items()}
        return PriorDraws(fitted, _as_draws(nb, problem, sampled, over), over, problem, flat)
    at_bound = {}
    for name, value in z.items():
        least, most = limits[name]
        edge = np.where(value <= least + _EDGE, -1, np.where(value >= most - _EDGE, 1, 0))
        at_bound[name] = np.where(problem.free, edge, 0) if over == "feature" else edge
    return PriorFit(
        estimator=fitted,
        log_evidence=fitted.log_evidence_,
        log_evidence_before=before,
        hyperparameters={name: found[name] for name in names},
        at_bound={name: at_bound[name] for name in names},
        n_evaluations=evaluations,
        over=over,
    )


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 < low < high < np.inf:
        raise ValueError(f"`bounds` is {bounds!r}; it needs two positive finite numbers, the smaller one first")
    return low, high


def _names(nb: Any, over: str, parameters: Sequence[str] | None) -> list[str]:
    """Hyperparameters to fit, in the order of the family; ValueError where there is none such."""
    if over not in _OVER:
        raise ValueError(f"`over` is {over!r}; choose 'scalar', 'feature' or 'class'")
    kind = type(nb).__name__
    fittable = isinstance(nb, AbstractNB) and not isinstance(nb, MixedNB)
    if not fittable or not all(block.hyperparameters for block in nb.prior_.blocks.values()):
        raise ValueError(
            f"`estimator` is a {kind}, whose prior cannot be fitted; its family needs hyperparameters that are numbers"
        )
    declared = _declared(nb.prior_.blocks)
    known = list(declared)
    shared = [name for name, field in declared.items() if "class" not in field.axes]  # by the classes
    wrong = [name for name in known if _is_centre(declared[name])] if over != "feature" else []
    if over == "class":
        if _whole_prior(nb) is None and any("level" in field.axes for field in declared.values()):
            raise ValueError(f"`over` is 'class', but {kind} has one alpha or one a feature, the same in all classes")
        wrong += shared
    possible = [name for name in known if name not in wrong]
    if parameters is None:  # over features a shared one would be a prior of each of d single numbers
        return [name for name in possible if not (over == "feature" and name in shared)]
    wanted = [parameters] if isinstance(parameters, str) else list(parameters)
    if not wanted or not set(wanted) <= set(possible):
        raise ValueError(f"`parameters` is {parameters!r}; {kind} has {', '.join(possible)} to fit over {over!r}")
    return [name for name in known if name in wanted]


def _problem(nb: Any) -> _Problem:
    """The estimator's own prior, its statistics, and the units of its hyperparameters, on the host."""
    blocks = nb.prior_.blocks
    shape = len(nb.classes_), nb.n_features_in_
    columns = nb._columns()
    start: dict[str, np.ndarray] = {}
    for block_name, block in blocks.items():
        for name, fields in block.hyperparameters.items():
            own = getattr(block, fields[0])
            start.setdefault(name, np.empty(shape))[:, columns[block_name]] = own[..., 0] if own.ndim == 3 else own
    unit = {name: np.ones(shape) for name in start}
    free, centre = np.ones(shape[1], bool), np.zeros(shape)
    for block_name, block in blocks.items():
        held, at = nb.statistics_.blocks[block_name], columns[block_name]
        declared = _declared({block_name: block})
        amounts = [name for name, field in declared.items() if field.support is AMOUNT]
        if isinstance(held, Moments):
            mean, spread = column_scale(held)
            free[at], centre[:, at] = spread > 0, mean
            safe = np.where(spread > 0, spread, 1)
            for name, field in declared.items():
                if _is_centre(field):
                    unit[name][:, at] = np.sqrt(safe)
                elif name in amounts:
                    unit[name][:, at] = safe
        elif isinstance(held, Totals) and amounts:
            free[at] = held.total.sum(0) > 0
    if nb.get_params(deep=False).get("beta", 1) is None:
        unit["beta"] = start["beta"] / start["alpha"]
    if not free.any():
        raise ValueError("`X` has no column that varies, so there is no prior to fit")
    return _Problem(blocks, nb.statistics_.blocks, columns, start, unit, centre, free)


def _start(
    problem: _Problem, names: list[str], over: str, bounds: tuple[float, float]
) -> tuple[Coordinates, dict[str, tuple[float, float]]]:
    """Coordinates of the estimator's own prior, averaged where it has more of them than `over`, and their limits."""
    z, limits, declared = {}, {}, _declared(problem.blocks)
    for name in names:
        value, per = problem.start[name], declared[name].per
        if _is_centre(declared[name]):
            value, limits[name] = (value - problem.centre) / problem.unit[name], (-np.inf, np.inf)
        else:
            value = np.log(value / problem.unit[name] / (problem.start[per] if per in names else 1))
            limits[name] = np.log(bounds[0]), np.log(bounds[1])
        if over == "feature":
            value = np.where(problem.free, value.mean(0), 0)
        else:
            value = value[:, problem.free]
            value = value.mean(1, keepdims=True) if over == "class" else np.asarray(value.mean())
        z[name] = np.clip(value, *limits[name])
    return z, limits


def _minimise(
    z: Coordinates, limits: dict[str, tuple[float, float]], problem: _Problem, precision: float
) -> tuple[Coordinates, int]:
    """Coordinates of least energy, and how many evaluations that took."""
    _, unravel = ravel_pytree(as_jax(z))
    evaluations, declared = 0, _declared(problem.blocks)

    def energy(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        value, slope = _objective(unravel(jnp.asarray(flat)), problem, precision)
        return float(value), np.asarray(ravel_pytree(slope)[0])

    def moved(shift: float) -> np.ndarray:
        counts = {name: shift * (not _is_centre(declared[name]) and declared[name].per not in z) for name in z}
        return np.asarray(ravel_pytree({k: np.clip(v + counts[k], *limits[k]) for k, v in z.items()})[0])

    begin = min((moved(shift) for shift in _FIRST), key=lambda flat: energy(flat)[0])
    box = [pair for name in sorted(z) for pair in [limits[name]] * z[name].size]
    result = minimize(
        energy, begin, jac=True, method="L-BFGS-B", bounds=box, options={"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    )
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn(
            f"the evidence was still growing after {evaluations} evaluations; fit fewer hyperparameters with "
            "`parameters` or `over`",
            ConvergenceWarning,
            stacklevel=3,
        )
    return {name: np.asarray(value) for name, value in unravel(jnp.asarray(result.x)).items()}, evaluations


def _nuts(
    mode: Coordinates, problem: _Problem, draws: int, warmup: int, chains: int, seed: int
) -> dict[str, np.ndarray]:
    """Draws (chains, draws, …) of the coordinates by NUTS, from around the mode, its curvature the metric."""
    import numpyro
    import numpyro.distributions as dist

    from ..sampling.nuts import run_chains

    def model() -> None:
        z = {
            name: numpyro.sample(name, dist.Normal(0.0, _WIDTH).expand(mode[name].shape).to_event(mode[name].ndim))
            for name in sorted(mode)
        }
        numpyro.factor("data", problem.log_evidence(z))

    flat, unravel = ravel_pytree(as_jax(mode))
    curvature = (
        jax.jit(jax.hessian(lambda at: -problem.log_evidence(unravel(at))))(flat) + np.eye(flat.size) / _WIDTH**2
    )
    values, vectors = np.linalg.eigh(np.asarray(curvature))
    values = np.maximum(values, _WIDTH**-2)
    noise = np.random.default_rng(seed).standard_normal((chains, flat.size))
    starts = np.asarray(flat) + noise / np.sqrt(values) @ vectors.T
    metric = {tuple(sorted(mode)): (vectors / values) @ vectors.T}
    begin = jax.vmap(unravel)(jnp.asarray(starts))
    found = run_chains(model, begin, metric, seed, draws=draws, warmup=warmup)
    return {name: found[name].reshape(chains, draws, *mode[name].shape) for name in mode}


def _on_host(problem: _Problem, z: Coordinates) -> dict[str, Any]:
    """Prior blocks at the coordinates as NumPy arrays, whatever precision the session has."""
    with jax.enable_x64(True):
        return jax.tree.map(
            lambda leaf: np.asarray(leaf, float), replace(problem, start=as_jax(problem.start)).prior(z)
        )


def _with_prior(nb: Any, problem: _Problem, z: Coordinates, over: str) -> tuple[Any, dict[str, Any]]:
    """The estimator with hyperparameters at the coordinates, fitted; and all of these in their shortest shapes."""
    blocks = _on_host(problem, z)
    with jax.enable_x64(True):
        values = replace(problem, start=as_jax(problem.start)).hyperparameters(as_jax(z))
    found = {name: _compact(np.asarray(value), over) for name, value in values.items()}
    whole = _whole_prior(nb)
    parameters = found if whole is None else {whole: blocks[BLOCK]}
    return copy.copy(nb).set_params(**parameters)._set_statistics(nb.statistics_), found


def _whole_prior(nb: Any) -> str | None:
    """The parameter of an estimator that takes a block as its prior; None where it has one for each hyperparameter."""
    return next((name for name in ("family", "prior") if name in nb.get_params(deep=False)), None)


def _compact(full: np.ndarray, over: str) -> Any:
    """A hyperparameter (c, d) as a float, (d,) or (c, 1), where it is the same for all, all classes or all columns."""
    if over == "scalar" and (full == full[0, 0]).all():
        return float(full[0, 0])
    if over == "class" and (full == full[:, :1]).all():
        return full[:, :1]
    return full[0] if (full == full[:1]).all() else full


def _as_draws(nb: Any, problem: _Problem, sampled: dict[str, np.ndarray], over: str) -> Any:
    """Draws of the hyperparameters that have coordinates, as ArviZ data."""
    from ..sampling.to_arviz import as_arviz, dataset

    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sampled.items()}
    lead = next(iter(sampled.values())).shape[:2]
    full = problem.free.all()
    shapes, declared = {}, _declared(problem.blocks)
    for name in sampled:
        relative = {name, declared[name].per or name} & set(sampled)
        plain = full and not _is_centre(declared[name]) and all((problem.unit[k] == 1).all() for k in relative)
        short = {"feature": "feature", "scalar": "", "class": "class"}
        wide = {"feature": "feature", "scalar": "feature", "class": "all"}
        shapes[name] = (short if plain else wide)[over]
    cut = {"": (0, 0), "feature": (0,), "class": (slice(None), 0), "all": ()}
    dims = {"": [], "feature": ["feature"], "class": ["class"], "all": ["class", "feature"]}
    with jax.enable_x64(True):
        host = replace(problem, start=as_jax(problem.start))

        @jax.jit
        def one(z: Coordinates) -> dict[str, Any]:
            values = host.hyperparameters(z)
            return {name: values[name][cut[shapes[name]]] for name in sampled}

        values = jax.lax.map(one, as_jax(flat))
    arrays = {name: np.asarray(value).reshape(*lead, *value.shape[1:]) for name, value in values.items()}
    names = getattr(nb, "feature_names_in_", None)
    coords = {"class": nb.classes_, "feature": np.arange(nb.n_features_in_) if names is None else names}
    return as_arviz({"posterior": dataset(arrays, {name: dims[shapes[name]] for name in sampled}, coords)})


def _summary(value: Any) -> str:
    """One number, or the smallest, middle and largest of many."""
    flat = np.ravel(value)
    if flat.size == 1:
        return f"{flat[0]:.4g}"
    return f"{flat.min():.4g} to {flat.max():.4g}, median {np.median(flat):.4g}, of {flat.size}"
