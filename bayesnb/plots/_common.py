"""What the plots share: the Axes, the styles of the classes, names, legends, and finding a feature."""

import textwrap
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from ..numerics.arrays import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn: TypeAlias = Axes
else:
    Drawn: TypeAlias = Any  # Matplotlib is loaded with the first figure

# Okabe & Ito (2008), Color universal design; without black, which a dark background swallows, the palest last
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
LINES: tuple[Any, ...] = ("-", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))  # dashes are left to priors
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # none has as many as the palette or divides it: no pair recurs
_MAX_INSIDE = 7  # entries of a legend in the Axes
_MAX_LETTERS = 20  # of a label


def new_axes(columns: int = 1, **settings: Any) -> Any:
    """Axes of a new figure, one or an array of several; `settings` are those of `matplotlib.pyplot.subplots`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:  # Matplotlib is no dependency of the package; only plots need it
        raise ImportError("bayesnb.plots needs Matplotlib; run: pip install matplotlib") from error
    # one Axes, or of several columns an array of them, in one row
    _, axes = plt.subplots(1, columns, layout="constrained", **settings)
    return axes


def colour(k: int) -> str:
    """Colour of class k.

    There are seven, so that class 7 has the colour of class 0 again; dashes or markers tell them apart.
    """
    return PALETTE[k % len(PALETTE)]


def line(k: int) -> dict[str, Any]:
    """Colour and dashes of class k.

    Seven colours and four kinds of dashes: a pair recurs after 28 classes.
    """
    return {"color": colour(k), "linestyle": LINES[k % len(LINES)]}


def marker(k: int) -> dict[str, Any]:
    """Colour and marker of class k.

    Seven colours and nine markers: a pair recurs after 63 classes.
    """
    return {"color": colour(k), "marker": MARKERS[k % len(MARKERS)]}


def ink(ax: Drawn) -> Any:
    """The colour that these Axes write in: black on white, white on black; the style sets it for labels."""
    return ax.xaxis.label.get_color()


def zero_line(ax: Drawn) -> None:
    """A dotted line at 0."""
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")


def intervals(
    ax: Drawn,
    position: Any,
    low: Any,
    point: Any,
    high: Any,
    *,
    upright: bool = False,
    markersize: float = 4.0,
    **style: Any,
) -> None:
    """Points, each on a line from `low` to `high`; a point may lie outside of its interval.

    Parameters
    ----------
    position : of each interval on the other axis
    upright : whether the intervals stand, with values on the vertical axis
    markersize : of the points
    style : `color`, `marker` and `label` of the points; the lines have the colour
    """
    if upright:
        # vertical intervals, so that the position is on the horizontal axis
        ax.vlines(position, low, high, color=style["color"], linewidth=1.2)
        ax.plot(position, point, linestyle="", markersize=markersize, **style)
    else:
        ax.hlines(position, low, high, color=style["color"], linewidth=1.2)
        ax.plot(point, position, linestyle="", markersize=markersize, **style)


def shorten_middle(name: Any, max_letters: int) -> str:
    """A name, with "…" for its middle if it has more letters; twice as much stays of its beginning as of its end."""
    text = str(name)
    if len(text) <= max_letters:
        return text
    # "…" takes one letter: of 10 letters the end has 3, the beginning 6
    end = max_letters // 3
    return f"{text[: max_letters - 1 - end]}…{text[-end:]}"


def plain_text(name: Any, max_letters: int = _MAX_LETTERS) -> str:
    """A name that Matplotlib shows letter by letter: dollars are no mathematics, an underscore hides no entry."""
    text = shorten_middle(name, max_letters).replace("$", r"\$")
    if text.startswith("_"):  # Matplotlib leaves such a label out of a legend
        return f" {text}"
    return text


def name_axes(ax: Drawn, x: str, y: str | None = None) -> None:
    """Label the axes, in as many lines as the length of each axis needs; None leaves the vertical one as it is.

    Names that are listed down take a part of the figure's width, which the label below has less.
    """
    longest_tick = max((len(tick.get_text()) for tick in ax.get_yticklabels()), default=0)  # letters
    for name, axis, length in ((x, ax.xaxis, ax.bbox.width), (y, ax.yaxis, ax.bbox.height)):
        if name is None:
            continue

        # how many letters fit: the length is in pixels, of which there are dpi in an inch of 72 points
        length_in_points = length * 72 / ax.figure.dpi
        letter_width = 0.75 * float(axis.label.get_fontsize())  # points
        letters = int(length_in_points / letter_width) - longest_tick // 2

        # each line of the name is broken by itself, after at least 20 letters
        lines: list[str] = []
        for text in name.split("\n"):
            lines += textwrap.wrap(text, max(letters, 20))
        axis.set_label_text("\n".join(lines))


def legend(ax: Drawn, *, inside: bool = False, last: int = 0, **settings: Any) -> None:
    """A legend to the right of the Axes, or in them if it is short and should be.

    If it would be longer than the Axes, it has the first entries that fit, the number of the others, and the last ones.

    Parameters
    ----------
    inside : whether a short legend stands in the Axes
    last : number of entries at the end that are never left out
    settings : those of Matplotlib's `legend`
    """
    from matplotlib.lines import Line2D

    entries, full_names = ax.get_legend_handles_labels()
    # A long name is shortened, but not one with a line break of its own. Its dollars are escaped already: without the
    # backslashes it is shortened, and then escaped again.
    names = [name if "\n" in name else plain_text(name.replace(r"\$", "$"), 26) for name in full_names]
    if inside and len(entries) <= _MAX_INSIDE:
        ax.legend(entries, names, frameon=False, **settings)
        return

    # beside the Axes there is room for some 4.6 entries an inch of their height, less one
    n_rows = max(int(4.6 * ax.bbox.height / ax.figure.dpi) - 1, last + 2)
    if len(entries) > n_rows:
        # One entry without a mark stands for all between the first entries and the last ones. For example, with 10
        # entries in 5 rows of which the last is kept, 3 entries, "and 6 more" and the last one are shown.
        first = n_rows - last - 1
        end = len(entries) - last
        entries[first:end] = [Line2D([], [], linestyle="")]
        names[first:end] = [f"and {end - first} more"]
    ax.legend(entries, names, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, **settings)


def legend_above(ax: Drawn, columns: int = 1, title: str | None = None) -> None:
    """A legend above the Axes, where no curve is, in a number of columns, with a title on top of it."""
    entries, names = ax.get_legend_handles_labels()
    ax.legend(
        entries,
        names,
        title=title,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        frameon=False,
        alignment="left",
        borderaxespad=0.2,
        columnspacing=1.2,
    )


def list_down(ax: Drawn, names: Collection[Any], max_letters: int = 24, has_legend: bool = False) -> None:
    """Names on the vertical axis, one line each at 0, 1, 2, …, the first on top.

    Long names beside a legend leave little width: the horizontal axis then has at most three numbers.

    Parameters
    ----------
    names : from top to bottom
    max_letters : of a name; the middle of a longer one is left out
    has_legend : whether a legend stands beside the Axes
    """
    ax.set_yticks(range(len(names)), [plain_text(name, max_letters) for name in names])
    # from the larger to the smaller number, so that line 0 is on top
    ax.set_ylim(len(names) - 0.5, -0.5)
    is_narrow = has_legend and max(len(str(name)) for name in names) > 16  # letters
    ticks = {"nbins": 3, "steps": [1, 2, 5, 10], "min_n_ticks": 1} if is_narrow else {"nbins": 5}
    ax.locator_params(axis="x", **ticks)


def column(estimator: Any, feature: Any) -> int:
    """Position of a feature of a fitted estimator, 0 … d − 1.

    It is given by name, or by position, which may count from the end as −1; ValueError if there is none.
    """
    names = getattr(estimator, "feature_names_in_", None)  # of the columns of a data frame
    d = estimator.n_features_in_
    if isinstance(feature, str) and names is not None:
        # a name goes before a position, and of equal names the first is taken
        matches = np.flatnonzero(names == feature)
        if len(matches):
            return int(matches[0])
    if isinstance(feature, int | np.integer) and -d <= feature < d:
        return int(feature) % d  # −1 of 4 features is 3
    named = "no names" if names is None else f"names, such as {str(names[0])!r}"
    raise ValueError(f"`feature` is {feature!r}; the features have {named} and the positions 0 to {d - 1}")


def feature_name(estimator: Any, j: int) -> str:
    """Name of a column, or its number if it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"feature {j}" if names is None else str(names[j])


