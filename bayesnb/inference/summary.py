"""A fitted model in a few lines: what it was fitted to, its classes and how well it fits."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..core.arrays import Scalar


@dataclass(frozen=True)
class Summary:
    """A fitted model in a few lines; a notebook shows it as two tables.

    Fields
    ------
    model : the estimator, as Python code
    facts : names and values of facts about the whole model
    classes : label, number of rows, probability under the current estimate, and the ends of its interval (None if
        fixed)

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
    facts: tuple[tuple[str, str], ...]
    classes: tuple[tuple[Any, float, float, float | None, float | None], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.facts)
        lines = [self.model, *(f"  {name:{width}}  {value}" for name, value in self.facts)]
        size = max(len(str(label)) for label, *_ in self.classes)
        for label, rows, p, low, high in self.classes:
            interval = "" if low is None else f"  {low:.3f} … {high:.3f}"
            lines.append(f"  class {label!s:{size}}  {rows:10,g} rows  probability {p:.3f}{interval}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.facts)
        rows = "".join(
            f"<tr><td>{escape(str(label))}</td><td>{rows:,g}</td><td>{p:.3f}</td>"
            f"<td>{'' if low is None else f'{low:.3f} … {high:.3f}'}</td></tr>"
            for label, rows, p, low, high in self.classes
        )
        head = "<tr><th>class</th><th>rows</th><th>probability</th><th>interval</th></tr>"
        return (
            f"<div><code>{escape(self.model)}</code><table>{facts}</table>"
            f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
        )


def summarise(estimator: Any, level: Scalar) -> Summary:
    """The summary of a fitted estimator."""
    posterior, count = estimator.posterior_, estimator.class_count_
    kinds: dict[str, int] = {}
    for name, at in estimator.block_columns().items():
        kind = posterior.blocks[name].inner.cells_.kind
        kinds[kind] = kinds.get(kind, 0) + len(at)
    features = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items())
    facts = [("rows", f"{count.sum():,g}"), ("features", f"{estimator.n_features_in_:,} ({features})")]
    for label, name, digits in (
        ("log evidence, nats", "log_evidence_", 2),
        ("log likelihood, nats", "log_likelihood_", 2),
        ("free parameters", "n_parameters_", 0),
        ("AIC", "aic_", 2),
        ("BIC", "bic_", 2),
    ):
        try:
            facts.append((label, f"{getattr(estimator, name):,.{digits}f}"))
        except AttributeError:  # the model has none, and says why
            continue
    law = posterior.classes.marginals().get("pi")
    ends: Any = None if law is None else np.stack([law.ppf((1 - level) / 2), law.ppf((1 + level) / 2)], 1).tolist()
    p = np.exp(estimator.class_log_prior_)
    classes = tuple(
        (label, float(n), float(p[k]), *((None, None) if ends is None else ends[k]))
        for k, (label, n) in enumerate(zip(estimator.classes_.tolist(), count, strict=True))
    )
    return Summary(" ".join(repr(estimator).split()), tuple(facts), classes)
