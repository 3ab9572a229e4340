"""Plots are drawn to a canvas, and what is on it is held against the library's numbers, or against a law of its own."""

import functools
import itertools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import brier_score_loss

import bayesnb
from bayesnb import drop_in, plots
from bayesnb.analysis.score_split import score_split
from bayesnb.inference.report import CheckReport, CheckRow
from bayesnb.plots._common import PALETTE


def data(kind: str, n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of three classes whose features the kind of likelihood knows."""
    rng = np.random.default_rng(3)
    y = np.repeat(["ape", "bee", "cat"], [n // 2, n // 4, n - n // 2 - n // 4])
    k = np.searchsorted(["ape", "bee", "cat"], y)
    columns: dict[str, Any] = {
        "reals": lambda j: rng.normal(k * (j - 1), 1 + j / 3),
        "bits": lambda j: (rng.random(n) < 0.2 + 0.2 * k + 0.05 * j).astype(float),
        "counts": lambda j: rng.poisson(1 + k + j).astype(float),
        "levels": lambda j: np.array(["p", "q", "r"])[(rng.random(n) * (2 + j % 2) * (0.7 + 0.15 * k)).astype(int)],
    }
    X = pd.DataFrame({name: columns[kind](j) for j, name in enumerate(["one", "two", "three", "four"])})
    return X, y


MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "bernoulli": ("bits", bayesnb.BernoulliNB),
    "categorical": ("levels", bayesnb.CategoricalNB),
    "multinomial": ("counts", lambda: bayesnb.MultinomialNB(alpha=2.0)),
    "complement": ("counts", lambda: bayesnb.ComplementNB(alpha=2.0)),
    "poisson": ("counts", bayesnb.PoissonNB),
    "gaussian": ("reals", bayesnb.GaussianNB),
    "pooled": ("reals", lambda: bayesnb.GaussianNB(variance="pooled")),
    "kernel": ("reals", bayesnb.KernelNB),
    "full": ("reals", bayesnb.GaussianDA),
    "tied": ("reals", lambda: bayesnb.GaussianDA(covariance="shared")),
}


def fitted(name: str) -> tuple[Any, pd.DataFrame, np.ndarray]:
    kind, model = MODELS[name]
    X, y = data(kind)
    return model().fit(X, y), X, y


def mixed() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Parts of several kinds, one of them with a likelihood of its own for every class, and a missing cell."""
    (reals, y), (levels, _), (counts, _) = (data(kind) for kind in ("reals", "levels", "counts"))
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


def segments(ax: Any, at: int = 0) -> np.ndarray:
    """The intervals of one `hlines` or `vlines`: (m, 2, 2)."""
    found = [found for found in ax.collections if type(found) is LineCollection]
    return np.array(found[at].get_segments())


# --- every plot -----------------------------------------------------------------------------------------------------


def report(**pit: np.ndarray) -> CheckReport:
    """The report of a check, all but row 3a."""
    return CheckReport("GaussianNB()", (CheckRow("3a", 0.5, 0.01, "p", True, "", pit=pit),), (), {})


def comparison() -> Any:
    X, y = data("counts")
    return bayesnb.compare({"Poisson": bayesnb.PoissonNB(), "rows": bayesnb.MultinomialNB()}, X, y).table


LONG = "a name of a feature, a level or a class that is longer than any line, and ends with "
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {  # classes, features and levels
    "plain": (("ape", "bee", "cat"), ("one", "two", "three", "four"), ("p", "q", "r")),
    "odd": (("$10k-$20k", "_other", "main"), ("cost in $", "_x_$y$", "a\\$^b$", "{$"), ("_p $", "$\\frac{", "$_$")),
    "long": tuple(tuple(f"{LONG}{k}" for k in range(many)) for many in (3, 4, 3)),
}


@functools.cache
def models(names: str) -> dict[str, tuple[Any, pd.DataFrame, np.ndarray]]:
    """A fitted model of each kind of cells, under names that Matplotlib would read as mathematics, hide or cut."""
    classes, features, levels = NAMES[names]
    found = {}
    kinds = {"reals": bayesnb.GaussianNB(), "two": bayesnb.GaussianNB(), "levels": bayesnb.CategoricalNB()}
    for kind, nb in (kinds | {"bits": bayesnb.BernoulliNB(class_alpha=[1.0, 2.0, 3.0])}).items():
        X, y = data("reals" if kind == "two" else kind)
        X = X.set_axis(list(features), axis=1).iloc[:, : 2 if kind == "two" else 4]
        X = X.replace(dict(zip("pqr", levels, strict=True))) if kind == "levels" else X
        y = np.array(classes)[np.searchsorted(["ape", "bee", "cat"], y)]
        found[kind] = nb.fit(X, y), X, y
    return found


EVERY: dict[str, tuple[str, Callable[..., Any]]] = {
    "prior_to_posterior": ("levels", lambda draw, nb, X, y: draw(nb, 0)),
    "prior_to_posterior of classes": ("bits", lambda draw, nb, X, y: draw(nb)),
    "parameter_intervals": ("bits", lambda draw, nb, X, y: draw(nb)),
    "simplex": ("bits", lambda draw, nb, X, y: draw([2, 3, 4], nb.classes_)),
    "prior": ("levels", lambda draw, nb, X, y: draw(nb, 1, X)),
    "smoothing_path": ("bits", lambda draw, nb, X, y: draw(nb, 0)),
    "class_probabilities": ("reals", lambda draw, nb, X, y: draw(nb, X, y, label=nb.classes_[1])),
    "decision_regions": ("two", lambda draw, nb, X, y: draw(nb, X, y, points=12, n_draws=2)),
    "reliability": ("bits", lambda draw, nb, X, y: draw(np.arange(40) % 2, np.linspace(0, 1, 40))),
    "feature_weights": ("bits", lambda draw, nb, X, y: draw(bayesnb.rank_features(nb, n_draws=9))),
    "nomogram": ("levels", lambda draw, nb, X, y: draw(nb, X[:1], n_draws=9)),
    "pit": (
        "bits",
        lambda draw, nb, X, y: draw(report(**{str(k): np.linspace(0, 1, 99)[:, None] for k in nb.classes_})),
    ),
}


@pytest.mark.parametrize("name", EVERY)
def test_names_are_whole_and_nothing_overlaps(name: str) -> None:
    """On dark and light Axes. Dollars are no mathematics, an underscore hides nothing, a long name lacks its middle."""
    kind, draw = EVERY[name]
    for names in NAMES:
        style = "dark_background" if names == "plain" else "default"
        with matplotlib.style.context(style):
            before, figure = dict(matplotlib.rcParams), canvas()
            figure.set_size_inches(5.2, 3.8)
            ax = figure.subplots()
            assert draw(functools.partial(getattr(plots, name.split()[0]), ax=ax), *models(names)[kind]) is ax
            assert dict(matplotlib.rcParams) == before
            assert_readable(figure)
        assert ax.get_position().width > 0.15
        ticks = [label.get_text() for label in ax.get_yticklabels()]
        assert len({*ticks}) == len(ticks)
        if names == "odd" and (legend := ax.get_legend()) and name not in ("reliability", "simplex", "pit"):
            shown = " ".join(text.get_text() for text in legend.get_texts())
            assert all(one.replace("$", r"\$") in shown for one in NAMES["odd"][0])
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []


def test_many_classes_leave_room_for_the_axes(rng: np.random.Generator) -> None:
    y = np.arange(300) % 30
    X, counts = rng.normal(y[:, None], 2, (300, 2)), rng.poisson(1 + (y[:, None] % 4 == np.arange(4)))
    nb, words = bayesnb.GaussianNB().fit(X, y), bayesnb.MultinomialNB().fit(counts, y)
    drawn: dict[str, Callable[..., Any]] = {
        "boundaries of\nposterior draws": lambda ax: plots.decision_regions(nb, X, y, n_draws=1, points=9, ax=ax),
        "α of the model": lambda ax: plots.smoothing_path(words, 1, ax=ax),
        "": lambda ax: plots.class_probabilities(nb, X, y, label=3, ax=ax),
        "posterior draws": lambda ax: plots.prior_to_posterior(nb, 0, draws=nb.sample_posterior(9, seed=0), ax=ax),
    }
    for last, draw in drawn.items():
        figure = canvas()
        figure.set_size_inches(4.6, 3.2)
        ax = draw(figure.subplots())
        assert_readable(figure)
        assert ax.get_position().height > 0.7 and ax.get_position().width > 0.25
        legend = ax.get_legend()
        named = [text.get_text() for text in legend.get_texts()]
        assert named[-1] == (last or named[-1])
        more = [int(text.split()[1]) for text in named if text.startswith("and ")]
        assert sum(more) + len(named) - len(more) >= 30
        assert legend.get_window_extent().height <= 1.1 * ax.bbox.height  # beside the Axes, not below them


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


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "multinomial", "kernel", "tied", "pooled", "full"])
def test_posterior_curves_have_the_median_of_exact_draws(name: str, ax: Any) -> None:
    """Draws come by another way than the marginals: a Dirichlet's from gammas."""
    nb, parameter = fitted(name)[0], {"pooled": "variance", "full": "covariance"}.get(name)
    plots.prior_to_posterior(nb, "two", parameter, ax=ax)
    n = 4000
    theta = nb.posterior_.to_sites(nb.posterior_.sample(np.random.default_rng(1), (n,)))
    block = next(iter(nb.posterior_.blocks.values()))
    site = parameter or block.parameters[0].removeprefix("log_").removeprefix("logit_")
    if name == "categorical":  # the features with as many levels
        draws = theta["levels_3.theta"][..., 0, 0]
    else:
        draws = theta[site][..., 1, 1] if site == "covariance" else theta[site][..., 1]
    curves = [line for label, line in lines(ax).items() if not label.startswith("prior")]
    columns = draws.reshape(n, -1).T
    assert len(curves) == len(columns)
    for curve, drawn in zip(curves, columns, strict=True):
        x, density = curve.get_data()
        mass = np.concatenate([[0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)])
        assert mass[-1] == pytest.approx(1, abs=0.01)  # 0.2 % of it lies beyond the axis
        share = float(np.mean(drawn < np.interp(0.5, mass, x)))
        assert abs(share - 0.5) < 0.01 + 5 * 0.5 / np.sqrt(n)