def class_at(estimator: Any, label: Any) -> int:
    """Position of a class label in `classes_`, 0 … c − 1; ValueError if there is no such class."""
    matches = np.flatnonzero(estimator.classes_ == label)
    if len(matches) != 1:
        raise ValueError(f"`label` is {label!r}; the classes are {estimator.classes_.tolist()}")
    return int(matches[0])


def numbers_of(estimator: Any, X: Any, j: int) -> Float[np.ndarray, " m"]:
    """The finite cells of column j of an array or data frame; ValueError if it holds no numbers.

    The m of the n cells that are numbers are kept: text, missing cells and infinities are left out.
    """
    values = X.iloc[:, j] if hasattr(X, "iloc") else np.asarray(X)[:, j]
    # "coerce" makes NaN of what is no number, where the default would raise
    cells = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(float)  # (n,), NaN where a cell is no number
    numbers = cells[np.isfinite(cells)]
    if not len(numbers):
        raise ValueError(f"`feature` {feature_name(estimator, j)} holds no numbers in `X`; choose a column of numbers")
    return numbers


def rows_with_one_column(estimator: Any, X: Any, j: int, grid: Float[np.ndarray, " n"]) -> Any:
    """Rows that hold the grid in column j and are missing elsewhere: a data frame if X is one, else an array.

    Parameters
    ----------
    X : rows of the user, of which only the type and the columns are taken
    grid : (n,) numbers
    """
    n = len(grid)
    if not hasattr(X, "iloc"):  # an array
        table = np.full((n, estimator.n_features_in_), np.nan)
        table[:, j] = grid
        return table

    # n copies of the first row of X have the names and the order of its columns; then their cells are replaced
    rows = X.iloc[np.zeros(n, int)].reset_index(drop=True)
    for name in X.columns:
        # a new column of floats, whatever type the column had
        rows[name] = np.nan
    rows[X.columns[j]] = grid
    return rows
