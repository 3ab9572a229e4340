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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack, overload

import jax
import numpy as np
from sklearn.base import clone

from ..base import as_jax
from ..core.arrays import Scalar
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..estimators._base import AbstractNB
from ._prior_evidence import (
    EvidenceOfPrior,
    declared_fields,
    evidence_of_prior,
    is_centre,
    prior_on_host,
    start_coordinates,
)
from ._prior_found import as_draws, whole_prior, with_prior
from ._prior_search import HYPERPRIOR_SD, draw_coordinates, minimise
from ._suited import check_independent

_Problem = EvidenceOfPrior  # its name in pickles of version 0.1

_OVER = {"scalar": "one value for all", "feature": "one value a feature", "class": "one value a class"}
_EDGE = 1e-3  # relative distance from a bound that counts as at it


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
            line = f"  {name:6} {_summary(value)}"
            for side, bound in ((-1, "lower"), (1, "upper")):
                count = int((self.at_bound[name] == side).sum())
                if count:
                    line += f"; {count} of {self.at_bound[name].size} at the {bound} bound"
            lines.append(line)
        return "\n".join(lines)


@dataclass(frozen=True)
class PriorDraws:
    """Draws of the hyperparameters given the rows, with all other parameters integrated out.

    Attributes
    ----------
    estimator : fitted clone; its hyperparameters are at the mode of the density of the coordinates
    draws : ArviZ data; the group `posterior` has each hyperparameter by chain and draw, and by feature or class if
        needed
    over : "scalar", "feature" or "class"

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import BernoulliNB, fit_prior
    >>> found = fit_prior(BernoulliNB(binarize=3.0), X, y, collapsed=True, draws=50, warmup=50, chains=1)
    >>> list(found.draws['posterior'].sizes)
    ['chain', 'draw']
    """

    estimator: Any
    draws: Any
    over: str
    _problem: EvidenceOfPrior
    _coordinates: dict[str, np.ndarray]  # (draws of all chains, …)

    def predict_joint_log_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """log p(x_i, y = c | data), averaged over the hyperparameters, (n, c), nats.

        This is the logarithm of a mean of joint tables, over `n_draws` evenly spaced draws. In each table the
        parameters are integrated out.
        """
        total = len(next(iter(self._coordinates.values())))
        check_least(1, n_draws=n_draws)
        nb, rows = self.estimator, self.estimator.encode(X)
        table = None
        chosen = np.unique(np.linspace(0, total - 1, min(n_draws, total)).astype(int))
        for s in chosen:
            z = {name: value[s] for name, value in self._coordinates.items()}
            model = replace(nb.prior_, blocks=prior_on_host(self._problem, z))
            one = model.update(nb.statistics_).log_joint(rows)
            table = one if table is None else np.logaddexp(table, one)
        return table - np.log(len(chosen))

    def predict_log_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """log p(y = c | x_i, data), averaged over the hyperparameters, (n, c), nats."""
        return log_normalize(self.predict_joint_log_proba(X, n_draws))

    def predict_proba(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """p(y = c | x_i, data), averaged over the hyperparameters, (n, c)."""
        return np.exp(self.predict_log_proba(X, n_draws))

    def predict(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """The most probable label of each row, (n,)."""
        return self.estimator.classes_[np.argmax(self.predict_joint_log_proba(X, n_draws), axis=1)]

    def __str__(self) -> str:
        lines = [f"{type(self.estimator).__name__}: draws of the prior, {_OVER[self.over]}"]
        for name, values in self.draws["posterior"].data_vars.items():
            mean, sd = np.asarray(values.mean(("chain", "draw"))), np.asarray(values.std(("chain", "draw")))
            lines.append(f"  {name:6} mean {_summary(mean)}; sd {_summary(sd)}")
        return "\n".join(lines)


class _Settings(TypedDict, total=False):
    sample_weight: Any
    over: str
    parameters: Sequence[str] | None
    bounds: tuple[Scalar, Scalar]


class _ChainSettings(_Settings, total=False):
    draws: int
    warmup: int
    chains: int
    seed: int


@overload
def fit_prior(
    estimator: Any, X: Any, y: Any, *, collapsed: Literal[False] = False, **settings: Unpack[_Settings]
) -> PriorFit: ...


@overload
def fit_prior(
    estimator: Any, X: Any, y: Any, *, collapsed: Literal[True], **settings: Unpack[_ChainSettings]
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
    """Fit the hyperparameters of an estimator to rows: their values of maximum evidence, or draws of them.

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
    collapsed : False finds the maximum. True samples the coordinates by NumPyro's NUTS; each has the hyperprior
        Normal(0, 2²), see the Notes
    draws, warmup, chains, seed : settings of NUTS

    Returns
    -------
    PriorFit, or PriorDraws with `collapsed`

    Raises
    ------
    TypeError
        if the estimator is none of bayesnb, such as a pipeline
    ValueError
        if the estimator has no evidence or none of the priors above, or if no column varies. Also if `over`,
        `parameters`, `bounds` or a setting of NUTS is out of range. Errors of the estimator's `fit` are passed on

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
    plug-in value hides how little is known. `collapsed=True` shows it. Its hyperprior is on the coordinates. With 95 %
    probability a pseudo-count is between 0.02 and 50, and the ratio of rate or scale to shape is within a factor of 50
    of its unit. The centre m is then within four standard deviations of the mean of all rows.

    ComplementNB has a composite evidence, in which each row counts for all classes except its own. Its maximum is a
    sensible setting, but its draws are too narrow.

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
    low, high = _checked_bounds(bounds)
    try:
        before = nb.log_evidence_
    except AttributeError as error:
        raise ValueError(f"`estimator` has no evidence to maximise: {error}") from None
    names = _names(nb, over, parameters)
    problem = evidence_of_prior(nb)
    if collapsed:
        check_least(1, draws=draws, chains=chains, warmup=warmup)
    with jax.enable_x64(True):
        on_device = replace(
            problem, **{f: as_jax(getattr(problem, f)) for f in ("blocks", "stats", "start", "unit", "centre")}
        )
        z, limits = start_coordinates(problem, names, over, (low, high))
        z, evaluations = minimise(z, limits, on_device, HYPERPRIOR_SD**-2 if collapsed else 0.0)
        sampled = draw_coordinates(z, on_device, draws, warmup, chains, seed) if collapsed else None
    fitted, found = with_prior(nb, problem, z, over)
    if sampled is not None:
        flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sampled.items()}
        return PriorDraws(fitted, as_draws(nb, problem, sampled, over), over, problem, flat)
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
    check_choice("over", over, [*_OVER])
    kind = type(nb).__name__
    fittable = isinstance(nb, AbstractNB) and whole_prior(nb) in (None, *nb.get_params(deep=False))
    if not fittable or not all(block.hyperparameters for block in nb.prior_.blocks.values()):
        raise ValueError(
            f"`estimator` is a {kind}, whose prior cannot be fitted; choose an estimator whose hyperparameters are "
            "numbers, such as GaussianNB"
        )
    declared = declared_fields(nb.prior_.blocks)
    known = list(declared)
    shared = [name for name, field in declared.items() if "class" not in field.axes]  # by the classes
    wrong = [name for name in known if is_centre(declared[name])] if over != "feature" else []
    if over == "class":
        if whole_prior(nb) is None and any("level" in field.axes for field in declared.values()):
            raise ValueError(
                f"`over` is 'class', but {kind} has the same alpha in all classes; choose 'scalar' or 'feature'"
            )
        wrong += shared
    possible = [name for name in known if name not in wrong]
    if parameters is None:  # over features a shared one would be a prior of each of d single numbers
        return [name for name in possible if not (over == "feature" and name in shared)]
    wanted = [parameters] if isinstance(parameters, str) else list(parameters)
    if not wanted or not set(wanted) <= set(possible):
        raise ValueError(f"`parameters` is {parameters!r}; with over={over!r} {kind} can fit {', '.join(possible)}")
    return [name for name in known if name in wanted]


def _summary(value: Any) -> str:
    """One number, or the smallest, middle and largest of many."""
    flat = np.ravel(value)
    if flat.size == 1:
        return f"{flat[0]:.4g}"
    return f"{flat.min():.4g} to {flat.max():.4g}, median {np.median(flat):.4g}, of {flat.size}"
