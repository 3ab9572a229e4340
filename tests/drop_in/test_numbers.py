"""The numbers of scikit-learn to 1e-9: every fitted attribute and prediction, on real data, for random settings."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as peers
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV

from bayesnb import datasets, drop_in

from ..estimators_table import mostly_slow

NAMES = drop_in.__all__
DISCRETE = [name for name in NAMES if name != "GaussianNB"]


def codes(name):
    """A table's columns as whole numbers: words by their order, numbers cut at their quartiles."""
    table = datasets.load(name)
    X = table.X.apply(lambda column: pd.factorize(pd.qcut(column, 4) if column.dtype.kind == "f" else column)[0] + 1)
    return X.to_numpy(), table.y.astype(str)


def spam():
    texts = datasets.load_spam()
    rows = np.random.default_rng(0).permutation(len(texts.y))[:1000]
    return texts.X[rows], texts.y[rows].astype(str)


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "spam": spam,
    "penguins": lambda: codes("penguins"),
    "votes": lambda: codes("votes"),
}
SUITABLE = {
    "GaussianNB": ["iris", "digits", "wine", "breast_cancer"],
    "MultinomialNB": ["iris", "digits", "wine", "breast_cancer", "spam", "penguins", "votes"],
    "ComplementNB": ["iris", "digits", "wine", "breast_cancer", "spam", "penguins", "votes"],
    "BernoulliNB": ["iris", "digits", "wine", "breast_cancer", "spam", "penguins", "votes"],
    "CategoricalNB": ["iris", "digits", "wine", "penguins", "votes"],
}
PAIRS = [(name, data) for name in NAMES for data in SUITABLE[name]]
every = pytest.mark.parametrize(("name", "data"), PAIRS)


@pytest.fixture(scope="module")
def load():
    read = {}

    def loaded(data):
        if data not in read:
            X, y = DATA[data]()
            order = np.random.default_rng(1).permutation(len(y))
            read[data] = X[order], np.asarray(y)[order]
        return read[data]

    return loaded


def settings(name, X, y, rng):
    """Random parameters, such as scikit-learn computes soundly."""
    c, d = len(np.unique(y)), X.shape[1]
    pi = rng.dirichlet(np.ones(c))
    if name == "GaussianNB":
        return {"var_smoothing": 10 ** rng.uniform(-9, 0), "priors": rng.choice([None, 1]) and pi}
    alpha = 10 ** rng.uniform(-2, 1)
    if name in ("MultinomialNB", "ComplementNB") and rng.random() < 0.5:
        alpha = 10 ** rng.uniform(-2, 1, d)
    found = {"alpha": alpha, "fit_prior": bool(rng.random() < 0.5), "class_prior": rng.choice([None, 1]) and pi}
    if name == "ComplementNB":
        found["norm"] = bool(rng.random() < 0.5)
    if name == "BernoulliNB":
        found["binarize"] = float(rng.integers(0, 4))
    if name == "CategoricalNB":
        found["min_categories"] = rng.choice([None, 1]) and rng.integers(1, 20, d)
    return found


def pair(name, **parameters):
    return getattr(drop_in, name)(**parameters), getattr(peers, name)(**parameters)


def assert_same(ours, theirs, X):
    """All fitted attributes that scikit-learn has, and all predictions."""
    names = [name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")]
    assert {"classes_", "class_count_", "n_features_in_"} < set(names)
    for name in names:
        found, wanted = getattr(ours, name), getattr(theirs, name)
        assert type(found) is type(wanted) or np.isscalar(found), name
        for one, two in zip(*((found, wanted) if isinstance(wanted, list) else ([found], [wanted])), strict=True):
            one, two = np.asarray(one), np.asarray(two)
            assert one.shape == two.shape and one.dtype.kind == two.dtype.kind, name
            if one.dtype.kind == "f":
                # of a weighted sum of squares rounding leaves 1e-16 of the largest one
                np.testing.assert_allclose(
                    one, two, rtol=1e-9, atol=1e-12 * np.abs(two[np.isfinite(two)]).max(initial=1)
                )
            else:
                np.testing.assert_array_equal(one, two)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        found, wanted = getattr(ours, method)(X), getattr(theirs, method)(X)
        assert found.dtype == wanted.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=method)
    second, first = np.sort(np.pad(wanted, ((0, 0), (1, 0))), 1)[:, -2:].T
    tied = first - second < 1e-12  # a row of ones is a tie in ComplementNB(norm=True), broken by rounding
    np.testing.assert_array_equal(ours.predict(X)[~tied], theirs.predict(X)[~tied])


