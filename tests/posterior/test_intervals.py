"""Moments of the log joint against draws, and intervals and entropies against full posterior draws and quadrature."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtri
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MixedNB
from bayesnb.estimators import KernelNB
from bayesnb.families import BetaBernoulli, FixedClasses, NormalInverseGamma
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.posterior import intervals as page
from bayesnb.posterior.intervals import LogJointMoments, log_probability_draws, pearson_iii

from ..benchmarks.coupled import errors
from ..estimators.test_behaviour import table as table
from ..estimators_table import GIVEN_BANDWIDTH, mostly_slow, these

# --- intervals ------------------------------------------------------------------------------------------------------


MIXED = MixedNB([("sepals", BernoulliNB(binarize=5), [0, 1]), ("petals", GaussianNB(variance="pooled"), [2, 3])])
ALL = [*(nb for nb in GIVEN_BANDWIDTH if not isinstance(nb, KernelNB)), KernelNB(), MIXED]
TIED = GaussianDA(covariance="shared")
SOME = these("MultinomialNB()", "GaussianNB()", repr(TIED))
every = pytest.mark.parametrize("nb", mostly_slow(ALL, SOME), ids=lambda nb: repr(nb)[:60])


@every
def test_intervals_are_those_of_draws(nb: Any, table: Any) -> None:
    """From 75 rows: within 0.003 on average, and the mass inside within 2 points of 90 %; wider with the level.

    The mass where the interval is wider than 0.01 and neither end is within 1e-6 of 0 or 1, where rounding makes ties.
    """
    X, y, _ = table
    fit, test = train_test_split(np.arange(len(y)), train_size=75, random_state=0, stratify=y)
    fitted = clone(nb).fit(X[fit], y[fit])
    p = fitted.sample_proba(X[test], 4000, seed=1)
    ends = np.moveaxis(np.quantile(p, [0.05, 0.95], axis=0), 0, -1)
    halves = [np.quantile(half, [0.05, 0.95], axis=0) for half in (p[::2], p[1::2])]
    noise = abs(halves[0] - halves[1]).mean() / 2
    got, outer = (fitted.predict_interval(X[test], level) for level in (0.9, 0.99))
    assert noise < 0.003 and abs(got - ends).mean() < 0.003 + noise
    wide = (ends[..., 1] - ends[..., 0] > 0.01) & (ends[..., 0] > 1e-6) & (ends[..., 1] < 1 - 1e-6)
    inside = (p >= got[..., 0]) & (p <= got[..., 1])
    assert inside.mean(0)[wide].mean() == pytest.approx(0.9, abs=0.02)
    assert (0 <= outer[..., 0]).all() and (outer[..., 0] <= got[..., 0]).all() and (got[..., 0] <= got[..., 1]).all()
    assert (got[..., 1] <= outer[..., 1]).all() and (outer[..., 1] <= 1).all()


def test_rows_with_levels_never_seen_have_the_ends_of_many_draws() -> None:
    """Few of the draws of log θ are near its end, at α = .05: the mean distance is .004, with 1,000 draws .020."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 3, (20, 3)), np.arange(20) % 2
    fitted = CategoricalNB(alpha=0.05, min_categories=3).fit(X[:10], y[:10])
    many_draws = fitted.predict_interval(X[10:], method="draws", n_draws=50_000, seed=1)
    assert abs(fitted.predict_interval(X[10:]) - many_draws).mean() < 0.01


def test_what_the_settings_do(table: Any) -> None:
    """Equal seeds give equal intervals, whatever the estimate; "auto" draws for kernels and for skewed rows."""
    X, y, _ = table
    fitted = GaussianNB().fit(X, y)
    for method in ("analytic", "draws"):
        same = [fitted.set_params(estimate=e).predict_interval(X, 0.9, method, 16, 3) for e in ("mean", "map")]
        np.testing.assert_array_equal(*same)
        assert (fitted.predict_interval(X, 0.9, method, 16, np.random.default_rng(4)) != same[0]).any()
    kernels = MixedNB([("all", dict.fromkeys(np.unique(y), GaussianNB()) | {"setosa": KernelNB()}, slice(None))])
    for nb, method in ((KernelNB(), "draws"), (kernels, "draws"), (GaussianNB(), "analytic"), (TIED, "analytic")):
        assert page.resolve_method(clone(nb).fit(X, y).posterior_, "auto", None)[0] == method

    X, y = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), [0, 0, 1, 1]
    nb = BernoulliNB(binarize=None, alpha=0.1).fit(X, y)
    rows = np.array([[1.0, np.nan], [np.nan, np.nan]])  # the class prior alone is not skewed
    auto, analytic = (nb.predict_interval(rows, method=method) for method in ("auto", "analytic"))
    np.testing.assert_array_equal(auto[0], nb.predict_interval(rows, method="draws", n_draws=4000)[0])
    np.testing.assert_array_equal(auto[1], analytic[1])
    assert abs(auto[0] - analytic[0]).max() > 1e-4


