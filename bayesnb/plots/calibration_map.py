"""The map of a calibrated classifier: what it makes of the model's log odds, and its parameters."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..analysis import _maps
from ..analysis._part_tables import blocks_of_parts
from ..core.arrays import Scalar
from ..core.supports import check_level
from ._common import colour, ink, intervals, line, list_down, plain_text, two_axes


def calibration_map(classifier: Any, *, level: Scalar = 0.9, axes: Any = None) -> Any:
    """Class probabilities before and after calibration, and the fitted parameters with their intervals.

    The left panel has the class probability against the log odds that the cells of a row give to a class, relative to
    all other classes. The others are equal among themselves, and the class prior is that of the model. The dotted curve
    is the probability of the model. The solid curve is the calibrated probability with its credible band over the
    posterior of the map. The right panel has the parameters of the maps on a logarithmic scale: power w, bend s,
    contamination ε, and eᵇ of the shifts. The identity has no parameters.

    Parameters
    ----------
    classifier : a fitted `CalibratedClassifierLOO`
    level : posterior mass of bands and intervals
    axes : two Axes to draw on

    Returns
    -------
    array of two Axes

    Raises
    ------
    ValueError
        if `level` is out of range, if `axes` are not two, or if the classifier has a single class

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import CalibratedClassifierLOO, GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    >>> axes = plots.calibration_map(nb)
    """
    check_is_fitted(classifier, "maps_")
    check_level(level)
    classes = classifier.classes_
    if len(classes) < 2:
        raise ValueError("`classifier` has a single class, so there is no map to plot; fit it to two classes")
    table = classifier.summary(level)
    table = table[(table["parameter"] != "") & (table["parameter"] != "g")]
    pair = two_axes(axes, figsize=(9, max(4, 1.2 + 0.22 * len(table))))
    _draw_curves(pair[0], classifier, level)
    shift = table["parameter"].str.startswith("b[")
    low, middle, high = (np.where(shift, np.exp(table[name]), table[name]) for name in ("low", "median", "high"))
    names = [f"e^{name}" if name.startswith("b[") else name for name in table["parameter"]]
    labels = [
        f"{name}  ({share:.0%} {kind})"
        for name, share, kind in zip(names, table["probability"], table["map"], strict=True)
    ]
    intervals(pair[1], np.arange(len(table)), low, middle, high, color=ink(pair[1]), marker="o")
    list_down(pair[1], labels)
    pair[1].set_xscale("log")
    pair[1].axvline(1, color=ink(pair[1]), linewidth=0.8, linestyle=":")
    pair[1].set_xlabel(f"parameter, {level:.0%} interval")
    return pair


def _draw_curves(ax: Any, classifier: Any, level: Scalar) -> None:
    classes = classifier.classes_
    log_prior = np.asarray(classifier.estimator_.class_log_prior_)
    parts = len(blocks_of_parts(classifier.estimator_, ["x"]))
    power = next((float(np.exp(one.mode[0])) for one in classifier.maps_ if len(one.mode)), 1.0)
    reach = 8 / min(power, 1.0)
    x = np.linspace(-reach, reach, 201)
    lengths = np.zeros((parts, len(x))) if classifier.uses_lengths else None
    draws = _maps.draw(classifier.maps_, np.random.default_rng(0), 200)
    for k in range(1, 2) if len(classes) == 2 else range(len(classes)):
        t = np.zeros((parts, len(classes), len(x)))
        t[:, k] = x / parts
        tables = _maps.Tables(t, np.repeat(log_prior[:, None], len(x), 1), lengths)
        before = np.exp(tables.joint[k] - np.logaddexp.reduce(tables.joint, axis=0))
        after = _maps.average(classifier.maps_, tables)[k]
        low, high = np.quantile(
            [kind.proba(tables, theta)[k] for kind, theta in draws], [(1 - level) / 2, (1 + level) / 2], axis=0
        )
        ax.plot(x, before, color=colour(k), linewidth=0.8, linestyle=":")
        ax.fill_between(x, low, high, color=colour(k), alpha=0.2, linewidth=0)
        ax.plot(x, after, label=plain_text(classes[k]), **(line(k) | ({"linestyle": "-"} if len(classes) == 2 else {})))
    ax.set(ylim=(-0.02, 1.02), xlabel="log odds of the class by the row's cells, nats", ylabel="probability")
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        *ax.get_legend_handles_labels()[0],
        Patch(color=ink(ax), alpha=0.2, linewidth=0, label=f"{level:.0%} interval"),
        Line2D([], [], color=ink(ax), linewidth=0.8, linestyle=":", label="not calibrated"),
    ]
    ax.legend(handles=handles, title="class", frameon=False, loc="upper left")
