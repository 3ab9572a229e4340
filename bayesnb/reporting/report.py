"""A report on a fitted model as one self-contained page."""

import html as _html
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.supports import check_level
from ..io import replace_file
from . import page
from .content import Material
from .sections import SECTIONS, header


@dataclass(frozen=True)
class Report:
    """A report on a fitted model: one page of HTML that loads nothing else.

    Fields
    ------
    html : the page
    accuracy, log_loss : results of exact leave-one-out
    warnings : warnings about the model or the rows, one sentence each

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, report
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> found = report(nb, X, y)
    >>> round(found.accuracy, 3), found.html[:15]
    (0.953, '<!DOCTYPE html>')
    """

    html: str = field(repr=False)
    accuracy: float
    log_loss: float
    warnings: tuple[str, ...] = ()

    def save(self, path: Any) -> None:
        """Write the page to a file; if writing fails, an older file stays as it was."""
        replace_file(path, self.html.encode())

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{_html.escape(self.html, quote=True)}" title="report" loading="lazy" '
            'style="width: 100%; height: 48rem; border: 0"></iframe>'
        )


def report(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    contract: Any = None,
    code: str | None = None,
    others: Any = "auto",
    level: float = 0.9,
    seed: int = 0,
) -> Report:
    """Make one page about a model and its training rows, to read, print and send.

    The page shows how each column was used, the balance of the classes, and accuracy and log loss of exact
    leave-one-out. It has a calibration plot with its band, the confusion table, and the importance of each feature. The
    most and the least certain rows come with their nomograms, and the strongest features with prior and posterior. The
    page also shows which model has the largest evidence, what needs care, and the Python code that makes the page. It
    needs no network, follows light and dark settings, and suits a phone and paper.

    Parameters
    ----------
    estimator : an estimator of bayesnb. If it is not fitted, a clone is fitted to X and y; the estimator does not
        change
    X, y : its training rows and labels
    title : title of the page, by default the name of the model
    contract : how the columns were used, as returned by `describe`: an object with `to_frame()`
    code : the Python code that makes the page, by default derived from the model
    others : mapping from name to estimator, the models to compare with; "auto" chooses models that suit the cells, None
        no model
    level : level of the credible intervals
    seed : seed of all draws

    Returns
    -------
    Report
        it has `html` and `save(path)`, and a notebook shows it

    Raises
    ------
    ValueError
        if there are fewer than two classes or two rows, or if `level` is out of range

    Examples
    --------
    >>> import bayesnb
    >>> data = bayesnb.datasets.load("penguins")
    >>> X, y = data.X[["bill_length_mm", "sex"]][::12], data.y[::12]
    >>> page = bayesnb.report(bayesnb.MixedNB().fit(X, y), X, y, others=None)
    >>> page.html.startswith("<!DOCTYPE html>"), "http" in page.html.replace("http://www.w3.org", "")
    (True, False)
    """
    check_level(level)
    y = np.asarray(y)
    if len(y) < 2 or len(np.unique(y)) < 2:
        raise ValueError(f"`y` has {len(y)} rows and {len(np.unique(y))} classes; a report needs at least two of each")
    try:
        check_is_fitted(estimator)
    except ValueError:
        estimator = clone(estimator).fit(X, y)
    material = Material.of(estimator, X, y, contract, others, level, seed)
    known = title or f"{type(estimator).__name__}: {len(y):,} rows, {len(material.classes)} classes"
    sections = [(key, heading, made(material)) for key, heading, made in SECTIONS]
    made = f"<pre tabindex='0'><code>{page.text(code or python_code(material.estimator))}</code></pre>"
    sections.append(("python", "The Python code that makes this page", made))
    from .. import __version__

    whole = page.page(
        known,
        header(known, material),
        [one for one in sections if one[2]],
        f"Made by bayesnb {__version__}. Intervals are {level:.0%} credible intervals; log losses are in nats.",
    )
    return Report(whole, material.loo.accuracy, material.loo.log_loss, tuple(material.cautions))


def python_code(estimator: Any, rows: str = "# X, y: your rows and labels") -> str:
    """The Python that fits an estimator to rows, which some lines of code read, and makes the page."""
    return (
        f"import bayesnb\nfrom bayesnb import {type(estimator).__name__}\n\n{rows}\n"
        f"nb = {' '.join(repr(estimator).split())}.fit(X, y)\n"
        "print(nb.loo(X, y))\nprint(bayesnb.importance(nb, X, y))\nprint(nb.explain(X[:1]))\n"
        'bayesnb.report(nb, X, y).save("report.html")'
    )
