"""What the plots share: the Axes, the styles of the classes, names, legends, and finding a feature."""

import itertools
import re
import textwrap
from collections.abc import Collection, Sequence
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
_MAX_LETTERS = 200  # of a name, more than any figure has room for; the lists and the legend shorten to their width
_LEGEND_LETTERS = 26  # of an entry, where some are long
_WHOLE_LETTERS = 30  # of an entry that is not shortened, if no other is longer
_USED_HEIGHT = 0.8  # share of the height of Axes that remains above the label of the horizontal one
_LINE_HEIGHT = 1.2  # of a line of text, in heights of its letters
_LEAST_LETTERS = 8  # of a name in a list, however little room there is
_BREAKS = re.compile(r"(?<=[\s_/,=])|(?<=[A-Za-z]-)|(?<=[a-z])(?=[A-Z])")  # where a name goes on in the next line


def new_axes(columns: int = 1, **settings: Any) -> Any:
    """Axes of a new figure, one or an array of several; `settings` are those of `matplotlib.pyplot.subplots`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:  # Matplotlib is no dependency of the package; only plots need it
        raise ImportError("bayesnb.plots needs Matplotlib; run: pip install matplotlib") from error
    # one Axes, or of several columns an array of them, in one row
    _, axes = plt.subplots(1, columns, layout="constrained", **settings)
    return axes


def stacked_axes(ax: Drawn, heights: Sequence[float]) -> list[Drawn]:
    """Axes and further ones below it in its place, with heights in these proportions; the first are `ax` itself."""
    if len(heights) == 1:
        return [ax]
    place = ax.get_subplotspec()
    if place is None:  # the Axes were placed by hand
        raise ValueError("`ax` is no part of a grid of Axes, and several panels need its place; use plt.subplots")
    grid = place.subgridspec(len(heights), 1, height_ratios=heights)
    ax.set_subplotspec(grid[0])
    return [ax, *(ax.figure.add_subplot(grid[i]) for i in range(1, len(heights)))]


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


def distinct_names(names: Collection[Any], max_letters: int) -> list[str]:
    """Names of at most so many letters, of which no two read the same.

    A longer name loses its middle. Names that would then read the same show their first difference instead, and names
    that are equal get a number: "income" and "income (2)".
    """
    full_names = [str(name) for name in names]
    shown = [shorten_middle(name, max_letters) for name in full_names]

    # names that differ, and read the same once they are shortened
    for text in {text for text in shown if shown.count(text) > 1}:
        places = [i for i, other in enumerate(shown) if other == text]
        letters_at_each_place = zip(*(full_names[i] for i in places), strict=False)  # to the end of the shortest name
        same_start = sum(1 for _ in itertools.takewhile(lambda letters: len({*letters}) == 1, letters_at_each_place))
        if len({full_names[i] for i in places}) > 1:
            for i in places:
                shown[i] = _from_difference(full_names[i], same_start, max_letters)

    # what is equal still is numbered
    times: dict[str, int] = {}
    for i, text in enumerate(shown):
        times[text] = times.get(text, 0) + 1
        if times[text] > 1:
            number = f" ({times[text]})"
            shown[i] = shorten_middle(text, max(max_letters - len(number), _LEAST_LETTERS)) + number
    return shown


def _from_difference(name: str, same_start: int, max_letters: int) -> str:
    """A long name without what it shares with others: a few letters, "…", and the word in which it differs.

    Parameters
    ----------
    same_start : number of letters at the start that all these names have
    max_letters : of the result
    """
    n_head = max_letters // 3
    # back to the start of the word that differs, as far as it leaves room for the difference itself
    start_of_word = max(name.rfind(mark, 0, same_start) for mark in " _") + 1
    start = max(start_of_word, same_start - max_letters // 3)
    rest = name[start:]
    n_rest = max_letters - n_head - 1  # "…" takes one letter
    if len(rest) > n_rest:
        rest = f"{rest[: n_rest - 1]}…"
    return f"{name[:n_head]}…{rest}"


def in_lines(name: str, width: int) -> list[str]:
    """A name in lines of at most so many letters, broken after spaces, underscores and the like, or before capitals."""
    lines = [""]
    for piece in _BREAKS.split(name):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:  # a single word that is longer than a line
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.strip() for line in lines if line.strip()] or [""]


def fitted_names(names: Collection[Any], width: int, n_lines: int) -> list[str]:
    """Names that differ, each in at most so many lines of so many letters; whole wherever they fit."""
    longest = max((len(str(name)) for name in names), default=0)
    whole_names = [in_lines(name, width) for name in distinct_names(names, longest + len(" (99)"))]
    long_names = [name for name, lines in zip(names, whole_names, strict=True) if len(lines) > n_lines]
    shortened = iter(_shortened_to_lines(long_names, width, n_lines))
    fitted = [lines if len(lines) <= n_lines else next(shortened) for lines in whole_names]
    return ["\n".join(plain_text(line) for line in lines) for lines in fitted]


def _shortened_to_lines(names: Collection[Any], width: int, n_lines: int) -> list[list[str]]:
    """The lines of names that are too long for so many lines, each without a part of its letters."""
    # a word that goes on in the next line leaves room at the end of a line: then fewer letters fit than width · n_lines
    for letters in range(width * n_lines, width, -1):
        lines = [in_lines(name, width) for name in distinct_names(names, letters)]
        if all(len(lines_of_name) <= n_lines for lines_of_name in lines):
            return lines
    return [[name] for name in distinct_names(names, width)]


def name_axes(ax: Drawn, x: str, y: str | None = None) -> None:
    """Label the axes, in as many lines as the length of each axis needs; None leaves the vertical one as it is.

    Names that are listed down take a part of the figure's width, which the label below has less.
    """
    lines_of_ticks = [line for tick in ax.get_yticklabels() for line in tick.get_text().split("\n")]
    longest_tick = max(map(len, lines_of_ticks), default=0)  # letters
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
    # backslashes it is shortened, and then escaped again. No two entries read the same.
    longest = max((len(name) for name in full_names if "\n" not in name), default=0)
    letters = _WHOLE_LETTERS if longest <= _WHOLE_LETTERS else _LEGEND_LETTERS
    short_names = distinct_names([name.replace(r"\$", "$") for name in full_names], letters)
    names = [full if "\n" in full else plain_text(short) for full, short in zip(full_names, short_names, strict=True)]
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


def list_down(
    ax: Drawn,
    names: Collection[Any],
    max_letters: int = 24,
    *,
    has_legend: bool = False,
    n_lines: int | None = None,
) -> None:
    """Names on the vertical axis, one below the other at 0, 1, 2, …, the first on top.

    A long name goes on in further lines, as many as there is room for, and is whole if it fits; no two read the same.
    Long names beside a legend leave little width: the horizontal axis then has two or three numbers.

    Parameters
    ----------
    names : from top to bottom
    max_letters : of a line
    has_legend : whether a legend stands beside the Axes
    n_lines : of a name at most; by default as many as there is room for
    """
    shown = fitted_names(names, max_letters, n_lines or _lines_with_room(ax, len(names)))
    ax.set_yticks(range(len(names)), shown)
    # from the larger to the smaller number, so that line 0 is on top
    ax.set_ylim(len(names) - 0.5, -0.5)
    longest_line = max(len(line) for name in shown for line in name.split("\n"))
    is_narrow = has_legend and longest_line > 16  # letters
    ticks = {"nbins": 3, "steps": [1, 2, 5, 10], "min_n_ticks": 2} if is_narrow else {"nbins": 5}
    ax.locator_params(axis="x", **ticks)


def _lines_with_room(ax: Drawn, n_names: int) -> int:
    """How many lines of text each of some names has room for on the vertical axis."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    letter_height = FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()
    height = ax.bbox.height * 72 / ax.figure.dpi  # points; the bounding box is in pixels
    return max(1, int(_USED_HEIGHT * height / n_names / (_LINE_HEIGHT * letter_height)))


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