def test_a_prior_curve_is_the_prior_of_all_classes_or_of_each(ax: Any) -> None:
    nb = bayesnb.BernoulliNB(alpha=2.0).fit(*data("bits"))
    plots.prior_to_posterior(nb, "one", ax=ax)
    x, density = lines(ax)["prior"].get_data()
    np.testing.assert_allclose(density, 6 * x * (1 - x), rtol=1e-10)
    assert [*lines(ax)] == ["prior", *(f"posterior, {k}" for k in ("ape", "bee", "cat"))]
    assert ax.get_xlabel() == "probability of one = 1"
    nb = bayesnb.BernoulliNB(class_alpha=[1.0, 2.0, 3.0]).fit(*data("bits"))
    ax = plots.prior_to_posterior(nb, ax=canvas().subplots())
    for name, law in ("prior, cat", stats.beta(3, 3)), ("posterior, ape", stats.beta(1 + 20, 5 + 20)):
        x, density = lines(ax)[name].get_data()
        np.testing.assert_allclose(density, law.pdf(x), rtol=1e-10)


def test_draws_of_arviz_are_histograms(ax: Any) -> None:
    nb, _, _ = fitted("gaussian")
    draws = nb.sample_posterior(100, seed=0)
    plots.prior_to_posterior(nb, "three", "variance", draws=draws, ax=ax)
    bars = sum(patch.get_width() * patch.get_height() for patch in ax.patches)
    assert bars == pytest.approx(3)  # a histogram of mass 1 for each class
    assert ax.patches[0].get_x() == pytest.approx(np.min(draws["posterior"]["variance"][..., 0, 2]))


