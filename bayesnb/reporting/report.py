"""A report on a fitted model as one self-contained page."""

import html as _html
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.files import replace_file
from . import page
from .content import Material
from .sections import SECTIONS, header


@dataclass(frozen=True)
class Report:
    """A report on a fitted model: a page of HTML that needs nothing from elsewhere.

    Fields
    ------
    html : the page
    accuracy, log_loss : of exact leave-one-out
    warnings : what to be careful about, a sentence each

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
        """Write the page to a file, as a whole or not at all."""
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
    """One page about a model and the rows that it was fitted to, to look at, print and send.

    It shows what each column was used as, the balance of the classes, accuracy and log loss of exact leave-one-out,
    calibration with its band, the confusion table, the importance of each feature, the most and the least certain rows
    with their nomograms, prior and posterior of the strongest features, which model the evidence prefers, what to be
    careful about, and the Python that makes the page. It needs no network, follows light and dark settings, and fits a
    telephone and paper.

    Parameters
    ----------
    estimator : one of bayesnb's; it is fitted to X and y where it is not fitted yet, and is not changed
    X, y : the rows and labels that it was fitted to
    title : by default the name of the model
    contract : what the columns were used as, where `describe` or a file has said so: an object with `to_frame()`
    code : the Python that makes the page; by default made from the model
    others : models to compare with, a mapping from name to estimator; "auto" takes those that suit the cells, None none
    level : of the credible intervals
    seed : of all draws

    Returns
    -------
    Report
        with `html`, `save(path)`, and a form that notebooks show

    Raises
    ------
    ValueError
        if there are fewer than two classes or rows, or `level` is out of range

    Examples
    --------
    >>> import bayesnb
    >>> data = bayesnb.datasets.load("penguins")
    >>> X, y = data.X[["bill_length_mm", "sex"]][::12], data.y[::12]
    >>> page = bayesnb.report(bayesnb.MixedNB().fit(X, y), X, y, others=None)
    >>> page.html.startswith("<!DOCTYPE html>"), "http" in page.html.replace("http://www.w3.org", "")
    (True, False)
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` is {level}; it needs to lie between 0 and 1, such as 0.9")
    y = np.asarray(y)
    if len(y) < 2 or len(np.unique(y)) < 2:
        raise ValueError(f"`y` has {len(y)} rows and {len(np.unique(y))} classes; a report needs two of each")
    try:
        check_is_fitted(estimator)
    except ValueError:
        estimator = clone(estimator).fit(X, y)
    material = Material.of(estimator, X, y, contract, others, level, seed)
    known = title or f"{type(estimator).__name__}: {len(y):,} rows, {len(material.classes)} classes"
    sections = [(key, heading, made(material)) for key, heading, made in SECTIONS if key != "python"]
    sections.append(("python", "The Python that makes this page", _python(material, code)))
    from .. import __version__

    whole = page.page(
        known,
        header(known, material),
        [one for one in sections if one[2]],
        f"Made by bayesnb {__version__}. Intervals are {level:.0%} credible intervals; log losses are in nats.",
    )
    return Report(whole, material.loo.accuracy, material.loo.log_loss, tuple(material.cautions))


def _python(material: Material, code: str | None) -> str:
    name = type(material.estimator).__name__
    model = " ".join(repr(material.estimator).split())
    made = code or (
        f"import bayesnb\nfrom bayesnb import {name}\n\n# X, y: your rows and labels\nnb = {model}.fit(X, y)\n"
        "print(nb.loo(X, y))\nprint(bayesnb.importance(nb))\nprint(nb.explain(X[:1]))\n"
        'bayesnb.report(nb, X, y).save("report.html")'
    )
    return f"<pre tabindex='0'><code>{page.text(made)}</code></pre>"
