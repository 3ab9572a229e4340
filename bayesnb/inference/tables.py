"""The parameters of a fitted model as data frames, the number of its free parameters, its likelihood, and a summary."""

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import Block, to_sites
from ..core.arrays import Scalar, Theta
from ..core.supports import AMOUNT, DENSITIES
from ..naive_bayes import CLASS
from .intervals import Model
from .laws import kind_of

if TYPE_CHECKING:
    import pandas as pd


def count_free(model: Model) -> int:
    """Free parameters: a simplex of k probabilities has k − 1, a symmetric matrix d(d + 1)/2."""
    total = len(model.classes.log_predictive()) - 1 if model.classes.marginals() else 0
    for block in model.blocks.values():
        inner = block.inner
        sites, theta = inner.sites(), to_sites(inner.mean())
        for name, value in theta.items():
            events = sum(axis == "event" for axis in sites[name].axes)
            lead, k = math.prod(value.shape[: value.ndim - events]), value.shape[-1]
            numbers = {"simplex": lead * (k - 1), "matrix": lead * k * (k + 1) // 2}
            total += numbers.get(kind_of(sites[name]), value.size)
    return total


def log_likelihood(estimator: Any) -> float:
    """Log likelihood of the rows behind the statistics at its maximum: log p(X, y | θ̂).

    By Bayes' identity it is log p(X, y) + log p(θ̂ | X, y) − log p(θ̂), which needs the statistics alone. The identity
    holds for every prior.

    Raises
    ------
    AttributeError
        if the model has no evidence, is no density of the rows, or the likelihood has no largest value
    """
    prior, posterior, stats = estimator.prior_, estimator.posterior_, estimator.statistics_
    name = type(estimator).__name__
    for block in prior.blocks.values():
        if block.no_evidence or block.is_composite:
            why = block.no_evidence or "its likelihood is composite, which is no density of the rows"
            raise AttributeError(f"{name} has no likelihood to maximise: {why}")
    with np.errstate(all="ignore"):
        theta = prior.mle(stats)
        total = prior.log_marginal(stats) + posterior.classes.log_prob(theta[CLASS])
        total -= prior.classes.log_prob(theta[CLASS])
        try:
            for key, block in prior.blocks.items():  # piece by piece: a rate without a bound has the density 1e-308
                total += (posterior.blocks[key].log_prob(theta[key]) - block.log_prob(theta[key])).sum()
                total += _zero_or_nan(block, theta[key])
        except np.linalg.LinAlgError:
            total = np.nan
    if not np.isfinite(total):
        raise AttributeError(
            f"{name} has no maximum likelihood: a variance of zero makes the likelihood infinite, because a feature is "
            "constant within a class or a covariance has fewer rows than features. Compare models by log_evidence_ or "
            "`loo`"
        )
    return float(total)


def _zero_or_nan(block: Block, theta: Theta) -> float:
    """NaN if a variance is 0 or a covariance has no inverse up to rounding, and 0 otherwise."""
    for name, value in to_sites(theta).items() if block.inner.cells_.measure == DENSITIES else ():
        kind = kind_of(block.inner.sites()[name])
        if kind == "positive" and (value < AMOUNT.low).any():
            return np.nan
        if kind == "matrix":
            sd = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            scaled = value / sd[..., :, None] / sd[..., None, :]
            if np.linalg.matrix_rank(scaled, hermitian=True).min() < scaled.shape[-1]:
                return np.nan
    return 0.0


def tables(estimator: Any, features: list[int], level: Scalar) -> "list[pd.DataFrame]":
    """One data frame of the parameters of each feature, with equal-tailed intervals of the posterior."""
    import pandas as pd

    theta = estimator.point_estimate() or estimator.posterior_.mean()
    places = [(name, i, j) for name, at in estimator.block_columns().items() for i, j in enumerate(at.tolist())]
    names = ["class_", "parameter", "estimate", "low", "high"]
    lines: dict[int, list[tuple[Any, ...]]] = {j: [] for j in features}
    for name, i, j in places:
        if j in lines:
            block = estimator.posterior_.blocks[name]
            lines[j] += _of_feature(estimator, block.inner, theta[name], i, j, block.only_class, level)
    return [pd.DataFrame(lines[j], columns=names) for j in features]


def _of_feature(
    estimator: Any, block: Block, theta: Theta, i: int, j: int, only: int | None, level: Scalar
) -> list[tuple[Any, ...]]:
    """Lines of the table of a feature, the i-th of a block."""
    columns = np.array([i])
    small, sites = block.merged(columns) or block.select(columns), block.sites()
    point = to_sites(block.take(theta, columns))
    lines: list[tuple[Any, ...]] = []
    for site, law in small.marginals().items():
        what, by_class = block.names_.get(site, site), "class" in sites[site].axes
        root: Any = np.sqrt if what == "variance" else np.asarray
        names = ["sd" if what == "variance" else what]
        if block.cells_.kind == "levels":
            names = [f"P({one})" for one in estimator.levels_of(j)]
        elif block.cells_.kind == "yes/no":
            names = ["P(1)"]
        numbers = point[site], law.ppf((1 - level) / 2), law.ppf((1 + level) / 2)
        for k in range(block.shape[0]) if by_class else [None]:
            label = "all classes" if k is None else estimator.classes_[k if only is None else only]
            label = f"not {label}" if block.is_composite else label
            values = [root(np.ravel(one if k is None else one[k])).tolist() for one in numbers]
            lines += [(label, *line) for line in zip(names, *values, strict=False)]
    return lines


@dataclass(frozen=True)
class Summary:
    """A fitted model in a few lines; a notebook shows it as two tables.

    Fields
    ------
    model : the estimator, as Python code
    facts : texts about the whole model by what they say
    classes : data frame of label, number of rows, probability under the current estimate, and its interval as text

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> found = nb.summary()
    >>> found.model
    'GaussianNB()'
    """

    model: str
    facts: dict[str, str]
    classes: "pd.DataFrame"

    def __str__(self) -> str:
        width = max(map(len, self.facts))
        lines = [self.model, *(f"  {name:{width}}  {value}" for name, value in self.facts.items())]
        size = self.classes["class"].astype(str).str.len().max()
        for label, rows, p, ends in self.classes.itertuples(index=False):
            lines.append(f"  class {label!s:{size}}  {rows:10,g} rows  probability {p:.3f}  {ends}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import pandas as pd

        facts = pd.DataFrame(self.facts.items()).to_html(header=False, index=False)
        classes = self.classes.to_html(index=False, float_format="%.3f")
        return f"<div><code>{escape(self.model)}</code>{facts}{classes}</div>"


def summarise(estimator: Any, level: Scalar) -> Summary:
    """The summary of a fitted estimator."""
    import pandas as pd

    posterior, count = estimator.posterior_, estimator.class_count_
    kinds: dict[str, int] = {}
    for name, at in estimator.block_columns().items():
        kind = posterior.blocks[name].inner.cells_.kind
        kinds[kind] = kinds.get(kind, 0) + len(at)
    features = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items())
    facts = {"rows": f"{count.sum():,g}", "features": f"{estimator.n_features_in_:,} ({features})"}
    for label, name, digits in (
        ("log evidence, nats", "log_evidence_", 2),
        ("log likelihood, nats", "log_likelihood_", 2),
        ("free parameters", "n_parameters_", 0),
        ("AIC", "aic_", 2),
        ("BIC", "bic_", 2),
    ):
        if hasattr(estimator, name):  # otherwise the model has none, and says why
            facts[label] = f"{getattr(estimator, name):,.{digits}f}"
    columns: dict[str, Any] = {
        "class": estimator.classes_,
        "rows": count,
        "probability": np.exp(estimator.class_log_prior_),
    }
    law = posterior.classes.marginals().get("pi")
    ends: Any = [] if law is None else zip(law.ppf((1 - level) / 2), law.ppf((1 + level) / 2), strict=True)
    columns["interval"] = [f"{low:.3f} … {high:.3f}" for low, high in ends] or ""
    return Summary(" ".join(repr(estimator).split()), facts, pd.DataFrame(columns))