def test_a_mixed_model_names_categories_and_classes_with_likelihoods_of_their_own(ax: Any) -> None:
    nb, X, y = mixed()
    plots.prior_to_posterior(nb, "two_", category="q", ax=ax)
    assert ax.get_xlabel() == "probability of two_ = q"
    x, density = lines(ax)["posterior, bee"].get_data()
    own = X["two_"][y == "bee"]
    n, q = len(own), int((own == "q").sum())
    np.testing.assert_allclose(density, stats.beta(1 + q, 2 + n - q).pdf(x), rtol=1e-10)
    for some, names, label in (
        ((["one", "two"], "mu"), ["one", "two"], "mean: median and 90% interval"),
        ((["one", "two_"],), ["mean of one", "probability of two_ = p"], "median and 90% interval"),
    ):
        ax = plots.parameter_intervals(nb, *some, ax=canvas().subplots())
        assert [text.get_text() for text in ax.get_yticklabels()] == names and ax.get_xlabel() == label


def test_intervals_of_words_are_quantiles_of_beta_marginals(ax: Any) -> None:
    _, X, y = fitted("multinomial")
    nb = bayesnb.MultinomialNB(alpha=2.0).fit(X.to_numpy(), y)
    plots.parameter_intervals(nb, ["d", 0], feature_names=[*"abcd"], ax=ax)
    for k, label in enumerate(nb.classes_):
        counts = 2 + X.to_numpy()[y == label].sum(0)
        law = stats.beta(counts, counts.sum() - counts)
        low, middle, high = (law.ppf(q)[[3, 0]] for q in (0.05, 0.5, 0.95))
        found = segments(ax, k)
        np.testing.assert_allclose(found[:, :, 0], np.stack([low, high], 1), rtol=1e-9)
        np.testing.assert_allclose(lines(ax)[label].get_xdata(), middle, rtol=1e-9)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["d", "a"]
    assert not hasattr(nb, "feature_names_in_")


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
        x, y = (float(value[0]) for value in lines(ax)[label].get_data())
        third = y / np.sqrt(0.75)
        found = [1 - (x - third / 2) - third, x - third / 2, third]
        np.testing.assert_allclose(found, weight / weight.sum(), atol=1e-12)