@every
@pytest.mark.parametrize("seed", range(2))
def test_fit(name, data, seed, load):
    X, y = load(data)
    rng = np.random.default_rng([seed, len(data)])
    ours, theirs = pair(name, **settings(name, X, y, rng))
    weights = [rng.random(len(y)) * rng.integers(0, 3, len(y)), rng.integers(0, 5, len(y))][seed]
    assert_same(ours.fit(X, y, sample_weight=weights), theirs.fit(X, y, sample_weight=weights), X)


@every
def test_fit_with_the_defaults(name, data, load):
    X, y = load(data)
    ours, theirs = pair(name)
    assert_same(ours.fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize(
    ("name", "data", "weighted"),
    mostly_slow(
        [(*pair, weighted) for pair in PAIRS for weighted in (False, True)],
        lambda case: case[1] == "iris" or case == ("GaussianNB", "wine", True),
    ),
)
def test_partial_fit(name, data, weighted, load):
    X, y = load(data)
    rng = np.random.default_rng(len(data))
    parameters = settings(name, X, y, rng)
    if name == "GaussianNB":
        parameters["var_smoothing"] = 0.0  # with more, scikit-learn's batches end elsewhere than its `fit`
        varies = np.array([(X[y == label] != X[y == label][0]).any(0) for label in np.unique(y)]).all(0)
        X = X[:, varies]
    ours, theirs = pair(name, **parameters)
    batches = np.array_split(np.arange(len(y)), 4)
    if name == "CategoricalNB":  # n_categories_ there is that of the last batch: let it be the widest
        widest = X.argmax(0)
        batches[-1] = np.concatenate([batches[-1], widest])
    for batch in batches:
        w = rng.random(len(batch)) if weighted else None
        for nb in (ours, theirs):
            nb.partial_fit(X[batch], y[batch], classes=np.unique(y), sample_weight=w)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("name", NAMES)
def test_a_class_that_has_not_come_yet(name, load):
    X, y = load("iris")
    ours, theirs = pair(name)
    first = y != 1
    with np.errstate(divide="ignore"):
        assert_same(
            ours.partial_fit(X[first], y[first], classes=[0, 1, 2]),
            theirs.partial_fit(X[first], y[first], classes=[0, 1, 2]),
            X,
        )
    assert name == "ComplementNB" or (ours.predict_proba(X)[:, 1] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_single_class(name, load):
    X, _ = load("iris")
    ours, theirs = pair(name)
    assert_same(ours.fit(X, np.zeros(len(X))), theirs.fit(X, np.zeros(len(X))), X)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("alpha", "data"), [(0.0, "digits"), (1e-12, "votes")])
@pytest.mark.parametrize("name", DISCRETE)
def test_no_smoothing(name, alpha, data, load):
    """−∞ where an event was never seen. There scikit-learn predicts NaN, we a share of what is possible."""
    X, y = load(data)
    ours, theirs = pair(name, alpha=alpha)
    ours.fit(X, y), theirs.fit(X, y)
    for one, two in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)
    found, wanted = ours.predict_proba(X), theirs.predict_proba(X)
    known = np.isfinite(wanted).all(1)
    np.testing.assert_allclose(found[known], wanted[known], rtol=1e-7, atol=1e-9)
    assert known.any() or alpha == 0
    mixed = np.random.default_rng(0).permuted(X, axis=1)  # most rows are impossible in every class
    np.testing.assert_allclose(ours.predict_proba(mixed).sum(1), 1)


@pytest.mark.parametrize("name", DISCRETE)
def test_no_smoothing_and_a_class_without_rows(name):
    """scikit-learn: log 0 − log 0, NaN; here all events are equal there, and the class has probability 0."""
    nb = getattr(drop_in, name)(alpha=0).partial_fit([[1, 0], [1, 1], [0, 1]], [0, 1, 1], classes=[0, 1, 2])
    assert not np.isnan(nb.feature_log_prob_).any()
    if name != "ComplementNB":  # whose complement has rows
        np.testing.assert_allclose(np.asarray(nb.feature_log_prob_)[..., 2, :], np.log(0.5))
    assert np.isfinite(nb.predict_proba([[1, 0], [0, 0]])).all()


