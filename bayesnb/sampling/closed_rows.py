"""Rows 5 to 10 of the check: the closed forms against each other and against densities, on the host."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpyro.distributions import constraints

from ..base import Site
from ..core.arrays import Theta
from ..statistics import one_hot
from . import closed_estimates, closed_forms
from .closed_forms import EXACT, Gap, has_ratio
from .problem import Problem, choose
from .report import CheckRow

ROWS = {
    "likelihood": "5  Likelihood",
    "predictive": "6  Predictive",
    "leave_one_out": "7  Leave-one-out",
    "cumulants": "8  Moments",
    "estimates": "9  Estimates",
    "marginals": "10 Marginals",
}
_REASONS = {
    "likelihood": "exact: log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data)",
    "predictive": "exact: log p(x | data) = log p(x, data) − log p(data)",
    "leave_one_out": "exact: log p(x | other rows) = log p(data) − log p(other rows)",
    "cumulants": "exact: the derivatives of log E p(x | θ)^t, the log evidence of a row of weight t",
    "estimates": "exact: slopes of the log density and of the log likelihood, by polynomials",
    "marginals": "exact: the joint density of the parameters of a column, integrated by quadrature",
}
_FEW = 4  # rows that are predicted and left out


@dataclass(frozen=True)
class View:
    """A block with rows for all its classes: of a block that is about one class, its inner block and rows of it."""

    name: str
    prior: Any
    x: np.ndarray
    y: np.ndarray

    @property
    def r(self) -> np.ndarray:
        """One-hot labels."""
        return one_hot(self.y, self.prior.shape[0]).toarray()

    @property
    def posterior(self) -> Any:
        """The block after the rows."""
        return self.prior.update(self.prior.suffstats(self.x, self.r))


def views(problem: Problem) -> Iterator[View]:
    """The blocks of a problem that have rows."""
    for name, block in problem.prior.blocks.items():
        x, y = np.asarray(problem.rows[name], float), problem.y
        if block.only_class is not None:
            own = y == block.only_class
            x, y = x[own], np.zeros(int(own.sum()), int)
        if len(y):
            yield View(name, block.inner, x, y)


def closed_rows(whole: Problem, small: Problem, rng: np.random.Generator) -> list[CheckRow]:
    """Rows 5 to 10.

    Parameters
    ----------
    whole : all rows and columns: predictions are compared under its posterior
    small : a few rows of each class, under which all terms of a formula count
    """
    gaps: dict[str, list[Gap]] = {name: [] for name in ROWS}
    left_out: dict[str, list[str]] = {name: [] for name in ROWS}
    for view in views(whole):
        few = choose(rng, len(view.x), _FEW)
        gaps["leave_one_out"] += closed_forms.leave_one_out(view.prior, view.x, view.r, few[:2])
        if has_ratio(view.prior):
            gaps["predictive"] += closed_forms.predictive(view.posterior, view.x[few])
    for view in views(small):
        _small_gaps(view, rng, gaps, left_out)
    _class_gaps(small, rng, gaps)
    return [_row(name, gaps[name], left_out[name]) for name in ROWS]


def _small_gaps(
    view: View, rng: np.random.Generator, gaps: dict[str, list[Gap]], left_out: dict[str, list[str]]
) -> None:
    prior, posterior = view.prior, view.posterior
    few = view.x[choose(rng, len(view.x), _FEW)]
    gaps["leave_one_out"] += closed_forms.leave_one_out(prior, view.x, view.r, choose(rng, len(view.x), _FEW))
    if not has_ratio(prior):
        for name in gaps.keys() - {"leave_one_out"}:
            left_out[name].append(f"{view.name}: {type(prior).__name__} has no evidence of single rows")
        return
    for block in (prior, posterior):
        gaps["likelihood"] += closed_forms.likelihood(block, few, block.sample(rng, (3,)))
        gaps["predictive"] += closed_forms.predictive(block, few)
        gaps["cumulants"] += closed_forms.cumulants(block, few[:2])
    gaps["predictive"] += closed_forms.evidence(prior, view.x, view.r)
    sites = prior.sites()

    def log_likelihood(theta: Theta) -> np.ndarray:
        return posterior.log_likelihood(theta, view.x)[..., np.arange(len(view.y)), view.y].sum(-1)

    best = posterior.mle(prior.suffstats(view.x, view.r))
    gaps["estimates"] += closed_estimates.estimates(posterior, sites, log_likelihood, best)
    found, why = closed_estimates.marginals(posterior, sites)
    gaps["marginals"] += found
    if why:
        left_out["marginals"].append(f"{view.name}: {why}")


def _class_gaps(small: Problem, rng: np.random.Generator, gaps: dict[str, list[Gap]]) -> None:
    classes = small.prior.classes
    if not classes.marginals():
        return
    r = one_hot(small.y, len(classes.log_predictive())).toarray()
    n, posterior = r.sum(0), small.posterior.classes
    found = closed_forms.class_forms(classes, n, r[:_FEW], posterior.sample(rng, (3,)))
    gaps["predictive"] += found.pop("evidence")
    for name, some in found.items():
        gaps[name] += some
    sites = class_sites()

    def log_likelihood(theta: Theta) -> np.ndarray:
        return np.where(n > 0, n * theta["log_pi"], 0).sum(-1)

    gaps["estimates"] += closed_estimates.estimates(posterior, sites, log_likelihood, posterior.mle(n))
    gaps["marginals"] += closed_estimates.marginals(posterior, sites)[0]


def class_sites() -> dict[str, Site]:
    """The site of the class probabilities."""
    return {"pi": Site(constraints.simplex, ("event",))}


def _row(name: str, gaps: list[Gap], left_out: list[str]) -> CheckRow:
    remark = f"{len(gaps)} comparisons of {', '.join(dict.fromkeys(one.what for one in gaps)) or 'nothing'}"
    return worst_row(ROWS[name], gaps, EXACT, "relative", _REASONS[name], remark, left_out)


def worst_row(
    name: str, gaps: list[Gap], limit: float, unit: str, reason: str, remark: str, left_out: list[str]
) -> CheckRow:
    """A row whose figure is the largest of some differences, which has to stay within a limit."""
    worst = max(gaps, key=lambda one: np.nan_to_num(one.size, nan=np.inf), default=Gap("nothing", 0.0))
    if not worst.size <= limit:
        remark = f"{worst.what} is off; " + remark
    if left_out:
        remark += f"; left out: {'; '.join(dict.fromkeys(left_out))}"
    return CheckRow.within(name, worst.size, limit, unit, reason, remark)