@pytest.mark.parametrize("name", ["categorical", "complement"])
def test_a_smoothing_path_is_what_refits_give(name: str, ax: Any) -> None:
    nb, X, y = fitted(name)
    plots.smoothing_path(nb, "two", ax=ax)
    drawn, some = ax.get_lines(), slice(20, 101, 20)
    place = ("levels_3", 0, 0) if name == "categorical" else ("x", 1)
    at = (slice(None), *place[1:])

    def with_alpha(alpha: float) -> Any:
        return clone(nb).set_params(alpha=float(alpha)).fit(X, y)

    refits = [with_alpha(alpha) for alpha in drawn[0].get_xdata()[some]]

    def curve(kind: str) -> np.ndarray:
        return np.array([one.posterior_.to_sites(getattr(one.posterior_, kind)())[site][at] for one in refits])

    site = refits[0].posterior_.site(place[0], "theta")
    for k in range(3):
        mean, mode, mle = drawn[3 * k : 3 * k + 3]
        np.testing.assert_allclose(mean.get_ydata()[some], curve("mean")[:, k], rtol=1e-10)
        np.testing.assert_allclose(mode.get_ydata()[some], curve("mode")[:, k], rtol=1e-10, atol=1e-300)
        limit = with_alpha(1e-9).posterior_
        np.testing.assert_allclose(mle.get_ydata()[0], limit.to_sites(limit.mean())[site][at][k], atol=1e-6)
    assert lines(ax)["α of the model"].get_xdata()[0] == nb.alpha
    best = float(lines(ax)["α of largest evidence"].get_xdata()[0])
    evidence = [with_alpha(best * step).prior_.log_marginal(nb.statistics_) for step in (0.98, 1, 1.02)]
    assert max(evidence) == evidence[1]


# --- predictions ----------------------------------------------------------------------------------------------------


def test_class_probabilities_are_sorted_with_their_own_intervals(ax: Any) -> None:
    nb, X, y = fitted("poisson")
    plots.class_probabilities(nb, X, y, label="bee", ax=ax)
    p, ends = nb.predict_proba(X)[:, 1], nb.predict_interval(X)[:, 1]
    order = np.argsort(p, kind="stable")
    for k, label in enumerate(nb.classes_):
        rank, height = lines(ax)[label].get_data()
        rows = order[np.asarray(rank) - 1]
        assert (y[rows] == label).all()
        np.testing.assert_allclose(height, p[rows])
        np.testing.assert_allclose(segments(ax, k)[:, :, 1], ends[rows])
    assert sorted(np.concatenate([lines(ax)[c].get_xdata() for c in nb.classes_])) == list(range(1, len(y) + 1))


