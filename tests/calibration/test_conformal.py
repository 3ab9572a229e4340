"""Conformal label sets: the definition by refits, what the theorem promises on simulated rows, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB as GaussianNaiveBayes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    CategoricalNB,
    ComplementNB,
    ConformalClassifierLOO,
    GaussianDA,
    GaussianNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    NaiveBayes,
    OneDependenceNB,
    load,
)
from bayesnb.estimators._view import ModelView
from bayesnb.families import NormalInverseGamma

from ..estimators_table import mostly_slow

PRIOR = NormalInverseGamma(*(np.full((1, 1), value) for value in (3.0, 0.5, 2.0, 1.0)))
ALL = [
    CategoricalNB(min_categories=9),
    GaussianNB(priors=[0.2, 0.3, 0.5], prior=PRIOR),
    ComplementNB(),
    GaussianNB(),
    GaussianNB(estimate="mean"),
    GaussianDA(covariance="shared"),
    KernelNB(bandwidth=0.5),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(min_categories=9), [2, 3])]),
    OneDependenceNB(min_categories=9),
]
BY_REFITS = [CalibratedClassifierLOO(GaussianNB(prior=PRIOR))]  # something in them is fitted to all rows at once
# by default, where all are refitted
SOME = ALL[:4]


@pytest.fixture(scope="module")
def table():
    """14 training rows of three classes in whole numbers, and three more."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))[:17]
    X, y = np.round(X[order]), np.array(list("abc"))[y[order]]
    return X[:14], y[:14], X[14:], y[14:]


def scores(table):
    """log((1 − p)/p) of a table of log probabilities, which orders labels and rows as 1 − p does."""
    with np.errstate(divide="ignore"):
        return np.stack([logsumexp(np.delete(table, k, 1), axis=1) - table[:, k] for k in range(table.shape[1])], 1)


def smaller_than(own, other):
    """Scores are equal where they differ by rounding only."""
    return own < other - 1e-8 * (1 + abs(other))


def refit(nb, X, y, classes):
    nb = clone(nb)
    return nb.partial_fit(X, y, classes=classes) if hasattr(nb, "partial_fit") else nb.fit(X, y)


def cross_by_refits(nb, X, y, new):
    """Whether s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y), (n, m, c), by n refits."""
    classes, smaller = np.unique(y), np.zeros((len(y), len(new), len(np.unique(y))), bool)
    for i in range(len(y)):
        left = refit(nb, np.delete(X, i, 0), np.delete(y, i), classes)
        own = scores(left.predict_log_proba(X[[i]]))[0, np.searchsorted(classes, y[i])]
        smaller[i] = smaller_than(own, scores(left.predict_log_proba(new)))
    return smaller


def full_by_leaving_out(nb, X, y, new):
    """Whether s_i < s_{n+1}, (n, m, c); all scores by `loo` of a fit to the n + 1 rows."""
    classes, smaller = np.unique(y), np.zeros((len(y), len(new), len(np.unique(y))), bool)
    for t, row in enumerate(new):
        for k, label in enumerate(classes):
            more, labels = np.vstack([X, row]), np.append(y, label)
            table = scores(refit(nb, more, labels, classes).loo(more, labels).log_proba)
            own = table[np.arange(len(labels)), np.searchsorted(classes, labels)]
            smaller[:, t, k] = smaller_than(own[:-1], own[-1])
    return smaller


@pytest.mark.parametrize("nb", mostly_slow(ALL + BY_REFITS, lambda nb: nb in SOME), ids=repr)
def test_cross_is_n_refits(nb, table):
    X, y, new, _ = table
    classifier = ConformalClassifierLOO(nb).fit(X, y)
    smaller = cross_by_refits(nb, X, y, new).sum(0)
    np.testing.assert_allclose(classifier.predict_p_values(new), (15 - smaller) / 15, atol=1e-12)
    sets = classifier.predict_set(new, 0.8)
    assert sets.dtype == bool
    np.testing.assert_array_equal(sets, smaller < 12)


@pytest.mark.parametrize(
    "nb", mostly_slow([nb for nb in ALL if not isinstance(nb, KernelNB)], lambda nb: nb in SOME), ids=repr
)
def test_full_is_leave_one_out_of_all_rows_and_the_new_one(nb, table):
    X, y, new, _ = table
    if isinstance(nb, GaussianNB) and nb.estimate == "mean":
        pytest.skip("leave-one-out uses the predictive")
    found = ConformalClassifierLOO(nb, method="full").fit(X, y).predict_p_values(new)
    np.testing.assert_allclose(found, (15 - full_by_leaving_out(nb, X, y, new).sum(0)) / 15, atol=1e-12)