def test_two_classes_in_closed_form() -> None:
    """One class known, one θ ~ Beta(a, b) a cell: quantiles of p are those of the beta distribution.

    log θ is no Pearson III variable; it is missed by 0.01 at Beta(2, 3), a table of five rows.
    """
    for a, b, tolerance in ((2.0, 3.0, 0.01), (20.0, 30.0, 2e-4), (200.0, 100.0, 2e-5)):
        block = BetaBernoulli(np.array([[1e12], [a]]), np.array([[1e12], [b]]))
        nb = NaiveBayes(FixedClasses(np.array([0.5, 0.5])), {"x": block})
        theta = stats.beta(a, b).ppf([0.05, 0.95])
        got = page.intervals(nb, {"x": np.array([[1.0]])}, 0.9)[0]
        np.testing.assert_allclose(got[1], theta / (theta + 0.5), atol=tolerance)
        np.testing.assert_allclose(got[0], 1 - got[1][::-1], rtol=1e-12)


def test_three_moments_of_the_pearson_variable() -> None:
    """Mean 0, variance 1 and the skewness asked for, by quadrature over z; Wilson & Hilferty err by a few percent."""
    z, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    for skew in (-1.5, -0.5, 0.0, 0.5, 1.0):
        t, moved = pearson_iii(z, *np.array([[0.0, 3.0], [1.0, 4.0], [skew, 8 * skew]]))
        assert (np.diff(t) >= 0).all()
        np.testing.assert_allclose([(w * t).sum(), (w * t**2).sum(), (w * t**3).sum()], [0, 1, skew], atol=0.04)
        np.testing.assert_allclose(moved, 3 + 2 * t, rtol=1e-13, atol=1e-14)
    plain, most, more = pearson_iii(z, np.zeros(3), np.ones(3), np.array([0.0, 6.0, 20.0]))
    np.testing.assert_allclose(plain, z)
    np.testing.assert_allclose(most, more)


def test_the_difference_of_two_skewed_terms_is_not_one_variable() -> None:
    """Equal skewness cancels and leaves heavy tails. One term, or little skewness, leaves a Pearson III variable."""
    variance = np.array([[1.0, 1.0], [4.0, 1e-6], [1.0, 1.0], [1.0, 1.0]])
    third = np.array([[1.2, 1.2], [9.6, 0.0], [0.2, 0.2], [-1.2, 1.2]])
    shapes = LogJointMoments(np.zeros((4, 2)), variance, third)
    assert shapes.single.tolist() == [False, True, True, True]
    assert shapes.skewed.tolist() == [False] * 4
    assert LogJointMoments(shapes.mean, variance, 1.2 * third).skewed.tolist() == [True, True, False, True]