def test_regions_are_those_of_predict_and_boundaries_where_two_classes_tie(ax: Any) -> None:
    nb, X, y = models("plain")["two"]
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
@pytest.mark.parametrize("name", ["multinomial", "full", "mixed"])
def test_a_nomogram_shows_what_explain_says_of_the_two_most_probable_classes(name: str, ax: Any) -> None:
    nb, X, _ = mixed() if name == "mixed" else fitted(name)
    nb.set_params(estimate="map") if name == "full" else nb
    x = X.iloc[[0]]
    plots.nomogram(nb, x, ax=ax)
    joint = nb.predict_joint_log_proba(x)[0]
    (one, other), (best, second) = nb.classes_[np.argsort(-joint)[:2]], np.sort(joint)[::-1][:2]
    assert ax.get_xlabel().startswith(f"log odds of {one} against {other}, nats")
    table = nb.explain(x, against=other)
    table = table[(table.class_ == one) & (table.contribution != 0)]
    names = [text.get_text().split(" = ")[0] for text in ax.get_yticklabels()]
    assert names[1:-1] == [str(label).strip("()") for label in table["feature"][1:]]
    np.testing.assert_allclose(segments(ax)[:, :, 0], table[["low", "high"]], rtol=1e-9)
    dots, diamond = (line for line in ax.get_lines() if line.get_marker() in ("o", "D"))
    np.testing.assert_allclose(dots.get_xdata(), table["contribution"], rtol=1e-9)
    assert diamond.get_xdata()[0] == pytest.approx(best - second, rel=1e-12)
    assert segments(ax, 1)[0, 0, 0] < segments(ax, 1)[0, 1, 0]


def test_weights_are_those_of_the_table(ax: Any) -> None:
    table = bayesnb.rank_features(bayesnb.BernoulliNB(estimate="map", alpha=3.0).fit(*data("bits")), n_draws=50)
    plots.feature_weights(table, n=3, ax=ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == table["weight"].abs().groupby(table["feature"]).max().nlargest(3).index.tolist()
    markers = [line for line in ax.get_lines() if line.get_marker() not in ("None", None)]
    for k, label in enumerate(("ape", "bee", "cat")):
        own = table[(table["class_"] == label) & table["feature"].isin(names)]
        np.testing.assert_array_equal(markers[k].get_xdata(), own["weight"])
        np.testing.assert_array_equal(segments(ax, k)[:, :, 0], own[["low", "high"]])
        assert [names[round(float(at))] for at in markers[k].get_ydata()] == own["feature"].tolist()
    # information that is not shown to help is grey, and the gain a bar
    ends = {"low": [0.2, -0.3, -0.9], "high": [0.4, 0.1, 0.1], "elpd_gain": [-0.1, 0.0, 0.0]}
    table = pd.DataFrame({"feature": ["a", "b", "c"], "information": [0.3, -0.1, -0.4], **ends})
    ax = plots.feature_weights(table, ax=canvas().subplots())
    black, grey, gain = (one for one in ax.get_lines() if one.get_marker() not in ("None", None))
    assert list(black.get_xdata()) == [0.3] and list(grey.get_xdata()) == [-0.1, -0.4]
    assert black.get_color() != grey.get_color() and list(gain.get_xdata()) == ends["elpd_gain"]


# --- assessment -----------------------------------------------------------------------------------------------------


def test_the_reliability_curve_is_monotone_and_splits_the_score(ax: Any, rng: np.random.Generator) -> None:
    p = rng.random(600)
    y = rng.random(600) < p**2
    plots.reliability(y, p, ax=ax)
    x, share = lines(ax)["share of events"].get_data()
    np.testing.assert_array_equal(x, np.sort(p))
    assert (np.diff(share) >= 0).all()
    assert abs(share - x**2).mean() < 0.06
    split = score_split(y, p)
    assert f"Brier {split.score:.3f}\nMCB {split.miscalibration:.3f}" in ax.texts[0].get_text()


def test_the_reliability_band_holds_curves_of_true_forecasts(rng: np.random.Generator) -> None:
    shares = []
    for _ in range(10):
        p = rng.beta(0.7, 0.7, 400)
        ax = plots.reliability(rng.random(400) < p, p, ax=canvas().subplots())
        band, share = ax.collections[0].get_paths()[0].vertices[:, 1], lines(ax)["share of events"].get_ydata()
        inside = (band[1:401] - 1e-12 <= share) & (share <= band[402:802][::-1] + 1e-12)
        shares.append(inside.mean())
    assert 0.8 < np.mean(shares) < 0.97  # 90 % at each probability, and neighbours move together


def test_one_probability_has_a_point_and_an_interval(ax: Any) -> None:
    plots.reliability([0, 1, 1, 1], [0.7] * 4, ax=ax)
    assert lines(ax)["share of events"].get_marker() == "o"
    assert ax.collections[0].get_linewidth()[0] > 0


def test_the_parts_of_a_score_add_up(rng: np.random.Generator) -> None:
    p = rng.random(500)
    y = rng.random(500) < p
    found = score_split(y, p)
    assert found.score == pytest.approx(brier_score_loss(y, p))
    assert found.score == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)
    assert 0 < found.miscalibration < 0.05 < found.discrimination
    same = score_split(y, p**3)  # a monotone map moves the miscalibration alone
    assert same.discrimination == pytest.approx(found.discrimination)
    assert same.miscalibration > 5 * found.miscalibration
    assert score_split([0, 0, 1, 1, 0], [0.0, 1.0, 1.0, 1.0, 1e-300]).score == pytest.approx(0.2)
    blind = score_split(y, np.full(500, y.mean()))
    assert (blind.miscalibration, blind.discrimination) == pytest.approx((0, 0), abs=1e-12)