def test_one_event_alone():
    """scikit-learn: weights of 0 over their sum, NaN; an event that always comes says nothing about the class."""
    nb = drop_in.ComplementNB(norm=True).fit([[1], [2], [3]], [0, 1, 1])
    np.testing.assert_array_equal(nb.predict_proba([[5]]), [[0.5, 0.5]])


def test_what_is_improbable_is_not_impossible():
    """Without smoothing 40 events of probability 0.05 are likelier than one of probability 0."""
    nb = drop_in.MultinomialNB(alpha=0).fit([[1, 19], [5, 0]], [0, 1])
    np.testing.assert_allclose(nb.predict_proba([[40, 1]]), [[1, 0]], atol=1e-200)


@pytest.mark.parametrize("name", [name for name in DISCRETE if name != "CategoricalNB"])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows(name, form, load):
    X, y = load("digits")
    ours, theirs = pair(name)
    assert_same(ours.fit(form(X), y), theirs.fit(form(X), y), form(X))


@pytest.mark.parametrize("name", NAMES)
def test_names_labels_and_whole_numbers(name, load):
    X, y = load("digits")
    X = pd.DataFrame(X.astype(np.int32)).add_prefix("pixel")
    ours, theirs = pair(name)
    labels = np.array(list("abcdefghij"))[y]
    assert_same(ours.fit(X, labels), theirs.fit(X, labels), X)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_defaults(name):
    ours, theirs = pair(name)
    assert ours.get_params() == theirs.get_params()
    assert repr(ours) == repr(theirs)
    for method in ("__init__", "fit", "partial_fit", "predict", "predict_proba", "score", "set_fit_request"):
        found = inspect.signature(getattr(type(ours), method)).parameters.values()
        wanted = inspect.signature(getattr(type(theirs), method)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in found] == [(p.name, p.kind, p.default) for p in wanted], method
    public = {attribute for attribute in dir(theirs) if not attribute.startswith("_")}
    assert public <= set(dir(ours))
    assert not hasattr(ours, "decision_function")


WRONG = {
    "alpha": [-1.0, "one"],
    "force_alpha": ["no"],
    "fit_prior": [None],
    "class_prior": [0.5],
    "binarize": [-1.0],
    "norm": ["l1"],
    "min_categories": [0],
    "var_smoothing": [-1e-9],
    "priors": ["equal"],
}


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [(name, key, value) for name in NAMES for key in pair(name)[1].get_params() for value in WRONG[key]],
)
def test_what_a_parameter_may_be(name, parameter, value, load):
    """The sentence of scikit-learn for a parameter that is out of range."""
    X, y = load("iris")
    said = []
    for nb in pair(name, **{parameter: value}):
        with pytest.raises(ValueError, match=parameter) as found:
            nb.fit(X, y)
        said.append(str(found.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", NAMES)
def test_attributes_that_are_set_are_used(name, load):
    """A model that is put together from stored numbers, or whose class probabilities are moved by hand."""
    X, y = load("iris")
    ours, theirs = pair(name)
    theirs.fit(X, y)
    for attribute, value in vars(theirs).items():
        setattr(ours, attribute, value)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-9)
    moved = "class_prior_" if name == "GaussianNB" else "class_log_prior_"
    for nb in (ours, theirs):
        setattr(nb, moved, np.array([0.7, 0.2, 0.1]))
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_calibration_and_grid_search_end_where_they_did(name, load):
    X, y = load("iris")
    X, y = X[y > 0], y[y > 0]
    calibrated = [CalibratedClassifierCV(nb, cv=2, ensemble=False).fit(X, y).predict_proba(X) for nb in pair(name)]
    np.testing.assert_allclose(*calibrated, atol=1e-6)  # the optimiser stops at its own tolerance
    grid = {"var_smoothing": [1e-9, 0.1]} if name == "GaussianNB" else {"alpha": [1e-3, 10]}
    searches = [GridSearchCV(clone(nb), grid, cv=2, scoring="neg_log_loss").fit(X, y) for nb in pair(name)]
    np.testing.assert_allclose(*(search.cv_results_["mean_test_score"] for search in searches), rtol=1e-9)