@every
def test_a_row_alone_is_the_row_among_others(nb: Any, table: Any, monkeypatch: Any) -> None:
    X, y, _ = table
    for keep, method in itertools.product((y != "setosa", y != ""), ("auto", "draws")):
        fitted = clone(nb).fit(X[keep], y[keep])
        settings = {"method": method, "n_draws": 32, "seed": 5}
        whole = fitted.predict_interval(X[:9], **settings), fitted.uncertainty(X[:9], **settings)
        with monkeypatch.context() as few:
            few.setattr(page, "_KEPT", 1)  # one row at a time
            few.setattr(page, "_TABLE", 1)
            parts = fitted.predict_interval(X[:9], **settings), fitted.uncertainty(X[:9], **settings)
        np.testing.assert_allclose(parts[0], whole[0], atol=1e-9)
        np.testing.assert_allclose(parts[1], whole[1], atol=1e-12)
        alone = fitted.predict_interval(X[4:5], **settings)
        np.testing.assert_allclose(alone[0], whole[0][4], atol=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("c", [2, 3])
def test_the_mass_inside_where_few_rows_skew_the_log_joint(alpha: float, c: int) -> None:
    """Five to forty rows; three moments alone leave 0.953 inside the interval of 99 % where α is 0.1."""
    rng, least = np.random.default_rng(1), []
    new = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    for n in (5, 12, 40):
        y = np.arange(n) % c
        X = (rng.random((n, 3)) < 0.25 + 0.5 * (y[:, None] % 2)).astype(float)
        nb = BernoulliNB(binarize=None, alpha=alpha).fit(X, y)
        p = nb.sample_proba(new, 20_000, seed=2)
        for level, error in ((0.5, 0.06), (0.9, 0.03), (0.99, 0.0175)):
            ends = nb.predict_interval(new, level)
            inside = ((p >= ends[..., 0]) & (p <= ends[..., 1])).mean(0)
            told = (ends[..., 0] > 1e-12) & (ends[..., 1] < 1 - 1e-12)  # elsewhere rounding makes ties
            assert abs(inside[told] - level).max(initial=0) < error
            least.append(told.sum())
        assert (nb.predict_interval(new, 0.5)[..., 0] >= nb.predict_interval(new, 0.99)[..., 0]).all()
    assert min(least) > 0


def test_rows_far_away_and_single_classes(table: Any) -> None:
    X, y, _ = table
    for settings in ({}, {"variance": "pooled"}, {"known_variance": 1.0}):
        fitted = GaussianNB(**settings).fit(X, y)
        for far in (1e4, 1e6):
            found = fitted.predict_interval([[far, -far, far, -far]])
            assert np.isfinite(found).all() and (found[..., 0] <= found[..., 1]).all()
            assert np.isfinite(fitted.uncertainty([[far, -far, far, -far]])).all()
    one = GaussianNB().fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(one.predict_interval(X[:3]), np.ones((3, 1, 2)))
    np.testing.assert_array_equal(one.uncertainty(X[:3]), np.zeros((3, 3)))
    impossible = GaussianNB(priors=[0, 0.5, 0.5]).fit(X, y).predict_interval(X[:9])
    assert (impossible[:, 0] < 1e-12).all()


# --- entropies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nb", mostly_slow(ALL, these("MultinomialNB()", repr(TIED))), ids=repr)
def test_total_is_aleatoric_and_epistemic(nb: Any, table: Any) -> None:
    X, y, _ = table
    fitted = clone(nb).fit(X[:75], y[:75])
    exact = fitted.uncertainty(X, method="draws", n_draws=4000, seed=1)
    found = fitted.uncertainty(X)
    for part in (exact, found):
        np.testing.assert_allclose(part.total, part.aleatoric + part.epistemic, rtol=1e-12)
        assert (np.array(part) >= 0).all() and (part.total <= np.log(3) + 1e-12).all()
    for name in page.Uncertainty._fields:  # 4,000 draws leave an error of some 0.002 in each
        assert abs(getattr(found, name) - getattr(exact, name)).mean() < 0.004
    rows = fitted.model_.encode(X)
    ((_, log_p),) = log_probability_draws(fitted.posterior_, rows, 4000, 1)  # the textbook's formulas
    entropies = -(np.exp(log_p) * log_p).sum(1)
    mean = np.exp(log_p).mean(-1)
    np.testing.assert_allclose(exact.aleatoric, entropies.mean(-1), atol=1e-9)
    np.testing.assert_allclose(exact.total, -(mean * np.log(np.maximum(mean, 1e-300))).sum(-1), atol=1e-9)


def test_two_class_entropies_by_quadrature() -> None:
    """Log odds exactly normal: the mean's variance is known, and both classes have one feature each."""
    X = np.repeat([[-1.0], [0.0], [1.0], [2.0]], 100, 0)
    nb = GaussianNB(known_variance=1.0, priors=[0.5, 0.5]).fit(X, np.repeat([0, 1], 200)).posterior_
    x = np.array([[0.3]])
    shapes = LogJointMoments.of(nb, {"x": x})
    assert shapes.single.all()
    z, w = np.polynomial.hermite_e.hermegauss(80)
    p, w = expit(pearson_iii(z, *shapes.difference))[0], w / w.sum()

    def entropy(p: Any) -> Any:
        return -p * np.log(p) - (1 - p) * np.log1p(-p)

    found = page.uncertainty(nb, {"x": x})
    assert found.total[0] == pytest.approx(entropy((w * p).sum()), abs=1e-5)
    assert found.aleatoric[0] == pytest.approx((w * entropy(p)).sum(), abs=1e-4)
    ends = expit(pearson_iii(ndtri([0.05, 0.95]), *shapes.difference))
    np.testing.assert_allclose(page.intervals(nb, {"x": x})[:, 1], ends, rtol=1e-12)


# --- errors ---------------------------------------------------------------------------------------------------------


def test_bad_settings_are_named(table: Any) -> None:
    """Kernels have draws."""
    X, y, _ = table
    fitted = GaussianNB().fit(X, y)
    for settings in ({"level": 0}, {"level": 90}, {"method": "exact"}, {"n_draws": 1}):
        for method in (fitted.predict_interval, *[fitted.uncertainty] * ("level" not in settings)):
            with pytest.raises(ValueError, match=f"`{next(iter(settings))}` is"):
                method(X, **settings)
    fitted = KernelNB().fit(X, y)
    np.testing.assert_array_equal(fitted.predict_interval(X[:5]), fitted.predict_interval(X[:5], method="draws"))
    with pytest.raises(ValueError, match="moments do not tell enough"):
        fitted.predict_interval(X, method="analytic")


TWO = [("pooled variance", 30, 2), ("shared covariance", 30, 2)]


# --- classes that share a variance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "n", "c"),
    mostly_slow(
        [*itertools.product(("pooled variance", "shared covariance"), (12, 60), (4, 6)), *TWO],
        lambda case: case[1:] == (12, 4) or case in TWO,
    ),
)
def test_intervals_of_coupled_classes_are_those_of_many_draws(model: str, n: int, c: int) -> None:
    mean, most = errors(model, n, c, 40_000)["analytic"]
    assert mean <= 0.006 and most <= 0.12


