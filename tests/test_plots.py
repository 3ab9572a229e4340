"""Plots are drawn to a canvas, and what is on it is held against the library's numbers, or against a law of its own."""

import functools
import itertools
import runpy
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from scipy import stats
from scipy.integrate import cumulative_trapezoid
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

import bayesnb
from bayesnb import plots
from bayesnb.analysis.roc import RocCurves
from bayesnb.analysis.score_split import score_split
from bayesnb.check.report import CheckReport, CheckRow
from bayesnb.plots._common import PALETTE, distinct_names, fitted_names
from bayesnb.posterior.intervals import means_and_intervals

from .estimators_table import mostly_slow, these

LONG = "a name of a feature, a level or a class that is longer than any line, and ends with "
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {  # classes, features and levels
    "plain": (("ape", "bee", "cat"), ("one", "two", "three", "four"), ("p", "q", "r")),
    "odd": (("$10k-$20k", "_other", "main"), ("cost in $", "_x_$y$", "a\\$^b$", "{$"), ("_p $", "$\\frac{", "$_$")),
    "long": tuple(tuple(f"{LONG}{k}" for k in range(many)) for many in (3, 4, 3)),
    "many": (tuple(f"class {k:02d}" for k in range(30)), ("one", "two", "three", "four"), ("p", "q", "r")),
}