def test_comparison_shows_the_table() -> None:
    table, figure = comparison(), canvas()
    table.loc["rows", "log_bayes_factor"] = np.nan
    left, right = plots.comparison(table, axes=figure.subplots(1, 2))
    assert_readable(figure)
    assert [text.get_text() for text in left.get_yticklabels()] == table.index.tolist()
    points = left.get_lines()[-1]
    np.testing.assert_array_equal(points.get_xdata(), table["elpd_diff"])
    half = np.diff(segments(left)[:, :, 0], axis=1)[:, 0] / 2
    np.testing.assert_allclose(half, table["se_diff"], atol=1e-12)
    np.testing.assert_array_equal(right.get_lines()[-1].get_xdata(), table["log_bayes_factor"])


def test_a_pit_curve_leaves_its_band_exactly_where_the_test_fails(rng: np.random.Generator) -> None:
    u = rng.random((200, 1))
    verdicts = set()
    for power in np.linspace(1, 1.5, 11):
        found = stats.ks_1samp(u[:, 0] ** power, stats.uniform.cdf)
        ax = plots.pit(report(mu=u**power), ax=canvas().subplots())
        height = lines(ax)["mu"].get_ydata()
        assert max(abs(height)) == pytest.approx(found.statistic, abs=1e-12)
        edge = ax.patches[0].get_y() + ax.patches[0].get_height()
        assert (max(abs(height)) > edge) == (found.pvalue < 0.01)
        verdicts.add(found.pvalue < 0.01)
    assert verdicts == {True, False}


# --- bad input ------------------------------------------------------------------------------------------------------

BAD: list[tuple[str, Callable[[], Any]]] = [
    ("`feature` is 'nine'", lambda: plots.prior_to_posterior(fitted("gaussian")[0], "nine")),
    ("`feature` is 9", lambda: plots.smoothing_path(fitted("bernoulli")[0], 9)),
    ("`parameter` is 'rate'", lambda: plots.prior_to_posterior(fitted("gaussian")[0], "one", "rate")),
    ("`category` is 's'", lambda: plots.prior_to_posterior(fitted("categorical")[0], 0, category="s")),
    ("`draws` has no", lambda: plots.prior_to_posterior(fitted("poisson")[0], 0, draws={})),
    ("`features` is empty", lambda: plots.parameter_intervals(fitted("poisson")[0], [])),
    ("`alpha` is", lambda: plots.simplex([1, 2])),
    ("`names` has 2", lambda: plots.simplex([1, 2, 3], ["a", "b"])),
    ("`estimator` is a GaussianNB", lambda: plots.smoothing_path(fitted("gaussian")[0], "one")),
    ("`label` is needed", lambda: plots.class_probabilities(*fitted("poisson"))),
    ("`y` has shape", lambda: plots.class_probabilities(*fitted("poisson")[:2], y=["ape"], label="ape")),
    ("`estimator` has 4 features", lambda: plots.decision_regions(*fitted("gaussian"))),
    ("`X` has shape", lambda: plots.decision_regions(models("plain")["two"][0], np.zeros((3, 3)))),
    ("`probability`", lambda: plots.reliability([0, 1], [0.5, np.nan])),
    ("`event`", lambda: plots.reliability([0, 2], [0.5, 0.5])),
    ("`result` has no column", lambda: plots.comparison({})),
    ("`table` has no column", lambda: plots.feature_weights(pd.DataFrame({"feature": []}))),
    ("`x` has 40 rows", lambda: plots.nomogram(*fitted("gaussian")[:2])),
    (
        "'ape' and 'ape'",
        lambda: plots.nomogram(fitted("poisson")[0], fitted("poisson")[1][:1], label="ape", against="ape"),
    ),
    ("`report` is a dict", lambda: plots.pit({})),
    ("`estimator` is DummyClassifier; .* intervals", lambda: plots.class_probabilities(DummyClassifier(), [[0]])),
    (
        "`estimator` is DummyClassifier; .* uncertainty",
        lambda: plots.decision_regions(DummyClassifier().fit([[0, 0]], [0]), [[0, 0]]),
    ),
]