@pytest.mark.parametrize("method", ["cross", "full"])
def test_class_conditional_compares_within_the_class(method, table):
    X, y, new, _ = table
    by_hand = cross_by_refits if method == "cross" else full_by_leaving_out
    for nb in (MultinomialNB(), GaussianNB()):
        smaller = by_hand(nb, X, y, new)
        found = ConformalClassifierLOO(nb, method=method, class_conditional=True).fit(X, y).predict_p_values(new)
        for k, label in enumerate("abc"):
            own = y == label
            want = 1 - smaller[own, :, k].sum(0) / (own.sum() + 1)
            np.testing.assert_allclose(found[:, k], want, atol=1e-12)


def test_groups_are_left_out_as_a_whole(table):
    X, y, new, _ = table
    groups = np.array(["u", "v", "w", "x", "y"])[np.arange(14) ** 2 % 13 % 5]
    nb, classes = GaussianNB(), np.unique(y)
    total = np.zeros((len(new), 3))
    for group in np.unique(groups):
        out = groups == group
        left = refit(nb, X[~out], y[~out], classes)
        for x, label in zip(X[out], y[out], strict=True):
            own = scores(left.predict_log_proba(x[None]))[0, "abc".index(label)]
            total += smaller_than(own, scores(left.predict_log_proba(new))) / out.sum()
    found = ConformalClassifierLOO(nb).fit(X, y, groups=groups).predict_p_values(new)
    np.testing.assert_allclose(found, 1 - total / 6, atol=1e-12)


def test_a_class_of_one_row_by_fitting_again():
    """Without its only row a class has no probability, and its score there is the largest."""
    X, y, new = np.array([[0.0], [1], [2], [9]]), np.array([0, 0, 0, 1]), np.array([[1.0], [8.0]])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    smaller = np.zeros((4, 2, 2))
    for i in range(3):
        left = clone(pipeline).fit(np.delete(X, i, 0), np.delete(y, i))
        smaller[i] = left.predict_proba(X[[i]])[0, 0] - 1e-9 > left.predict_proba(new)
    # without row 3 its own score is 1, and no score is larger
    found = ConformalClassifierLOO(pipeline).fit(X, y).predict_p_values(new)
    np.testing.assert_allclose(found, 1 - smaller.sum(0) / 5, atol=1e-12)


def test_full_learns_the_levels_of_the_new_row():
    """A level that no training row has is part of the model of all n + 1 rows."""
    X, y = np.array([list(pair) for pair in "sq qp pp pp ps qs qq ss".split()]), np.array([0, 0, 0, 1, 1, 1, 0, 1])
    new = np.array([["r", "p"], ["q", "r"]])
    want = full_by_leaving_out(CategoricalNB(), X, y, new).sum(0)
    found = ConformalClassifierLOO(CategoricalNB(), method="full").fit(X, y).predict_p_values(new)
    np.testing.assert_allclose(found, (9 - want) / 9, atol=1e-12)


def test_saturated_probabilities_are_told_apart():
    """Scores of 1e-40 and 1e-60 are both 1 − 1 in floating point; their logarithms are not equal."""
    X, y = load_breast_cancer(return_X_y=True)
    classifier = ConformalClassifierLOO(GaussianNB()).fit(X[:200], y[:200])
    p = classifier.predict_p_values(X[200:400])
    assert (classifier.predict_proba(X[200:400]).max(1) == 1).mean() > 0.2
    assert (p.max(1) == 1).mean() < 0.05


@pytest.mark.parametrize("method", ["cross", "full"])
def test_sparse_rows_and_data_frames(method, table):
    X, y, new, _ = table
    classifier = ConformalClassifierLOO(BernoulliNB(binarize=3), method=method)
    dense = classifier.fit(X, y).predict_p_values(new)
    for kind in (sparse.coo_array, lambda X: pd.DataFrame(X, columns=list("pqrs")), np.ndarray.tolist):
        np.testing.assert_array_equal(classifier.fit(kind(X), y).predict_p_values(kind(new)), dense)