def data(kind: str, names: str = "plain") -> tuple[pd.DataFrame, np.ndarray]:
    """Rows, 40 of three classes, whose features the kind of likelihood knows."""
    classes, features, levels = NAMES[names]
    rng, n = np.random.default_rng(3), max(40, 3 * len(classes))
    y = np.maximum(np.arange(n) * (len(classes) + 1) // n - 1, 0)  # twice as many of the first
    k = y % 3
    columns: dict[str, Any] = {
        "real": lambda j: rng.normal(k * (j - 1), 1 + j / 3),
        "yes/no": lambda j: (rng.random(n) < 0.2 + 0.2 * k + 0.05 * j).astype(float),
        "counts": lambda j: rng.poisson(1 + k + j).astype(float),
        "levels": lambda j: np.array(levels)[(rng.random(n) * (2 + j % 2) * (0.7 + 0.15 * k)).astype(int)],
    }
    return pd.DataFrame({name: columns[kind](j) for j, name in enumerate(features)}), np.array(classes)[y]


def fitted(nb: Any, names: str = "plain", d: int = 4) -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = data(nb._cells.kind, names)
    return nb.fit(X.iloc[:, :d], y), X.iloc[:, :d], y


@functools.cache
def models(names: str = "plain") -> dict[str, tuple[Any, pd.DataFrame, np.ndarray]]:
    """A fitted model of each kind of cells, under names that Matplotlib would read as mathematics, hide or cut."""
    return {
        "real": fitted(bayesnb.GaussianNB(), names),
        "two": fitted(bayesnb.GaussianNB(), names, 2),
        "levels": fitted(bayesnb.CategoricalNB(), names),
        "yes/no": fitted(bayesnb.BernoulliNB(class_alpha=1.0 + np.arange(len(NAMES[names][0]))), names),
    }


def mixed() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Parts of several kinds, one of them with a likelihood of its own for every class, and a missing cell."""
    (reals, y), (levels, _), (counts, _) = (data(kind) for kind in ("real", "levels", "counts"))
    X = pd.concat([reals.iloc[:, :2], levels.iloc[:, 1:3].add_suffix("_"), counts.iloc[:, 3:]], axis=1)
    X.iloc[0, 1] = np.nan
    own = {"ape": bayesnb.PoissonNB(), "bee": bayesnb.ExponentialNB(), "cat": bayesnb.PoissonNB()}
    parts = [("numbers", bayesnb.GaussianNB(), [0, 1]), ("levels", bayesnb.CategoricalNB(), [2, 3]), ("own", own, [4])]
    return bayesnb.MixedNB(parts).fit(X, y), X, y


@pytest.fixture
def ax() -> Any:
    return canvas().subplots()


def canvas() -> Figure:
    """A figure that pyplot does not know of."""
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def lines(ax: Any) -> dict[str, Any]:
    """The curves of a legend, by name."""
    return {line.get_label(): line for line in ax.get_lines()}


def drawn(ax: Any, axis: int = 0) -> list[np.ndarray]:
    """Low end, point and high end (3, m) of each call that drew intervals along an axis."""
    bars = [np.array(found.get_segments()) for found in ax.collections if type(found) is LineCollection]
    dots = [line.get_xydata() for line in ax.get_lines() if line.get_marker() not in ("None", "|")]
    return [np.stack([bar[:, 0], dot, bar[:, 1]])[..., axis] for bar, dot in zip(bars, dots, strict=True)]


# --- every plot -----------------------------------------------------------------------------------------------------


def report(pit: dict[str, np.ndarray]) -> CheckReport:
    """The report of a check, all but row 3a."""
    return CheckReport("GaussianNB()", (CheckRow("3a", 0.5, 0.01, "p", True, "", pit=pit),), (), {})


def comparison() -> Any:
    X, y = data("counts")
    return bayesnb.compare({"Poisson": bayesnb.PoissonNB(), "rows": bayesnb.MultinomialNB()}, X, y).table


def curves_of_classes(nb: Any, X: pd.DataFrame, y: np.ndarray) -> dict[Any, RocCurves]:
    return {label: bayesnb.roc_curves(nb, X, y, positive=label, held_out=True) for label in nb.classes_}


EVERY: dict[str, tuple[str, Callable[..., Any]]] = {
    "prior_to_posterior": ("levels", lambda draw, nb, X, y: draw(nb, 0, draws=nb.sample_posterior(9, seed=0))),
    "prior_to_posterior of classes": ("yes/no", lambda draw, nb, X, y: draw(nb)),
    "parameter_intervals": ("yes/no", lambda draw, nb, X, y: draw(nb)),
    "simplex": ("yes/no", lambda draw, nb, X, y: draw([2, 3, 4], nb.classes_[:3])),
    "prior": ("levels", lambda draw, nb, X, y: draw(nb, 1, X)),
    "smoothing_path": ("yes/no", lambda draw, nb, X, y: draw(nb, 0)),
    "class_probabilities": ("real", lambda draw, nb, X, y: draw(nb, X, y, label=nb.classes_[1])),
    "map_against_posterior": ("real", lambda draw, nb, X, y: draw(nb, X, label=nb.classes_[1])),
    "map_against_posterior along a feature": (
        "real",
        lambda draw, nb, X, y: draw(nb, X, label=nb.classes_[1], feature=0),
    ),
    "decision_regions": ("two", lambda draw, nb, X, y: draw(nb, X, y, points=12, n_draws=2)),
    "reliability": ("yes/no", lambda draw, nb, X, y: draw(np.arange(40) % 2, np.linspace(0, 1, 40))),
    "feature_weights": ("yes/no", lambda draw, nb, X, y: draw(bayesnb.rank_features(nb, n_draws=9))),
    "nomogram": ("levels", lambda draw, nb, X, y: draw(nb, X[:1], n_draws=9)),
    "feature_effect": ("real", lambda draw, nb, X, y: draw(nb, X, 0, n_draws=9)),
    "roc": ("real", lambda draw, nb, X, y: draw(curves_of_classes(nb, X, y))),
    "precision_recall": ("real", lambda draw, nb, X, y: draw(curves_of_classes(nb, X, y))),
    "pit": ("yes/no", lambda draw, nb, X, y: draw(report(dict.fromkeys(nb.classes_, np.linspace(0, 1, 99)[:, None])))),
}


@pytest.mark.parametrize("name", mostly_slow(EVERY, these("nomogram", "feature_weights", "comparison")))
def test_names_are_whole_and_nothing_overlaps(name: str) -> None:
    """On dark and light Axes. Dollars are no mathematics, an underscore hides nothing, a long name lacks its middle.

    A legend of many classes stands beside the Axes, says how many it leaves out, and leaves the Axes their room.
    """
    kind, draw = EVERY[name]
    plt.close("all")  # of other tests of this process
    for names in NAMES:
        with matplotlib.style.context("dark_background" if names == "plain" else "default"):
            before, figure = dict(matplotlib.rcParams), canvas()
            figure.set_size_inches(*((4.6, 3.2) if names == "many" else (5.2, 3.8)))
            ax = figure.subplots()
            assert draw(functools.partial(getattr(plots, name.split()[0]), ax=ax), *models(names)[kind]) is ax
            assert dict(matplotlib.rcParams) == before
            assert_readable(figure)
        assert ax.get_position().width > 0.15
        ticks = [label.get_text() for label in ax.get_yticklabels()]
        assert len({*ticks}) == len(ticks)
        legend = ax.get_legend()
        if not legend or name.split()[0] in ("reliability", "simplex", "map_against_posterior"):
            continue
        shown = [text.get_text() for text in legend.get_texts()]
        if names == "plain":
            last = shown[-1]
        if names == "odd":
            assert all(one.replace("$", r"\$") in " ".join(shown) for one in NAMES["odd"][0])
        if names == "many":
            assert shown[-1] == last or "cat" in last  # the last class may be left out
            more = [int(text.split()[1]) for text in shown if text.startswith("and ")]
            assert sum(more) + len(shown) - len(more) >= 30
            assert ax.get_position().height > 0.7 and ax.get_position().width > 0.25
            assert legend.get_window_extent().height <= 1.1 * ax.bbox.height
    assert plt.get_fignums() == []


def assert_readable(figure: Figure) -> None:
    """All words inside the figure, and those along one axis apart."""
    figure.draw_without_rendering()
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for ax in figure.axes:
        ticks = []
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks.append([tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high])
        legend = ax.get_legend()
        texts = [ax.xaxis.label, ax.yaxis.label, *ax.texts, *(legend.get_texts() if legend else [])]
        if ax.axison:
            texts += ticks[0] + ticks[1]
            for along in ticks:
                boxes = [label.get_window_extent(renderer) for label in along]
                assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes)), along
        shown = figure.bbox.expanded(1.02, 1.02)
        for text in texts:
            if text.get_text() and text.get_visible():
                box = text.get_window_extent(renderer)
                assert shown.contains(box.x0, box.y0) and shown.contains(box.x1, box.y1), text


# --- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nb", "site", "at"),
    [
        (bayesnb.CategoricalNB(), "two.theta", (0,)),
        (bayesnb.MultinomialNB(alpha=2.0), "theta", (1,)),
        (bayesnb.KernelNB(), "bandwidth", (1,)),
        (bayesnb.GaussianDA(covariance="shared"), "mu", (1,)),
        (bayesnb.GaussianNB(variance="pooled"), "variance", (1,)),
        (bayesnb.GaussianDA(), "covariance", (1, 1)),
    ],
    ids=str,
)
def test_posterior_curves_and_histograms_are_those_of_draws(nb: Any, site: str, at: tuple[int, ...], ax: Any) -> None:
    """Draws come by another way than the marginals: a Dirichlet's from gammas."""
    draws = fitted(nb)[0].sample_posterior(1000, seed=1)
    plots.prior_to_posterior(nb, "two", site.rpartition(".")[2], draws=draws, ax=ax)
    columns = np.asarray(draws["posterior"][site])[(..., *at)].reshape(4000, -1).T
    assert sum(patch.get_width() * patch.get_height() for patch in ax.patches) == pytest.approx(len(columns))
    assert min(patch.get_x() for patch in ax.patches) == pytest.approx(columns.min())
    curves = [line for label, line in lines(ax).items() if not label.startswith("prior")]
    for curve, values in zip(curves, columns, strict=True):
        x, density = curve.get_data()
        mass = cumulative_trapezoid(density, x, initial=0)
        assert mass[-1] == pytest.approx(1, abs=0.01)  # 0.2 % of it lies beyond the axis
        assert abs(np.mean(values < np.interp(0.5, mass, x)) - 0.5) < 0.01 + 5 * 0.5 / np.sqrt(4000)


def test_a_prior_curve_is_the_prior_of_all_classes_or_of_each(ax: Any) -> None:
    nb = bayesnb.BernoulliNB(alpha=2.0).fit(*data("yes/no"))
    plots.prior_to_posterior(nb, "one", ax=ax)
    x, density = lines(ax)["prior"].get_data()
    np.testing.assert_allclose(density, 6 * x * (1 - x), rtol=1e-10)
    assert ax.get_xlabel() == "probability of one = 1"
    ax = plots.prior_to_posterior(models()["yes/no"][0], ax=canvas().subplots())
    for name, law in ("prior, cat", stats.beta(3, 3)), ("posterior, ape", stats.beta(1 + 20, 5 + 20)):
        x, density = lines(ax)[name].get_data()
        np.testing.assert_allclose(density, law.pdf(x), rtol=1e-10)


def test_a_mixed_model_names_categories_and_classes_with_likelihoods_of_their_own(ax: Any) -> None:
    nb, X, y = mixed()
    plots.prior_to_posterior(nb, "two_", category="q", ax=ax)
    assert ax.get_xlabel() == "probability of two_ = q"
    x, density = lines(ax)["posterior, bee"].get_data()
    own = X["two_"][y == "bee"] == "q"
    np.testing.assert_allclose(density, stats.beta(1 + own.sum(), 2 + (~own).sum()).pdf(x), rtol=1e-10)
    ax = plots.parameter_intervals(nb, ["one", "two"], "mu", ax=canvas().subplots())
    assert names_of_lines(ax) == ["one", "two"] and ax.get_xlabel() == "mean: median and 90% interval"


def names_of_lines(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_each_unit_has_a_panel_with_its_kind_and_the_legend_has_all_classes() -> None:
    nb, _, _ = mixed()
    ax = plots.parameter_intervals(nb, ["one", "two_", "four"], ax=canvas().subplots())
    panels = ax.figure.axes
    assert panels[0] is ax and [names_of_lines(panel) for panel in panels] == [["one"], ["two_ = p"], ["four"]]
    kinds = ["mean", "probability", "rate: median and 90% interval"]
    assert [panel.get_xlabel().partition("\n")[0] for panel in panels] == kinds
    (legend,) = [panel.get_legend() for panel in panels if panel.get_legend()]
    assert sorted(text.get_text() for text in legend.get_texts()) == ["ape", "bee", "cat"]
    assert_readable(ax.figure)


def test_means_of_comparable_size_share_a_panel() -> None:
    """A column of mean 0 has the size of its spread, so that standardised columns are one panel."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    z = rng.normal(size=(60, 4)) + y[:, None] * [0, 1, 1, 1]
    X = z * [1, 1, 100, 0.01] + [0, 0, 500, 0]
    ax = plots.parameter_intervals(bayesnb.GaussianNB().fit(z, y), ax=canvas().subplots())
    assert len(ax.figure.axes) == 1
    ax = plots.parameter_intervals(bayesnb.GaussianNB().fit(X, y), ax=canvas().subplots())
    listed = [names_of_lines(panel) for panel in ax.figure.axes]
    assert listed == [["feature 2"], ["feature 0", "feature 1"], ["feature 3"]]
    assert "(each panel has a scale of its own)" in ax.figure.axes[-1].get_xlabel()
    assert all(panel.get_xscale() == "linear" for panel in ax.figure.axes)
    hand_made = canvas().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="no part of a grid"):
        plots.parameter_intervals(bayesnb.GaussianNB().fit(X, y), ax=hand_made)


def test_of_many_features_those_are_shown_whose_classes_differ_most_and_the_others_are_counted() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    shift = np.zeros(30)
    shift[[7, 21, 28]] = 3, -2, 1.5
    X = rng.normal(size=(100, 30)) + y[:, None] * shift
    nb = bayesnb.GaussianNB().fit(X, y)
    ax = plots.parameter_intervals(nb, n=3, ax=canvas().subplots())
    assert names_of_lines(ax) == ["feature 7", "feature 21", "feature 28"]
    assert "(27 of 30 features are not shown" in ax.get_xlabel().replace("\n", " ")
    ax = plots.parameter_intervals(nb, [1, 2], ax=canvas().subplots())
    assert "not shown" not in ax.get_xlabel()
    with pytest.raises(ValueError, match="`n`"):
        plots.parameter_intervals(nb, n=0)


def test_names_in_a_list_are_whole_where_they_fit_and_never_read_the_same() -> None:
    assert fitted_names(["worst concave points"], 10, 3) == ["worst\nconcave\npoints"]
    assert fitted_names(["YearsSinceLastPromotion = 0"], 20, 2) == ["YearsSinceLast\nPromotion = 0"]
    years = [f"income of the household in {year} (before tax)" for year in (2020, 2021)]
    for width, n_lines in ((24, 1), (20, 2), (24, 2), (60, 1)):
        shown = fitted_names(years, width, n_lines)
        assert len({*shown}) == 2 and all("2020" in text or "2021" in text for text in shown)
        assert all(len(line) <= width for text in shown for line in text.split("\n"))
    assert fitted_names(["x", "x", "x"], 20, 1) == ["x", "x (2)", "x (3)"]
    assert fitted_names(["in $", "_b"], 20, 1) == ["in \\$", " _b"]
    same = distinct_names(["a" * 50 + "b" + "c" * 50, "a" * 50 + "d" + "c" * 50], 26)
    assert len({*same}) == 2 and all(len(text) == 26 for text in same)


def test_intervals_of_words_are_quantiles_of_beta_marginals(ax: Any) -> None:
    X, y = data("counts")
    nb = bayesnb.MultinomialNB(alpha=2.0).fit(X.to_numpy(), y)
    plots.parameter_intervals(nb, ["d", 0], feature_names=[*"abcd"], ax=ax)
    for k, label in enumerate(nb.classes_):
        counts = 2 + X.to_numpy()[y == label].sum(0)
        law = stats.beta(counts, counts.sum() - counts)
        np.testing.assert_allclose(drawn(ax)[k], [law.ppf(q)[[3, 0]] for q in (0.05, 0.5, 0.95)], rtol=1e-9)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["d", "a"]
    assert [*lines(ax)] == [*nb.classes_] and not hasattr(nb, "feature_names_in_")


@pytest.mark.parametrize("alpha", [(4.0, 1.5, 9.0), (0.5, 0.6, 0.7)], ids=str)
def test_the_lines_of_a_simplex_hold_their_mass(alpha: tuple[float, ...], ax: Any) -> None:
    plots.simplex(alpha, ax=ax)
    law = stats.dirichlet(alpha)
    draws = law.rvs(20_000, random_state=1)
    (contour,) = [found for found in ax.collections if hasattr(found, "levels")]
    inside = law.pdf(np.clip(draws, 1e-12, None).T)[:, None] > contour.levels
    np.testing.assert_allclose(inside.mean(0), [0.9, 0.5], atol=0.03)  # √(0.25/4000) = 0.008, fourfold

    points = {"mean": np.array(alpha)} | ({"mode": np.array(alpha) - 1} if min(alpha) > 1 else {})
    assert {"mean", "mode"} & lines(ax).keys() == points.keys()
    for label, weight in points.items():
        place = weight / weight.sum() @ [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]]
        np.testing.assert_allclose(lines(ax)[label].get_xydata(), [place], atol=1e-12)


@pytest.mark.parametrize("nb", [bayesnb.CategoricalNB(), bayesnb.ComplementNB(alpha=2.0)], ids=str)
def test_a_smoothing_path_is_shares_of_counts_and_pseudo_counts(nb: Any, ax: Any) -> None:
    nb, X, y = fitted(nb)
    plots.smoothing_path(nb, "two", ax=ax)
    if nb._cells.kind == "levels":
        counts, event = pd.crosstab(y, X["two"]).to_numpy(), 0
    else:  # of the other classes
        counts, event = (X.sum() - X.groupby(y).sum()).to_numpy(), 1
    alpha = np.asarray(ax.get_lines()[0].get_xdata())[:, None]
    for k, line in enumerate(ax.get_lines()[:9]):  # mean, mode and maximum likelihood of each class
        weight = np.maximum(counts[k // 3] + (alpha, alpha - 1, 0 * alpha)[k % 3], 0)
        found, want = np.array(line.get_ydata()), weight[:, event] / weight.sum(1)
        np.testing.assert_allclose(found, want[: len(found)], rtol=1e-10, atol=1e-300)
    assert lines(ax)["α of the model"].get_xdata()[0] == nb.alpha
    best = float(lines(ax)["α of largest evidence"].get_xdata()[0])
    priors = [clone(nb).set_params(alpha=best * step).fit(X, y).prior_ for step in (0.98, 1, 1.02)]
    assert np.argmax([prior.log_marginal(nb.statistics_) for prior in priors]) == 1


# --- predictions ----------------------------------------------------------------------------------------------------


def test_class_probabilities_are_sorted_with_their_own_intervals(ax: Any) -> None:
    nb, X, y = fitted(bayesnb.PoissonNB())
    plots.class_probabilities(nb, X, y, label="bee", ax=ax)
    p, ends = means_and_intervals(nb.posterior_, nb.model_.encode(X)).mean[:, 1], nb.predict_interval(X)[:, 1]
    np.testing.assert_allclose(p, nb.sample_proba(X, 4000, seed=0).mean(0)[:, 1], atol=0.03)
    order = np.argsort(p, kind="stable")
    ranks = [lines(ax)[label].get_xdata() for label in nb.classes_]
    for label, rank, found in zip(nb.classes_, ranks, drawn(ax, 1), strict=True):
        rows = order[np.asarray(rank) - 1]
        assert (y[rows] == label).all()
        np.testing.assert_allclose(found, [ends[rows, 0], p[rows], ends[rows, 1]])
    assert sorted(np.concatenate(ranks)) == list(range(1, len(y) + 1))


def test_a_single_curve_has_a_band_and_its_area(ax: Any) -> None:
    nb, X, y = models()["real"]
    curves = bayesnb.roc_curves(nb, X, y, positive="bee", held_out=True)
    for draw, curve, area in (
        (plots.roc, curves.roc, curves.roc_auc),
        (plots.precision_recall, curves.precision_recall, curves.average_precision),
    ):
        ax = draw(curves, ax=canvas().subplots())
        (drawn_line,) = [line for label, line in lines(ax).items() if label != "knows nothing"]
        np.testing.assert_allclose(drawn_line.get_xydata(), np.stack([curve.x, curve.y], 1))
        assert f"{area.value:.3f}" in drawn_line.get_label() and len(ax.collections) == 1
    with pytest.raises(ValueError, match="`curves` is a dict"):
        plots.roc({})


@pytest.mark.parametrize("nb", [bayesnb.MixedNB(), bayesnb.DiscriminativeNB()], ids=str)
def test_an_effect_is_what_explain_says_of_the_column_alone(nb: Any, ax: Any) -> None:
    X, y = data("real")
    is_ape = y == "ape"
    nb = clone(nb).fit(X, is_ape)
    plots.feature_effect(nb, X, "two", n_draws=50, ax=ax)
    value, effect = next(line for label, line in lines(ax).items() if label == "True").get_data()
    assert value[0] == X["two"].min() and value[-1] == X["two"].max()
    alone = pd.DataFrame(np.nan, range(len(value)), X.columns).assign(two=value)
    table = nb.explain(alone)
    told = table[(table.class_ == True) & (table.feature == "two")].sort_values("row").contribution  # noqa: E712
    is_own = isinstance(nb, bayesnb.MixedNB)  # of naive Bayes the curve is the mean, of the other what `explain` says
    np.testing.assert_allclose(effect, told, rtol=0.2 if is_own else 1e-6, atol=0.2 if is_own else 1e-9)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() < effect.min() and band.max() > effect.max()


def test_effects_that_do_not_stand_alone_are_refused(ax: Any) -> None:
    nb, X, _ = fitted(bayesnb.GaussianDA())
    with pytest.raises(ValueError, match="`feature` is 'one'; in GaussianDA what it adds depends on the other columns"):
        plots.feature_effect(nb, X, "one", ax=ax)
    pairs = np.arange(24).reshape(12, 2) % 3
    average = bayesnb.OneDependenceNB().fit(pairs, np.arange(12) % 2)
    with pytest.raises(ValueError, match="in OneDependenceNB what it adds depends on the other columns"):
        plots.feature_effect(average, pairs, 0, ax=ax)
    _, levels, _ = models()["levels"]
    with pytest.raises(ValueError, match="holds no numbers"):
        plots.feature_effect(models()["levels"][0], levels, "one", ax=ax)


@pytest.mark.parametrize(
    "nb", mostly_slow([bayesnb.GaussianNB(), bayesnb.DiscriminativeNB()], these("GaussianNB()")), ids=str
)
def test_regions_are_those_of_predict_and_boundaries_where_two_classes_tie(nb: Any, ax: Any) -> None:
    _, X, y = models()["two"]
    nb.fit(X, y)
    plots.decision_regions(nb, X, y, points=40, n_draws=2, ax=ax)
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    across, up = np.linspace(left, right, 40), np.linspace(bottom, top, 40)
    grid = pd.DataFrame(np.stack(np.meshgrid(across, up), -1).reshape(-1, 2), columns=X.columns)
    pixels = np.asarray(image.get_array()).reshape(-1, 4)
    k = np.searchsorted(nb.classes_, nb.predict(grid))
    np.testing.assert_array_equal(pixels[:, :3], np.array([to_rgb(colour) for colour in PALETTE[:3]])[k])
    np.testing.assert_allclose(pixels[:, 3], 0.6 - 0.5 * nb.uncertainty(grid).total / np.log(3), atol=1e-6)  # its share
    assert {*lines(ax)} == {*nb.classes_, "boundary", "boundaries of\nposterior draws"}
    for label, dots in list(lines(ax).items())[:3]:
        np.testing.assert_array_equal(dots.get_xydata(), X[y == label])
    contours = [found for found in ax.collections if isinstance(found, QuadContourSet)]
    thick = [found for found in contours if found.get_linewidths()[0] == 2]
    assert len(contours) > 2 * len(thick) > 0
    vertices = np.concatenate([path.vertices for found in thick for path in found.get_paths()])
    two = np.sort(nb.predict_log_proba(pd.DataFrame(vertices, columns=X.columns)), 1)[:, -2:]
    assert np.median(two[:, 1] - two[:, 0]) < 0.05  # nats; a line between the points of a grid


# --- evidence -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the posterior mode has parameters on the boundary")
@pytest.mark.parametrize("nb", [bayesnb.MultinomialNB(alpha=2.0), bayesnb.GaussianDA(estimate="map"), None], ids=str)
def test_a_nomogram_shows_what_explain_says_of_the_two_most_probable_classes(nb: Any, ax: Any) -> None:
    nb, X, _ = fitted(nb) if nb else mixed()
    x = X.iloc[[0]]
    plots.nomogram(nb, x, ax=ax)
    joint = nb.predict_joint_log_proba(x)[0]
    (one, other), (best, second) = nb.classes_[np.argsort(-joint)[:2]], np.sort(joint)[::-1][:2]
    assert ax.get_xlabel().startswith(f"log odds of {one} against {other}, nats")
    table = nb.explain(x, against=other)
    table = table[(table.class_ == one) & (table.contribution != 0)]
    names = [text.get_text().split(" = ")[0] for text in ax.get_yticklabels()]
    assert names[1:-1] == [str(label).strip("()") for label in table["feature"][1:]]
    contributions, ((low,), (total,), (high,)) = drawn(ax)
    np.testing.assert_allclose(contributions[[0, 2]].T, table[["low", "high"]], rtol=1e-9)
    assert (contributions[0] <= contributions[1]).all() and (contributions[1] <= contributions[2]).all()
    assert total == pytest.approx(contributions[1].sum(), rel=1e-9) and low < total < high
    draws = np.log(nb.sample_proba(x, 4000, seed=1)[:, 0])
    odds = draws[:, nb.classes_ == one] - draws[:, nb.classes_ == other]
    assert total == pytest.approx(odds.mean(), abs=6 * odds.std() / 1000**0.5)
    (bar,) = (line for line in ax.get_lines() if line.get_marker() == "|" and len(line.get_xdata()) == 1)
    assert bar.get_xdata()[0] == pytest.approx(best - second, rel=1e-12)


def test_the_nomogram_of_a_calibrated_model_ends_at_the_calibrated_odds(ax: Any) -> None:
    X, y = data("real")
    X = pd.concat([X, X.add_suffix(" again"), X.add_suffix(" once more")], axis=1)
    nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(X, y)
    plots.nomogram(nb, X[:1], ax=ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[-2:] == ["calibration", "log odds"]
    (entries, total) = drawn(ax)
    assert entries[1].sum() == pytest.approx(total[1, 0])  # calibration is a term like others
    log_p = np.sort(nb.predict_log_proba(X[:1])[0])
    (bar,) = [line for line in ax.get_lines() if line.get_marker() == "|"]
    assert bar.get_xdata()[0] == pytest.approx(log_p[-1] - log_p[-2])
    assert total[0, 0] < bar.get_xdata()[0] < total[2, 0]


@pytest.mark.slow
def test_the_nomogram_of_a_discriminative_model_adds_up_to_its_odds(ax: Any) -> None:
    X, y = data("real")
    nb = bayesnb.DiscriminativeNB().fit(X, y)
    plots.nomogram(nb, X[:1], label="ape", against="cat", n_draws=50, ax=ax)
    (entries, total) = drawn(ax)
    log_p = nb.predict_log_proba(X[:1])[0]
    assert entries[1].sum() == pytest.approx(log_p[0] - log_p[2]) == total[1, 0]
    told = nb.explain(X[:1], against="cat").query("class_ == 'ape'").set_index("feature").contribution
    names = [text.get_text().partition(" =")[0] for text in ax.get_yticklabels()]
    for name, point in zip(names, entries[1], strict=False):
        if name in told.index:
            assert told[name] == pytest.approx(point)


def test_the_point_of_a_nomogram_lies_in_its_interval(ax: Any) -> None:
    """A row far outside: the predictive takes the logarithm of an average, which few values of θ make up."""
    X, y = load_iris(return_X_y=True)
    nb = bayesnb.GaussianNB().fit(X, y)
    x = X[[0]] + [0, 3, 0, 0]
    plots.nomogram(nb, x, ax=ax)
    contributions, ((low,), (total,), (high,)) = drawn(ax)
    assert (contributions[0] <= contributions[1]).all() and (contributions[1] <= contributions[2]).all()
    assert low < total < high
    joint = np.sort(nb.predict_joint_log_proba(x)[0])
    assert joint[-1] - joint[-2] < low  # what was shown before


def test_weights_are_those_of_the_table(ax: Any) -> None:
    table = bayesnb.rank_features(bayesnb.BernoulliNB(estimate="map", alpha=3.0).fit(*data("yes/no")), n_draws=50)
    plots.feature_weights(table, n=3, ax=ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == table["weight"].abs().groupby(table["feature"]).max().nlargest(3).index.tolist()
    for k, label in enumerate(("ape", "bee", "cat")):
        own = table[(table["class_"] == label) & table["feature"].isin(names)]
        np.testing.assert_array_equal(drawn(ax)[k].T, own[["low", "weight", "high"]])
        assert [names[round(float(at))] for at in lines(ax)[label].get_ydata()] == own["feature"].tolist()
    # information that is not shown to help is grey, and the gain a bar
    ends = {"low": [0.2, -0.3, -0.9], "high": [0.4, 0.1, 0.1], "elpd_gain": [-0.1, 0.0, 0.0]}
    table = pd.DataFrame({"feature": ["a", "b", "c"], "information": [0.3, -0.1, -0.4], **ends})
    ax = plots.feature_weights(table, ax=canvas().subplots())
    black, grey, gain = (one for one in ax.get_lines() if one.get_marker() not in ("None", None))
    assert list(black.get_xdata()) == [0.3] and list(grey.get_xdata()) == [-0.1, -0.4]
    assert black.get_color() != grey.get_color() and list(gain.get_xdata()) == ends["elpd_gain"]


# --- assessment -----------------------------------------------------------------------------------------------------


def test_the_reliability_curve_is_the_isotonic_regression_which_splits_the_score(rng: np.random.Generator) -> None:
    p = rng.random(600).round(2)  # with ties
    y = rng.random(600) < p**2
    for event, given in ((y, p), (y, np.full(600, 0.7)), ([0, 0, 1, 1, 0], [0.0, 1.0, 1.0, 1.0, 1e-300])):
        best = IsotonicRegression().fit(given, event).predict(given)
        score, least, none = (brier_score_loss(event, x) for x in (given, best, np.full(len(best), np.mean(event))))
        split = score_split(event, given)
        np.testing.assert_allclose(split, [score, score - least, none - least, none], atol=1e-12)
        ax = plots.reliability(event, given, ax=canvas().subplots())
        share, one = lines(ax)["share of events"], np.ptp(given) == 0
        np.testing.assert_allclose(share.get_data(), [np.sort(given), np.sort(best)], atol=1e-12)
        assert (
            ax.get_legend()
            .get_title()
            .get_text()
            .startswith(f"Brier {split.score:.3f} = MCB {split.miscalibration:.3f}")
        )
        assert (share.get_marker() == "o", ax.collections[0].get_linewidth()[0] > 0) == (one, one)  # a point, a line


def test_the_reliability_band_holds_curves_of_true_forecasts(rng: np.random.Generator) -> None:
    shares = []
    for _ in range(10):
        p = rng.beta(0.7, 0.7, 400)
        ax = plots.reliability(rng.random(400) < p, p, ax=canvas().subplots())
        band, share = ax.collections[0].get_paths()[0].vertices[:, 1], lines(ax)["share of events"].get_ydata()
        inside = (band[1:401] - 1e-12 <= share) & (share <= band[402:802][::-1] + 1e-12)
        shares.append(inside.mean())
    assert 0.8 < np.mean(shares) < 0.97  # 90 % at each probability, and neighbours move together


def test_comparison_shows_the_table() -> None:
    table, figure = comparison(), canvas()
    left, right = plots.comparison(table, axes=figure.subplots(1, 2))
    assert_readable(figure)
    assert [text.get_text() for text in left.get_yticklabels()] == table.index.tolist()
    want = [table["elpd_diff"] + sign * table["se_diff"] for sign in (-1, 0, 1)]
    np.testing.assert_allclose(drawn(left)[0], want, atol=1e-12)
    np.testing.assert_array_equal(right.get_lines()[-1].get_xdata(), table["log_bayes_factor"])


def test_evidence_of_a_single_model_has_no_panel() -> None:
    table = comparison()
    table.loc["rows", "log_bayes_factor"] = np.nan
    axes = plots.comparison(table)
    assert len(axes) == 1 and axes[0].get_xlabel().startswith("elpd")
    _, right = plots.comparison(table, axes=canvas().subplots(1, 2))
    assert not right.axison and not right.get_lines() and "Fewer than two models" in right.texts[0].get_text()
    plt.close("all")


def test_thousands_of_rows_are_shown_at_even_ranks(ax: Any) -> None:
    nb, X, y = models()["two"]
    many = pd.concat([X] * 30, ignore_index=True) + np.linspace(0, 1, 30 * len(X))[:, None]
    plots.class_probabilities(nb, many, np.tile(y, 30), label="bee", ax=ax)
    ranks = np.sort(np.concatenate([lines(ax)[label].get_xdata() for label in nb.classes_]))
    assert len(ranks) == 100 and (ranks[0], ranks[-1]) == (1, len(many))
    assert "100 of 1,200 rows" in ax.get_xlabel()


def test_a_pit_curve_leaves_its_band_exactly_where_the_test_fails(rng: np.random.Generator) -> None:
    u = rng.random((200, 1))
    verdicts = set()
    for power in np.linspace(1, 1.5, 11):
        found = stats.ks_1samp(u[:, 0] ** power, stats.uniform.cdf)
        ax = plots.pit(report({"mu": u**power}), ax=canvas().subplots())
        height = lines(ax)["mu"].get_ydata()
        assert max(abs(height)) == pytest.approx(found.statistic, abs=1e-12)
        edge = ax.patches[0].get_y() + ax.patches[0].get_height()
        assert (max(abs(height)) > edge) == (found.pvalue < 0.01)
        verdicts.add(found.pvalue < 0.01)
    assert verdicts == {True, False}


# --- bad input ------------------------------------------------------------------------------------------------------

OTHER = DummyClassifier().fit([[0, 0]], [0])
BAD: list[tuple[str, Callable[..., Any]]] = [
    ("`feature` is 'nine'", lambda nb, X, y: plots.prior_to_posterior(nb, "nine")),
    ("`feature` is 9", lambda nb, X, y: plots.smoothing_path(models()["yes/no"][0], 9)),
    ("`parameter` is 'rate'", lambda nb, X, y: plots.prior_to_posterior(nb, "one", "rate")),
    ("`category` is 's'", lambda nb, X, y: plots.prior_to_posterior(models()["levels"][0], 0, category="s")),
    ("`draws` has no", lambda nb, X, y: plots.prior_to_posterior(nb, 0, draws={})),
    ("`features` is empty", lambda nb, X, y: plots.parameter_intervals(nb, [])),
    ("`alpha` is", lambda nb, X, y: plots.simplex([1, 2])),
    ("`names` has 2", lambda nb, X, y: plots.simplex([1, 2, 3], ["a", "b"])),
    ("`estimator` is a GaussianNB", lambda nb, X, y: plots.smoothing_path(nb, "one")),
    ("`label` is needed", lambda nb, X, y: plots.class_probabilities(nb, X, y)),
    ("`y` has shape", lambda nb, X, y: plots.class_probabilities(nb, X, y[:1], label="ape")),
    ("`label` is needed", lambda nb, X, y: plots.map_against_posterior(nb, X)),
    ("`feature` is 9", lambda nb, X, y: plots.map_against_posterior(nb, X, label="ape", feature=9)),
    ("`estimator` has 4 features", lambda nb, X, y: plots.decision_regions(nb, X, y)),
    ("`X` has shape", lambda nb, X, y: plots.decision_regions(models()["two"][0], np.zeros((3, 3)))),
    ("`probability`", lambda nb, X, y: plots.reliability([0, 1], [0.5, np.nan])),
    ("`event`", lambda nb, X, y: plots.reliability([0, 2], [0.5, 0.5])),
    ("`result` has no column", lambda nb, X, y: plots.comparison({})),
    ("`table` has no column", lambda nb, X, y: plots.feature_weights(pd.DataFrame({"feature": []}))),
    ("`x` has 40 rows", lambda nb, X, y: plots.nomogram(nb, X)),
    ("'ape' and 'ape'", lambda nb, X, y: plots.nomogram(nb, X[:1], label="ape", against="ape")),
    ("`report` is a dict", lambda nb, X, y: plots.pit({})),
    ("`estimator` is DummyClassifier; .* intervals", lambda nb, X, y: plots.class_probabilities(OTHER, [[0]])),
    ("`estimator` is DummyClassifier; .* uncertainty", lambda nb, X, y: plots.decision_regions(OTHER, [[0, 0]])),
]


def test_bad_input_is_named_and_leaves_no_figure() -> None:
    plt.close("all")  # of other tests of this process
    for match, call in BAD:
        with pytest.raises(ValueError, match=match):
            call(*models()["real"])
    assert plt.get_fignums() == []
    try:  # and without Axes there is one
        assert plots.simplex([1, 1, 1]).figure is plt.gcf()
        assert len(plots.comparison(comparison())) == 2
    finally:
        plt.close("all")


@pytest.mark.parametrize(
    ("nb", "suited", "advice"),
    [
        (bayesnb.DiscriminativeNB(), ("nomogram",), r"`estimator\.reader_`"),
        (bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()), ("nomogram",), r"`estimator\.estimator_`"),
        (bayesnb.OneDependenceNB(), ("prior", "nomogram"), "Use CategoricalNB"),
    ],
    ids=str,
)
@pytest.mark.slow
def test_what_is_not_one_naive_bayes_model_is_refused(nb: Any, suited: tuple[str, ...], advice: str, ax: Any) -> None:
    _, X, y = models()["yes/no"]
    for name in ("prior_to_posterior of classes", "parameter_intervals", "smoothing_path", "prior", "nomogram"):
        plot = functools.partial(getattr(plots, name.split()[0]), ax=ax)
        refused = pytest.raises(ValueError, match=f"`estimator` is {type(nb).__name__}.*{advice}")
        with nullcontext() if name in suited else refused:
            EVERY[name][1](plot, nb.fit(X, y), X, y)


# --- the gallery ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_gallery_shows_every_plot(tmp_path: Path) -> None:
    gallery = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "figures" / "gallery.py"))
    drawn = [gallery["save"](draw.__name__, draw, tmp_path, "default") for draw in gallery["FIGURES"]]
    assert all(path.stat().st_size <= 200_000 or path.suffix == ".png" for path in drawn)
    used = {name for name in dir(plots) if not name.startswith("_") and callable(getattr(plots, name))}
    assert used <= {draw.__name__ for draw in gallery["FIGURES"]}
