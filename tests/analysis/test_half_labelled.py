"""Rows without a label: bounds that rise, fixed points that are optima, and the same model in NumPyro."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpyro.infer.util import log_density
from scipy.special import entr, logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDA,
    GaussianNB,
    HalfLabelledClassifier,
    KernelNB,
    MixedNB,
    MultinomialNB,
    OneDependenceNB,
    PoissonNB,
)
from bayesnb.families import NormalInverseGamma
from tests.laws import QUICKLY, assert_same

C, N, KNOWN = 3, 60, 9


def table(kind: str, missing: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three classes that overlap a little, their labels, and the labels with all but nine taken away."""
    rng = np.random.default_rng(7)
    y = np.arange(N) % C
    level = np.array([[0.2, 1.0, 2.0, 1.5], [2.0, 0.2, 1.0, 1.0], [1.0, 2.0, 0.2, 0.5]])[y]
    if kind == "reals":
        X = 2 * level + rng.normal(size=level.shape)
    elif kind == "yes or no":
        X = (rng.random(level.shape) < level / 2.2).astype(float)
    elif kind == "levels":
        X = np.minimum(rng.poisson(level), 2).astype(float)
        X[:3] = 2  # every level is there among the labelled rows
    else:
        X = rng.poisson(2 * level).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, np.where(np.arange(N) < KNOWN, y, -1)


PRIOR = NormalInverseGamma(*(np.full((1, 1), value) for value in (2.0, 0.3, 1.5, 2.0)))
OF_A_CLASS = {0: BernoulliNB(alpha=2), 1: PoissonNB(alpha=2, beta=1), 2: GaussianNB(prior=PRIOR)}
# concentrations of 2, at which a mode is inside whatever the data
FAMILIES = {
    "bernoulli": (BernoulliNB(alpha=2, class_alpha=2), "yes or no"),
    "categorical": (CategoricalNB(alpha=2), "levels"),
    "multinomial": (MultinomialNB(alpha=2), "counts"),
    "poisson": (PoissonNB(alpha=2), "counts"),
    "gaussian": (GaussianNB(), "reals"),
    "known": (GaussianNB(known_variance=1.0, priors=[0.3, 0.3, 0.4]), "reals"),
    "tied": (GaussianDA(covariance="shared"), "reals"),
    "mixed": (MixedNB([("g", GaussianNB(), [0]), ("p", PoissonNB(alpha=2), [1, 2]), ("m", OF_A_CLASS, [3])]), "counts"),
}
BOTH = ("variational", "em")


def fit(name: str, method: str = "variational", missing: bool = False, **settings):
    nb, kind = FAMILIES[name]
    X, _, half = table(kind, missing)
    return HalfLabelledClassifier(nb, method=method, **settings).fit(X, half), X, half


SOME = "bernoulli", "categorical", "multinomial", "gaussian", "tied", "mixed"
CASES = [(name, method) for name in SOME for method in BOTH]


def quick(*names: str) -> list:
    """All families, those not named among the slow tests."""
    return [pytest.param(name, marks=() if name in names else pytest.mark.slow) for name in FAMILIES]


# --- the bound ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("name", quick(*SOME))
def test_the_bound_never_falls(name, method, weight=0.3):
    fitted, _, _ = fit(name, method, unlabelled_weight=weight, tol=1e-7)
    rounding = 1e-12 * abs(fitted.lower_bound_)
    assert len(fitted.lower_bounds_) == fitted.n_iter_
    assert fitted.lower_bounds_[-1] == fitted.lower_bound_
    assert (np.diff(fitted.lower_bounds_) >= -rounding).all()
    assert fitted.n_iter_ > 2
    assert fitted.lower_bounds_[-1] > fitted.lower_bounds_[0] + 1e-3


@pytest.mark.parametrize("name", quick(*SOME))
def test_it_is_the_expectation_that_it_stands_for(name):
    """E log p(θ) + Σ r log p(x, c | θ) − log q(θ), plus λ times the entropies, without its expectation: at any θ."""
    fitted, X, half = fit(name, unlabelled_weight=0.4)
    nb = fitted.estimator_
    r = fitted.label_distributions_ * np.where(half == -1, 0.4, 1)[:, None]
    theta = nb.posterior_.sample(np.random.default_rng(0), (3,))
    terms = (r * nb.posterior_.log_joint(nb.model_.encode(X), theta)).sum((1, 2))
    energy = nb.prior_.log_prob(theta) + terms - nb.posterior_.log_prob(theta)
    entropy = 0.4 * entr(fitted.label_distributions_[half == -1]).sum()
    np.testing.assert_allclose(energy + entropy, fitted.lower_bound_, rtol=1e-9)


