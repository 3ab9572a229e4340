"""What the plots share: the Axes, the styles of the classes, and finding a feature."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn: TypeAlias = Axes
else:
    Drawn: TypeAlias = Any  # Matplotlib is loaded with the first figure

# Okabe & Ito (2008), Color universal design; without black, which a dark background swallows, the palest last
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
LINES: tuple[Any, ...] = ("-", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))  # dashes are left to priors
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # none has as many as the palette or divides it: no pair recurs
_MORE = "and {} more"
_INSIDE = 7  # entries of a legend in the Axes, at most


def new_axes(columns: int = 1, **settings: Any) -> Any:
    """Axes of a new figure, one or an array of several."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "bayesnb.plots needs Matplotlib, which is not installed; run: pip install matplotlib"
        ) from error
    return plt.subplots(1, columns, layout="constrained", **settings)[1]


def two_axes(axes: Any, **settings: Any) -> Any:
    """The two Axes given, else those of a new figure with these settings."""
    pair = np.asarray(new_axes(2, **settings) if axes is None else axes, object).ravel()
    if len(pair) != 2:
        raise ValueError(f"`axes` has {len(pair)} Axes; give two")
    return pair


def given_or_new(ax: Drawn | None) -> Drawn:
    """The Axes given, else those of a new figure."""
    return new_axes() if ax is None else ax


def colour(k: int) -> str:
    """Colour of class k."""
    return PALETTE[k % len(PALETTE)]


def line(k: int) -> dict[str, Any]:
    """Colour and dashes of class k."""
    return {"color": colour(k), "linestyle": LINES[k % len(LINES)]}


def marker(k: int) -> dict[str, Any]:
    """Colour and marker of class k."""
    return {"color": colour(k), "marker": MARKERS[k % len(MARKERS)]}


def ink(ax: Drawn) -> Any:
    """The colour that these Axes write in: black on white, white on black."""
    return ax.xaxis.label.get_color()


def intervals(
    ax: Drawn, at: Any, low: Any, point: Any, high: Any, upright: bool = False, markersize: float = 4.0, **style: Any
) -> None:
    """Points with their intervals, which may leave a point outside."""
    (ax.vlines if upright else ax.hlines)(at, low, high, color=style["color"], linewidth=1.2)
    x, y = (at, point) if upright else (point, at)
    ax.plot(x, y, linestyle="", markersize=markersize, **style)


def plain_text(name: Any) -> str:
    """A name that Matplotlib shows letter by letter: dollars are no mathematics, an underscore hides no entry."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def legend_inside(ax: Drawn, last: int = 0) -> None:
    """A legend in the Axes if it is short, otherwise beside them; `last` is that of `legend_beside`."""
    if len(ax.get_legend_handles_labels()[0]) > _INSIDE:
        legend_beside(ax, last=last)
    else:
        ax.legend(frameon=False)


def legend_beside(ax: Drawn, *, handles: Any = None, last: int = 0, **settings: Any) -> None:
    """A legend to the right of the Axes, where it hides nothing.

    If it would be larger than the Axes, it has the first entries that fit, the number of the others, and the `last`
    entries.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D

    entries = list(ax.get_legend_handles_labels()[0] if handles is None else handles)
    names = [str(entry.get_label()) for entry in entries]
    letter = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    width, height = (side * 72 / ax.figure.dpi / letter for side in (ax.bbox.width, ax.bbox.height))
    rows = max(int(height / 1.5) - ("title" in settings) - sum(name.count("\n") for name in names), last + 2)
    longest = max(len(_MORE), *map(len, names)) if names else 0
    fitting = 0.55 * width / (5 + 0.6 * longest)  # columns in about half of the width of the Axes
    columns = min(max(int(fitting), 1), -(-len(entries) // rows))
    if (more := len(entries) - rows * columns + 1) > 1:
        first = len(entries) - last - more
        entries[first : first + more] = [Line2D([], [], linestyle="", label=_MORE.format(more))]
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, ncols=max(columns, 1), **settings
    )


def list_down(ax: Drawn, names: Collection[Any]) -> None:
    """One line a name, the first on top."""
    ax.set_yticks(range(len(names)), [plain_text(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)


def column(estimator: Any, feature: Any) -> int:
    """Position of a feature given by name or position; raises ValueError where there is none."""
    names, d = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    if isinstance(feature, str):
        found: Any = [] if names is None else np.flatnonzero(names == feature)
        if len(found):
            return int(found[0])
    elif isinstance(feature, int | np.integer) and -d <= feature < d:
        return int(feature) % d
    what = "no names" if names is None else f"names, such as {str(names[0])!r}"
    raise ValueError(f"`feature` is {feature!r}; the features have {what} and the positions 0 to {d - 1}")


def feature_name(estimator: Any, j: int) -> str:
    """Name of a column, or its number where it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"feature {j}" if names is None else str(names[j])


def class_index(estimator: Any, label: Any, name: str) -> int:
    """Position of a class label; raises ValueError that names the argument where there is no such class."""
    found = np.flatnonzero(estimator.classes_ == label)
    if len(found) != 1:
        raise ValueError(f"`{name}` is {label!r}; the classes are {estimator.classes_.tolist()}")
    return int(found[0])