def test_what_is_refused(table):
    X, y, _, _ = table
    scaled = make_pipeline(StandardScaler(), GaussianNB())
    for nb, settings, groups, message in [
        (GaussianNB(), {"method": "split"}, None, "`method` is 'split'; choose 'cross' or 'full'"),
        (GaussianNB(), {"class_conditional": "yes"}, None, "`class_conditional` is 'yes'"),
        (LinearSVC(), {}, None, "LinearSVC, which has no `predict_log_proba`"),
        (scaled, {"method": "full"}, None, "Pipeline, which has no `partial_fit`; method='full'"),
        (CalibratedClassifierLOO(GaussianNB()), {"method": "full"}, None, "no `partial_fit`"),
        (GaussianNB(), {"method": "full"}, y, r"`groups` is given.*method='cross'"),
        (GaussianNB(), {"class_conditional": True}, y, r"`groups` is given.*method='cross'"),
        (GaussianNB(), {}, [np.nan, *range(13)], "`groups` has missing labels"),
        (GaussianNB(), {}, [7] * 14, "in one group"),
    ]:
        with pytest.raises(ValueError, match=message):
            ConformalClassifierLOO(nb, **settings).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="1 sample"):
        ConformalClassifierLOO(GaussianNB()).fit(X[:1], y[:1])
    for coverage in (0, 1, 1.5, np.nan, True, [0.8, 0.9], "a"):
        with pytest.raises(ValueError, match=r"`coverage` is .*; it needs to lie between 0 and 1"):
            ConformalClassifierLOO(GaussianNB()).fit(X, y).predict_set(X, coverage)


COUNTS = np.array([3, 1, 0, 2, 1, 1, 4, 1, 1, 2, 1, 1, 1, 2])


@pytest.mark.parametrize("method", ["cross", "full"])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_counts_are_repeated_rows(method, class_conditional, table):
    X, y, new, _ = table
    repeated = np.repeat(np.arange(14), COUNTS)
    for nb in (GaussianNB(), CategoricalNB(min_categories=9)):
        classifier = ConformalClassifierLOO(nb, method=method, class_conditional=class_conditional)
        want = classifier.fit(X[repeated], y[repeated]).predict_p_values(new)
        p = classifier.fit(X, y, sample_weight=COUNTS).predict_p_values(new)
        np.testing.assert_allclose(p, want, atol=1e-12)


def test_counts_are_repeated_rows_in_groups_and_where_all_is_fitted_again(table):
    X, y, new, _ = table
    repeated = np.repeat(np.arange(14), COUNTS)
    groups = np.array(["u", "v", "w", "x", "y"])[np.arange(14) ** 2 % 13 % 5]
    by_groups = ConformalClassifierLOO(GaussianNB())
    want = by_groups.fit(X[repeated], y[repeated], groups=groups[repeated]).predict_p_values(new)
    p = by_groups.fit(X, y, COUNTS, groups=groups).predict_p_values(new)
    np.testing.assert_allclose(p, want, atol=1e-12)
    # a pipeline takes no weights, so that its rows are repeated
    for nb in (make_pipeline(StandardScaler(), GaussianNaiveBayes()), GaussianNaiveBayes()):
        classifier = ConformalClassifierLOO(nb)
        want = classifier.fit(X[repeated], y[repeated]).predict_p_values(new)
        np.testing.assert_allclose(classifier.fit(X, y, COUNTS).predict_p_values(new), want, atol=1e-12)


@pytest.mark.parametrize("weights", [COUNTS.astype(float), np.full(14, 0.5), [1.0] * 14, [1] * 13 + [0.5]])
def test_weights_of_a_float_type_are_refused(weights, table):
    X, y, _, _ = table
    with pytest.raises(ValueError, match=r"`sample_weight` has a float type.*astype\(int\)"):
        ConformalClassifierLOO(GaussianNB()).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(("constant", "distance"), [(0.1, 0.268), (0.3, 3.7e-8), (0.1, 7e5)])
def test_a_column_that_is_constant_without_a_row(constant, distance):
    """A difference of two sums has rounding left over, which is no spread: row i leaves as in `loo`."""
    rng = np.random.default_rng(0)
    n = 26
    X = np.column_stack([np.full(n, constant), rng.normal(size=n)])
    X[3, 0] += distance
    y = np.arange(n) % 2
    new = np.column_stack([[constant, constant, X[3, 0]], rng.normal(size=3)])
    smaller = cross_by_refits(GaussianNB(), X, y, new).sum(0)
    p = ConformalClassifierLOO(GaussianNB()).fit(X, y).predict_p_values(new)
    np.testing.assert_allclose(p, (n + 1 - smaller) / (n + 1), atol=1e-12)


@pytest.fixture(scope="module")
def messy_table():
    """40 training rows of two classes, and three more: numbers with gaps and an outlier, counts, levels."""
    rng = np.random.default_rng(5)
    y = np.arange(43) % 2
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=43) + y,
            "mass": np.where(rng.random(43) < 0.1, np.nan, 1e3 + rng.normal(size=43)),
            "events": rng.poisson(2 + y),
            "kind": np.array(list("abcd"))[rng.integers(0, 3, 43) + (rng.random(43) < 0.3) * y],
        }
    )
    frame.loc[20, "size"] = 1e12  # when it leaves, nothing is left of the digits of the squares
    return frame[:40], y[:40], frame[40:]