# --- what it has to equal -------------------------------------------------------------------------------------------


def test_weights_are_copies_with_and_without_labels():
    X, _, half = table("reals", False)
    w = np.arange(len(X)) // 3 % 3
    settings = {"unlabelled_weight": 0.4, "tol": 1e-12}
    weighted = HalfLabelledClassifier(GaussianNB(prior=PRIOR), **settings).fit(X, half, w)
    copied = HalfLabelledClassifier(GaussianNB(prior=PRIOR), **settings).fit(np.repeat(X, w, 0), np.repeat(half, w))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "categorical"])
def test_counts_are_repeated_rows(name):
    """With a prior that the rows scale, too, and with rows that none counts."""
    estimator, kind = FAMILIES[name]
    X, _, half = table(kind)
    counts = np.random.default_rng(0).integers(0, 4, N)
    counts[:KNOWN] = np.arange(KNOWN) % 3 + 1
    settings = {"unlabelled_weight": 0.4}
    counted = HalfLabelledClassifier(clone(estimator), **settings).fit(X, half, counts)
    repeated = HalfLabelledClassifier(clone(estimator), **settings).fit(
        np.repeat(X, counts, 0), np.repeat(half, counts)
    )
    assert counted.n_iter_ == repeated.n_iter_
    assert counted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-12)
    np.testing.assert_allclose(counted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(
        np.repeat(counted.label_distributions_, counts, 0), repeated.label_distributions_, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("settings", [{"unlabelled_weight": 0}, {}], ids=["weight zero", "all labels"])
@pytest.mark.parametrize(("name", "method"), CASES)
def test_labelled_rows_alone_are_the_ordinary_fit(name, method, settings):
    nb, kind = FAMILIES[name]
    X, y, half = table(kind)
    labels = half if settings else y
    fitted = HalfLabelledClassifier(nb, method=method, **settings).fit(X, labels)
    ordinary = clone(nb).fit(X[labels != -1], labels[labels != -1])
    for what in ("prior_", "statistics_", "posterior_"):
        assert_same(getattr(fitted.estimator_, what), getattr(ordinary, what))
    np.testing.assert_allclose(fitted.predict_proba(X), ordinary.predict_proba(X), rtol=1e-9)
    if method == "variational":
        assert fitted.lower_bound_ == pytest.approx(ordinary.log_evidence_, rel=1e-12)
    if not settings:
        np.testing.assert_array_equal(fitted.transduction_, y)
        assert fitted.n_iter_ == 1


# --- the NumPyro twin -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", quick("multinomial", "gaussian"))
def test_the_twin_has_the_density_that_is_bounded(name, x64):
    """log p(θ) + ℓ(θ) from the closed forms, at a draw of θ."""
    missing = FAMILIES[name][1] == "reals" and not isinstance(FAMILIES[name][0], GaussianDA)
    fitted, X, half = fit(name, missing=missing, unlabelled_weight=0.3)
    nb = fitted.estimator_
    theta = nb.posterior_.sample(np.random.default_rng(0))
    table = nb.posterior_.log_joint(nb.model_.encode(X), theta)
    known = half != -1
    want = table[known, half[known]].sum() + 0.3 * logsumexp(table[~known], axis=1).sum()
    density = jax.jit(
        lambda sites: log_density(fitted.numpyro_model, (X, half), {}, sites)[0], compiler_options=QUICKLY
    )
    got = density(nb.posterior_.to_sites(theta))
    assert float(got) == pytest.approx(nb.prior_.log_prob(theta) + want, rel=1e-9)


SIMPLEX = {"pi": FAMILIES.keys(), "theta": {"categorical", "multinomial"}}


@pytest.mark.parametrize("name", quick("multinomial", "gaussian"))
def test_em_ends_where_the_gradient_is_zero(name, x64):
    """The bound touches the log density of the twin at the mode, and that is flat there, in the basis of the sites."""
    fitted, X, half = fit(name, "em", unlabelled_weight=0.3, tol=0, max_iter=2000)
    posterior = fitted.estimator_.posterior_
    mode = {key: jnp.asarray(value) for key, value in posterior.to_sites(posterior.mode()).items()}

    def log_p(step):
        """Steps relative to the size of a parameter; along the simplex where it lives on one."""
        sites = {}
        for key, value in mode.items():
            if name in SIMPLEX.get(key, ()):
                moved = value * jnp.exp(step[key])
                sites[key] = moved / moved.sum(-1, keepdims=True)
            elif key.endswith("covariance"):
                sites[key] = value + (step[key] + step[key].swapaxes(-1, -2)) / 2
            else:
                sites[key] = value * (1 + step[key])
        return log_density(fitted.numpyro_model, (X, half), {}, sites)[0]

    start = {key: jnp.zeros_like(value) for key, value in mode.items()}
    slope = jax.jit(jax.value_and_grad(log_p), compiler_options=QUICKLY)
    off = {key: value.at[..., 0].add(0.01) for key, value in start.items()}
    (top, flat), (_, steep) = slope(start), slope(off)
    size, away = (max(float(abs(g).max()) for g in jax.tree.leaves(gradient)) for gradient in (flat, steep))
    assert float(top) == pytest.approx(fitted.lower_bound_, rel=1e-10)
    # the bound is flat to rounding, 1e-14 of 400 nats, where the step still is its square root
    assert size < 1e-5
    assert away > 1e-2


# --- labels and parameters ------------------------------------------------------------------------------------------


WORDS = ["a", "b", "c"]


def test_a_missing_label_is_one_by_any_name():
    fitted, X, half = fit("gaussian")
    words = [WORDS[k] if k >= 0 else None for k in half]
    for labels, settings, classes in [
        (np.where(half == -1, np.nan, half.astype(float)), {}, [0, 1, 2]),
        (words, {}, WORDS),
        (pd.Series([pd.NA if word is None else word for word in words], dtype="string"), {}, WORDS),
        (pd.Series([None if k == -1 else int(k) for k in half], dtype="Int64"), {}, [0, 1, 2]),
        (np.array(["?" if word is None else word for word in words]), {"missing_label": "?"}, WORDS),
        ([None if k == -1 else int(k) - 1 for k in half], {"missing_label": None}, [-1, 0, 1]),
        ([None if k == -1 else bool(k) for k in np.where(half == 2, 1, half)], {}, [False, True]),
    ]:
        other = HalfLabelledClassifier(GaussianNB(), **settings).fit(X, labels)
        assert other.classes_.tolist() == classes
        if len(classes) == 3:
            np.testing.assert_allclose(other.label_distributions_, fitted.label_distributions_, rtol=1e-12)
            assert other.transduction_.tolist() == [classes[k] for k in fitted.transduction_]
        np.testing.assert_array_equal(other.transduction_[:KNOWN], [labels[i] for i in range(KNOWN)])


def test_bad_input_is_named():
    (X, _, half), of_classes = table("counts"), dict.fromkeys(range(C), GaussianNB())
    for labels, message in [
        (np.full(N, -1), "`y` has only missing labels"),
        ([None] * N, "`y` has only missing labels"),
        (np.where(half > 0, 1, -1), "only the label 1, besides -1"),
        (half[:-1], "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            HalfLabelledClassifier(GaussianNB()).fit(X, labels)
    for nb, settings, message in [
        (KernelNB(), {}, "`estimator` is KernelNB, which cannot use rows without"),
        (MixedNB([("k", KernelNB(), [0, 1, 2, 3])]), {}, "`estimator` is MixedNB"),
        (OneDependenceNB(), {}, "`estimator` is OneDependenceNB.* a single model"),
        (ComplementNB(), {}, "ComplementNB.* not a density of the row"),
        (GaussianNB(), {"method": "vb"}, "`method` is 'vb'"),
        (GaussianNB(), {"unlabelled_weight": -0.1}, "`unlabelled_weight` is -0.1"),
        (GaussianNB(), {"unlabelled_weight": np.nan}, "`unlabelled_weight` is nan"),
        (GaussianNB(), {"max_iter": 0}, "`max_iter` is 0"),
        (BernoulliNB(alpha=0.5), {"method": "em"}, "concentrations below 1"),
        (MixedNB([("g", of_classes, [0, 1, 2, 3])]), {}, "`estimator` has a part 'g.0' of one class"),
    ]:
        with pytest.raises(ValueError, match=message):
            HalfLabelledClassifier(nb, **settings).fit(X, half)
    with pytest.raises(TypeError, match=r"`estimator` is LogisticRegression.*an estimator of bayesnb"):
        HalfLabelledClassifier(LogisticRegression()).fit(X, half)


def test_a_fit_that_fails_leaves_what_was():
    with pytest.warns(ConvergenceWarning, match="Raise `max_iter` or `tol`"):
        assert fit("multinomial", max_iter=2, tol=0)[0].n_iter_ == 2
    with pytest.warns(ConvergenceWarning, match="The bound may increase further. Raise `max_iter`"):
        fit("multinomial", max_iter=1)
    fitted, X, half = fit("gaussian")
    named = HalfLabelledClassifier(GaussianNB()).fit(pd.DataFrame(X, columns=list("abcd")), half)
    assert named.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(named.fit(X, half), "feature_names_in_")
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="only missing labels"):
        fitted.fit(X, np.full(N, -1))
    assert vars(fitted) == before


# --- positives and unlabelled rows -----------------------------------------------------------------------------------


CLASSES = ["no", "yes"]
POSITIVES = {"reals": GaussianNB(), "yes or no": BernoulliNB()}


def draw_positives(rng: np.random.Generator, kind: str, n: int, pi: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of six columns that are independent given the class, and their labels, of which the share π is "yes"."""
    is_positive = rng.random(n) < pi
    if kind == "reals":
        X = rng.normal(size=(n, 6)) + is_positive[:, None]
    else:
        X = (rng.random((n, 6)) < np.where(is_positive, 0.6, 0.25)[:, None]).astype(float)
    return X, np.where(is_positive, "yes", "no")


@pytest.mark.parametrize("kind", POSITIVES)
@pytest.mark.parametrize("pi", [0.05, 0.3])
@pytest.mark.parametrize("sampling", ["population", "labelled-removed"])
@pytest.mark.parametrize("method", BOTH)
def test_positives_and_unlabelled_rows_come_near_all_labels(sampling, pi, kind, method):
    """Within .01 nats a row of the fit to all labels, on fresh rows."""
    rng = np.random.default_rng(3)
    nb = clone(POSITIVES[kind]).set_params(class_prior=[1 - pi, pi])
    if method == "em" and kind == "yes or no":
        nb.set_params(alpha=2)
    X, y = draw_positives(rng, kind, 4000, pi)
    seen = np.where((y == "yes") & (rng.random(len(y)) < 0.5), "yes", None)
    if sampling == "population":  # 200 positives that are no part of the sample
        more, of_more = draw_positives(rng, kind, 200, 1.0)
        X, y = np.vstack([X, more]), np.append(y, of_more)
        seen = np.append(np.full(4000, None), of_more)
    fitted = HalfLabelledClassifier(nb, classes=CLASSES, sampling=sampling, method=method).fit(X, seen)
    ideal = clone(nb).fit(X, y)

    new, of_new = draw_positives(rng, kind, 20_000, pi)
    loss = log_loss(of_new, fitted.predict_proba(new))
    assert loss < log_loss(of_new, ideal.predict_proba(new)) + 0.01
    np.testing.assert_allclose(np.exp(fitted.estimator_.class_log_prior_), [1 - pi, pi])
    assert (np.diff(fitted.lower_bounds_) >= -1e-9 * abs(fitted.lower_bound_)).all()


def test_the_class_prior_is_that_of_the_unlabelled_rows():
    """π (1 − c) / (1 − π c), c the share of labelled positives: 60 of 1,000 rows have a label, and 300 are positive."""
    rng = np.random.default_rng(0)
    X, _ = draw_positives(rng, "reals", 1000, 0.3)
    seen = np.where(np.arange(1000) < 60, "yes", None)
    pi, c = 0.3, 60 / 300
    nb = GaussianNB(class_prior=[1 - pi, pi])
    in_population = HalfLabelledClassifier(nb, classes=CLASSES).fit(X, seen)
    np.testing.assert_allclose(in_population.unlabelled_class_prior_, [1 - pi, pi])
    removed = HalfLabelledClassifier(nb, classes=CLASSES, sampling="labelled-removed").fit(X, seen)
    np.testing.assert_allclose(removed.unlabelled_class_prior_[1], pi * (1 - c) / (1 - pi * c))
    np.testing.assert_allclose(np.exp(removed.estimator_.class_log_prior_), [1 - pi, pi])
    # weights count rows here too
    weights = np.where(seen == "yes", 2, 1)
    counted = HalfLabelledClassifier(nb, classes=CLASSES, sampling="labelled-removed").fit(X, seen, weights)
    np.testing.assert_allclose(counted.unlabelled_class_prior_[1], (0.3 * 1060 - 120) / 940)


def test_a_class_without_labels_starts_from_all_unlabelled_rows():
    """One step from the posterior of the labelled rows, and of all others at 1 − π."""
    rng = np.random.default_rng(1)
    X, _ = draw_positives(rng, "yes or no", 300, 0.3)
    seen = np.where(np.arange(300) < 40, "yes", None)
    nb = BernoulliNB(class_prior=[0.7, 0.3])
    with pytest.warns(ConvergenceWarning):
        fitted = HalfLabelledClassifier(nb, classes=CLASSES, max_iter=1, method="em").fit(X, seen)
    weight = np.where(seen == "yes", 1.0, 0.7)
    start = clone(nb).set_params(estimate="map").fit(X, np.where(seen == "yes", "yes", "no"), weight)
    np.testing.assert_allclose(fitted.label_distributions_[40:], start.predict_proba(X[40:]), rtol=1e-9)


def test_the_twin_has_the_class_prior_of_the_unlabelled_rows(x64):
    rng = np.random.default_rng(2)
    X, _ = draw_positives(rng, "reals", 200, 0.3)
    seen = np.where(np.arange(200) < 30, "yes", None)
    nb = GaussianNB(class_prior=[0.7, 0.3], prior=PRIOR)
    fitted = HalfLabelledClassifier(nb, classes=CLASSES, sampling="labelled-removed").fit(X, seen)
    theta = fitted.estimator_.posterior_.sample(np.random.default_rng(0))
    nb = fitted.estimator_
    likelihood = nb.posterior_.log_joint(nb.model_.encode(X), theta)
    likelihood += np.log(fitted.unlabelled_class_prior_) - np.log([0.7, 0.3])
    want = likelihood[:30, 1].sum() + logsumexp(likelihood[30:], axis=1).sum()
    sites = fitted.estimator_.posterior_.to_sites(theta)
    density = float(log_density(fitted.numpyro_model, (X, seen), {}, sites)[0])
    assert density == pytest.approx(fitted.estimator_.prior_.log_prob(theta) + want, rel=1e-9)


def test_what_rows_cannot_tell_is_refused():
    X, _ = draw_positives(np.random.default_rng(0), "reals", 60, 0.3)
    seen = np.where(np.arange(60) < 30, "yes", None)
    prior = GaussianNB(class_prior=[0.9, 0.1])
    of_three = GaussianNB(class_prior=[0.6, 0.2, 0.2])
    for nb, labels, settings, message in [
        (
            GaussianNB(),
            seen,
            {},
            r"'no' of `classes`, so the rows do not tell how frequent.*GaussianNB\(class_prior=…\)",
        ),
        (of_three, seen, {"classes": ["maybe", "no", "yes"]}, "no row has the labels 'maybe', 'no' of `classes`"),
        (prior, seen, {"classes": ["yes", "no"]}, r"`classes` is \['yes', 'no'\]; it needs two .* sorted"),
        (prior, seen, {"classes": "yes"}, "`classes` is 'yes'; it needs two"),
        (prior, seen, {"classes": ["no", "off"]}, "`y` has the label 'yes', which is not one of `classes`"),
        (prior, np.where(seen == "yes", 1, -1), {"classes": [-1, 1]}, "`classes` has -1, which marks a missing label"),
        (prior, seen, {"classes": None}, "all labels in `y` are 'yes'; name every label"),
        (prior, seen[:30], {}, "rows without a label have to show what it looks like"),
        (prior, seen, {"unlabelled_weight": 0}, "with an `unlabelled_weight` above 0"),
        (prior, seen, {"sampling": "labelled-removed"}, "'yes' has 30 labelled rows, but by the class prior only 6 of"),
        (prior, seen, {"sampling": "some"}, "`sampling` is 'some'"),
    ]:
        with pytest.raises(ValueError, match=message):
            HalfLabelledClassifier(nb, **{"classes": CLASSES, **settings}).fit(X[: len(labels)], labels)
    labels = np.where(np.arange(60) < 20, "no", seen)
    with pytest.raises(ValueError, match="no class prior that could be converted"):
        HalfLabelledClassifier(GaussianNB(), sampling="labelled-removed").fit(X, labels)