def test_bad_input_is_named_and_leaves_no_figure() -> None:
    import matplotlib.pyplot as plt

    for match, call in BAD:
        with pytest.raises(ValueError, match=match):
            call()
    assert plt.get_fignums() == []
    try:  # and without Axes there is one
        assert plots.simplex([1, 1, 1]).figure is plt.gcf()
        assert len(plots.comparison(comparison())) == 2
    finally:
        plt.close("all")


UNSUITED: dict[str, tuple[Any, str]] = {
    "FeatureAverage": (bayesnb.FeatureAverage(bayesnb.GaussianNB()), r"`estimator\.estimator_`"),
    "CalibratedClassifierLOO": (bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()), r"`estimator\.estimator_`"),
    r"drop_in\.GaussianNB": (drop_in.GaussianNB(), r"`estimator\.bayes_`"),
    "DiscriminativeNB": (bayesnb.DiscriminativeNB(), r"`estimator\.reader_`"),
    "OneDependenceNB": (bayesnb.OneDependenceNB(), "Use CategoricalNB"),
}


@pytest.mark.parametrize("name", UNSUITED)
def test_what_is_not_one_naive_bayes_model_is_refused_and_the_model_inside_named(name: str, ax: Any) -> None:
    estimator, advice = UNSUITED[name]
    X, y = data("levels" if name == "OneDependenceNB" else "reals")
    nb = estimator.fit(X, y)
    draws = {
        "prior_to_posterior": lambda: plots.prior_to_posterior(nb, 0, ax=ax),
        "parameter_intervals": lambda: plots.parameter_intervals(nb, ax=ax),
        "smoothing_path": lambda: plots.smoothing_path(nb, 0, ax=ax),
        "prior": lambda: plots.prior(nb, 0, ax=ax),
        "nomogram": lambda: plots.nomogram(nb, X[:1], ax=ax),
    }
    suited = {"CalibratedClassifierLOO": ["nomogram"], "OneDependenceNB": ["prior", "nomogram"]}.get(name, [])
    for plot in suited:
        draws.pop(plot)()
    for draw in draws.values():
        with pytest.raises(ValueError, match=f"`estimator` is {name}.*{advice}"):
            draw()


def test_labels_of_other_classifiers_are_shown(ax: Any) -> None:
    X, y = data("reals")
    X = X[["one", "two"]]
    plots.decision_regions(bayesnb.DiscriminativeNB().fit(X, y), X, y, points=8, n_draws=0, ax=ax)
    for label in np.unique(y):
        np.testing.assert_array_equal(lines(ax)[label].get_xydata(), X[y == label])


# --- the gallery ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_gallery_shows_every_plot(tmp_path: Path) -> None:
    gallery = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "figures" / "gallery.py"))
    drawn = [gallery["save"](draw.__name__, draw, tmp_path, "default") for draw in gallery["FIGURES"]]
    assert all(path.stat().st_size <= 200_000 or path.suffix == ".png" for path in drawn)
    used = {name for name in dir(plots) if not name.startswith("_") and callable(getattr(plots, name))}
    assert used <= {draw.__name__ for draw in gallery["FIGURES"]}