MESSY = [
    MixedNB(),
    MixedNB([("m", GaussianDA(), ["size"]), ("c", MultinomialNB(), ["events"]), ("o", "drop", ["mass", "kind"])]),
    MixedNB([("p", GaussianNB(variance="pooled"), ["size"]), ("o", "drop", ["mass", "events", "kind"])]),
]


def refitted_p_values(nb, frame, y, new, folds):
    """P-values of a refit without each fold; a fold counts 1 in all."""
    total = np.zeros((len(new), 2))
    for fold in folds:
        kept = np.setdiff1d(np.arange(len(y)), fold)
        # the levels are those of all rows, which a batch of weight 0 brings
        nb_of_others = clone(nb).partial_fit(frame, y, [0, 1], sample_weight=np.zeros(len(y)))
        nb_of_others.partial_fit(frame.iloc[kept], y[kept])
        own = scores(nb_of_others.predict_log_proba(frame.iloc[fold]))[np.arange(len(fold)), y[fold]]
        smaller = smaller_than(own[:, None, None], scores(nb_of_others.predict_log_proba(new)))
        total += smaller.mean(0)
    return 1 - total / (len(folds) + 1)


@pytest.mark.parametrize("nb", MESSY, ids=["auto", "matrix", "pooled"])
@pytest.mark.parametrize("are_grouped", [pytest.param(False, marks=pytest.mark.slow), True])
def test_many_models_at_a_time_are_refits(nb, are_grouped, messy_table):
    """Also with an outlier, without which the sums lose their digits; and where classes share a variance."""
    frame, y, new = messy_table
    groups = np.arange(40) ** 2 % 37 if are_grouped else None
    folds = [[i] for i in range(40)] if groups is None else [np.flatnonzero(groups == g) for g in np.unique(groups)]
    p = ConformalClassifierLOO(nb).fit(frame, y, groups=groups).predict_p_values(new)
    np.testing.assert_allclose(p, refitted_p_values(nb, frame, y, new, folds), atol=1e-9)


def test_models_are_not_made_one_by_one(messy_table, monkeypatch):
    """The posteriors of many rows' remainders are one update, and one table of predictions."""
    frame, y, new = messy_table
    classifier = ConformalClassifierLOO(MixedNB()).fit(frame.drop(index=20), np.delete(y, 20))
    updates = []
    update = NaiveBayes.update

    def counted(self, statistics):
        updates.append(len(statistics.n))
        return update(self, statistics)

    monkeypatch.setattr(NaiveBayes, "update", counted)
    classifier.predict_p_values(new)
    assert max(updates) == 64  # 32 models of 2 classes
    assert len(updates) < 10


@pytest.mark.parametrize("method", ["cross", "full"])
def test_saved_and_loaded(method, table, tmp_path):
    X, y, new, _ = table
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(
        q=pd.Categorical(X[:, 1].astype(int).astype(str), categories=list("1234567")),
        r=np.where(X[:, 2] > 3, "long", None),
    )
    new_frame = frame[:3].assign(p=new[:, 0])
    for nb, rows, new_rows in [
        (GaussianNB(), X, new),
        (BernoulliNB(binarize=3), sparse.csr_array(X), new),
        (MixedNB(), frame, new_frame),
    ]:
        classifier = ConformalClassifierLOO(nb, method=method).fit(rows, y, COUNTS)
        classifier.save(tmp_path / "sets.safetensors")
        again = load(tmp_path / "sets.safetensors")
        np.testing.assert_array_equal(again.predict_p_values(new_rows), classifier.predict_p_values(new_rows))
        np.testing.assert_array_equal(again.predict(new_rows), classifier.predict(new_rows))
        assert again.method == method


@pytest.mark.parametrize("method", ["cross", "full"])
def test_training_rows_are_encoded_once(method, table, monkeypatch):
    """The work that grows with the training rows and the new rows is no reading of cells."""
    X, y, new, _ = table
    calls = []
    encode = ModelView.encode

    def counted(self, rows):
        calls.append(len(rows))
        return encode(self, rows)

    monkeypatch.setattr(ModelView, "encode", counted)
    names = list("pqrs")
    classifier = ConformalClassifierLOO(MixedNB(), method=method).fit(pd.DataFrame(X, columns=names), y)
    classifier.predict_p_values(pd.DataFrame(np.vstack([X[:3], new]), columns=names))
    assert calls.count(14) == 1