def test_missing_cells_of_coupled_classes(rng: np.random.Generator) -> None:
    """Then the weights of a class differ from column to column, and the form is near, not exact."""
    X, y = rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 3, np.arange(40) % 3
    X[rng.random(X.shape) < 0.2] = np.nan
    nb, new = GaussianNB(variance="pooled").fit(X, y), X[:8]
    exact = np.moveaxis(np.quantile(nb.sample_proba(new, 40_000, seed=1), [0.05, 0.95], axis=0), 0, -1)
    assert abs(nb.predict_interval(new) - exact).mean() < 0.004
    np.testing.assert_allclose(nb.uncertainty(new).total, nb.uncertainty(new, "draws", 40_000).total, atol=0.01)


# --- many classes -----------------------------------------------------------------------------------------------------


def table_of_many_classes(rng: np.random.Generator, n_of_class: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 150 classes, so many of each, in 4 columns."""
    y = np.arange(150 * n_of_class) % 150
    return rng.normal(size=(len(y), 4)) + 2 * rng.normal(size=(150, 4))[y], y


@pytest.mark.parametrize(
    "nb", [GaussianNB(), GaussianNB(variance="pooled"), TIED, GaussianDA()], ids=["own", "pooled", "tied", "matrix"]
)
@pytest.mark.parametrize("n_of_class", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_intervals_of_many_classes_are_those_of_draws(nb: Any, n_of_class: int, rng: np.random.Generator) -> None:
    """Of classes that a row may belong to, 90 % of other draws are inside, also where few rows skew the log joint."""
    X, y = table_of_many_classes(rng, n_of_class)
    fitted = clone(nb).fit(X, y)
    new = X[:12]
    p = fitted.sample_proba(new, 2000, seed=1)  # (draws, n, c)
    ends = fitted.predict_interval(new)
    inside = ((p >= ends[..., 0]) & (p <= ends[..., 1])).mean(0)
    is_notable = p.mean(0) > 0.002
    assert is_notable.sum() > 20
    assert inside[is_notable].mean() == pytest.approx(0.9, abs=0.01)  # each has an error of .01 from the points
    assert abs(inside[is_notable] - 0.9).max() < 0.06
    is_tiny = (p.mean(0) > 1e-9) & (p.mean(0) < 1e-3)
    assert inside[is_tiny].mean() == pytest.approx(0.9, abs=0.03)  # three moments, of skewed terms too


def test_a_row_of_many_classes_alone_is_the_row_among_others(rng: np.random.Generator) -> None:
    X, y = table_of_many_classes(rng, 2)
    fitted = GaussianNB().fit(X, y)
    ends = fitted.predict_interval(X[:3])
    np.testing.assert_array_equal(fitted.predict_interval(X[2:3])[0], ends[2])
    assert (fitted.predict_interval(X[:3], method="analytic") != ends).any()  # no class is drawn then
    assert (fitted.predict_interval(X[:3], seed=1) != ends).any()


def test_few_of_many_classes_are_drawn(rng: np.random.Generator, monkeypatch: Any) -> None:
    """Draws of the parameters of all classes take seconds where there are thousands."""
    X, y = table_of_many_classes(rng, 2)
    fitted = GaussianNB().fit(X, y)
    drawn = []
    sample = NormalInverseGamma.sample

    def counted(self: Any, *args: Any) -> Any:
        drawn.append(self.shape[0])
        return sample(self, *args)

    monkeypatch.setattr(NormalInverseGamma, "sample", counted)
    fitted.predict_interval(X[:12])
    assert drawn and max(drawn) < 100
