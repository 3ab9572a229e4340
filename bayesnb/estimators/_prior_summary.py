"""A prior in words, with its scale on the data."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import to_sites
from ..core.wishart import InverseWishartMarginal
from ..families.classes import DirichletClasses
from ..naive_bayes import CLASS

_TINY = 1e-300
_LISTED = 8  # columns with one prior, and numbers of a field
_MOST = 20  # priors


class PriorSummary(str):
    """A text that shows itself as it is printed."""

    def __repr__(self) -> str:
        return str(self)


def prior_summary(nb: Any) -> PriorSummary:
    """The prior of a fitted estimator in words: see `AbstractNB.prior_summary`."""
    prior, stats = nb.prior_, nb.statistics_
    rows = prior.mle(stats)
    lines = [f"Prior of {type(nb).__name__}, beside {stats.n.sum():g} rows of {len(stats.n)} classes"]
    if isinstance(prior.classes, DirichletClasses):
        lines += [f"classes ~ Dirichlet({_numbers(prior.classes.alpha)}): {prior.classes.alpha.sum():g} pseudo-rows"]
    else:
        lines += [f"classes: probabilities fixed at {_numbers(np.exp(rows[CLASS]['log_pi']))}"]
    labels = nb.feature_names()
    groups = [(name, block.inner, at) for name, block in prior.blocks.items() for at in _groups(block.inner)]
    for name, block, at in groups[:_MOST]:
        places = nb.block_columns()[name][at]
        texts = [labels[j] if isinstance(labels[j], str) else f"column {labels[j]}" for j in places]
        if len(texts) > _LISTED:
            texts = [f"{texts[0]}, {texts[1]} … {texts[-1]} ({len(texts)} columns)"]
        lines += [f"{', '.join(texts)} ~ {_density(block, at)}"]
        if not block.is_improper:
            lines += _scales(block, at, to_sites(rows[name]))
    lines += [f"… and {len(groups) - _MOST} more"] * (len(groups) > _MOST)
    return PriorSummary("\n".join(lines))


def _groups(block: Any) -> list[np.ndarray]:
    """Positions of columns that have one prior; all columns where they share one."""
    arrays = [one.axes for key, one in block.fields_.items() if isinstance(getattr(block, key), np.ndarray)]
    if any(names.count("feature") != 1 for names in arrays):
        return [np.arange(block.shape[1])]
    found: dict[str, list[int]] = {}
    for j in range(block.shape[1]):
        found.setdefault(_density(block, np.array([j])), []).append(j)
    return [np.array(at) for at in found.values()]


def _density(block: Any, at: np.ndarray) -> str:
    """The density by its name and its numbers: `Beta(2, 8)`, or the fields of a family."""
    stated = block.distribution_ is not None and block.distribution_[1].keys() == block.fields_.keys()
    texts = []
    for key, declared in block.fields_.items():
        value = getattr(block, key)
        if declared.fitted and isinstance(value, np.ndarray):
            if declared.axes.count("feature") == 1:
                value = np.take(value, at[:1] if block.separable else at, declared.axes.index("feature"))
            texts.append(("" if stated else f"{key}=") + _numbers(value))
    name = block.distribution_[0] if stated else type(block).__name__
    return f"{name}({', '.join(texts)})" + (", improper" if block.is_improper else "")


def _scales(block: Any, at: np.ndarray, rows: dict[str, Any]) -> Iterator[str]:
    """For each parameter of columns with one prior: median and 90 % of it, and what the rows alone say."""
    for site, marginal in block.marginals().items():
        alone = rows[site]
        if isinstance(marginal, InverseWishartMarginal):
            marginal, alone = marginal.diagonal(), np.diagonal(alone, axis1=-2, axis2=-1)
        parts = (np.take(x, at, min(np.ndim(x) - 1, 1)) for x in (*map(marginal.ppf, (0.5, 0.05, 0.95)), alone))
        middle, low, high, seen = parts
        seen = np.where(abs(seen) < _TINY, 0, seen)  # where a logarithm was held finite
        text = f"{seen.min():.3g}" + (f" to {seen.max():.3g}" if seen.max() > seen.min() else "")
        spread = f"90 % in {low.min():.3g} to {high.max():.3g}"
        yield f"    {block.names_.get(site, site)}: {_numbers(middle)}, {spread}; the rows alone: {text}"


def _numbers(value: np.ndarray) -> str:
    """Numbers in short: of one class if classes agree; one if all are equal, all if they are few, else their range."""
    rows = np.reshape(value, (-1, np.shape(value)[-1]))
    few = rows[0] if (rows == rows[0]).all() else rows.ravel()
    if (few == few[0]).all():
        return f"{few[0]:.4g}"
    return ", ".join(f"{x:.4g}" for x in few) if few.size <= _LISTED else f"{few.min():.4g} to {few.max():.4g}"
