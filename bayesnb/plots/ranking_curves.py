"""ROC and precision–recall curves, of one class or of several, with their bands and areas."""

from collections.abc import Mapping
from typing import Any

from ..analysis.roc import Area, Curve, RocCurves
from ._common import Drawn, ink, legend, legend_above, line, new_axes, plain_text

_BAND_OPACITY = 0.25


def roc(curves: Any, *, ax: Drawn | None = None) -> Drawn:
    """ROC curve: the share of positive rows that are found, against the share of negative rows flagged with them.

    The band holds the curve at each point, with the level of the curves. On the dotted diagonal a model knows nothing.
    Of several curves there are no bands; the legend has the area under each.

    Parameters
    ----------
    curves : result of `bayesnb.roc_curves`, or a mapping from names to such results, of several models or classes
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if `curves` is no such result, or an empty mapping

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> curves = bayesnb.roc_curves(bayesnb.GaussianNB(), cancer.X, cancer.y)
    >>> ax = bayesnb.plots.roc(curves)
    """
    by_name = _curves_by_name(curves)
    ax = ax or new_axes()
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=":", label="knows nothing")
    for k, (name, result) in enumerate(by_name.items()):
        area = _area_in_words("area", result.roc_auc, len(by_name) == 1)
        _draw_curve(ax, result.roc, k, f"{name}{area}", step="post", has_band=len(by_name) == 1)
    _finish(ax, by_name, "false positive rate (1 − specificity)", "sensitivity")
    return ax


def precision_recall(curves: Any, *, ax: Drawn | None = None) -> Drawn:
    """Precision–recall curve: the share of true positives among the flagged rows, against the share found.

    On the dotted line, at the share of positives, a model knows nothing. Bands and areas are as in `roc`.

    Parameters
    ----------
    curves : result of `bayesnb.roc_curves`, or a mapping from names to such results, of several models or classes
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if `curves` is no such result, or an empty mapping

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> curves = bayesnb.roc_curves(bayesnb.GaussianNB(), cancer.X, cancer.y)
    >>> ax = bayesnb.plots.precision_recall(curves)
    """
    by_name = _curves_by_name(curves)
    ax = ax or new_axes()
    shares = {result.prevalence for result in by_name.values()}
    if len(shares) == 1:  # of several classes each has a line of its own, which would only confuse
        ax.axhline(shares.pop(), color=ink(ax), linewidth=0.8, linestyle=":", label="knows nothing")
    for k, (name, result) in enumerate(by_name.items()):
        area = _area_in_words("average precision", result.average_precision, len(by_name) == 1)
        _draw_curve(ax, result.precision_recall, k, f"{name}{area}", step="pre", has_band=len(by_name) == 1)
    _finish(ax, by_name, "recall (sensitivity)", "precision (PPV)")
    return ax


def _curves_by_name(curves: Any) -> dict[str, RocCurves]:
    """The curves with the names of the legend; a single result has the name "". ValueError for anything else."""
    if isinstance(curves, RocCurves):
        return {"": curves}
    if isinstance(curves, Mapping) and curves and all(isinstance(value, RocCurves) for value in curves.values()):
        return {plain_text(name): value for name, value in curves.items()}
    kind = type(curves).__name__
    raise ValueError(f"`curves` is a {kind}; give what `bayesnb.roc_curves` returns, or a dictionary of such results")


def _area_in_words(name: str, area: Area, is_single: bool) -> str:
    """The area for the legend: with its name and interval if there is one curve, else the number alone."""
    if is_single:
        return f"{name} {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    return f" {area.value:.3f}"


def _draw_curve(ax: Drawn, curve: Curve, k: int, label: str, *, step: Any, has_band: bool) -> None:
    """Draw curve number k as steps, with its band if it is the only one.

    Parameters
    ----------
    step : "post" if the curve jumps after each point, as a share of rows found does, or "pre"
    """
    style = line(k)
    if has_band:
        ax.fill_between(
            curve.x, curve.low, curve.high, step=step, color=style["color"], alpha=_BAND_OPACITY, linewidth=0
        )
    ax.step(curve.x, curve.y, where=step, linewidth=1.8 if has_band else 1.2, label=label, **style)


def _finish(ax: Drawn, by_name: Mapping[str, RocCurves], x: str, y: str) -> None:
    """Limits, labels and the legend: above the Axes, or beside them if there are several curves."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=x, ylabel=y)
    if len(by_name) == 1:
        legend_above(ax)
    else:
        legend(ax)
