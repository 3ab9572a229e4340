"""The whole procedure of SPSS against the same procedure as loops over cells, written from the chapter's rules."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer

from bayesnb import SPSSNaiveBayes, datasets

from ..estimators_table import mostly_slow, these


def load(name, holes):
    """A table, its labels, and which columns are scale; with a tenth of the cells emptied, and two labels."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        y = y.map({0: "malignant", 1: "benign"})
        scale = list(X.columns)
    else:
        data = datasets.load(name)
        X, y = data.X, pd.Series(np.asarray(data.y, object))
        scale = [column for column in X.columns if column.endswith(("_mm", "_g"))]
    if holes:
        X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
        y = y.astype(object).copy()
        y[[3, 200]] = None
    return X, y, scale


# --- the brute force: plain cells, None a missing one; every candidate set from the beginning ---


def cut(values, train, n_bins):
    """Bin of each value: equal widths over the range of training, closed on the right, empty bins gone."""
    seen = [v for v, t in zip(values, train, strict=True) if t and v is not None]
    low, high = min(seen), max(seen)
    ends = [
        low * (1 - i / n_bins) + high * (i / n_bins) for i in range(1, n_bins)
    ]  # rounded as there: values lie on it
    place = [sum(v > end for end in ends) for v in seen]
    full = sorted(set(place))
    middles = [(ends[a] + ends[b - 1]) / 2 for a, b in itertools.pairwise(full)]
    return [None if v is None else sum(v > middle for middle in middles) for v in values]


def brute_force(X, y, scale, train, *, force=(), most="auto", exact=None, criterion="bic", printed=False):
    columns = {name: [None if pd.isna(v) else v for v in X[name]] for name in X.columns}
    y = [None if pd.isna(k) else k for k in y]
    train = [bool(t) and k is not None for t, k in zip(train, y, strict=True)]
    for name in scale:
        columns[name] = cut(columns[name], train, 10)
    levels = {
        name: {v for v, t in zip(cells, train, strict=True) if t and v is not None} for name, cells in columns.items()
    }
    columns = {name: cells for name, cells in columns.items() if len(levels[name]) > 1}  # all others are dropped
    some = [any(cells[i] is not None for cells in columns.values()) for i in range(len(y))]
    train = [t and s for t, s in zip(train, some, strict=True)]
    test = [k is not None and s and not t for k, s, t in zip(y, some, train, strict=True)]
    classes = sorted({k for k in y if k is not None})
    n = sum(train)
    count = {k: sum(t and label == k for t, label in zip(train, y, strict=True)) for k in classes}
    pi = {k: (count[k] + 1 / n) / (n + len(classes) / n) for k in classes}
    p = {}
    for name, cells in columns.items():
        for k in classes:
            own = [v for v, t, label in zip(cells, train, y, strict=True) if t and label == k and v is not None]
            for m in levels[name]:
                p[name, m, k] = (own.count(m) + 1 / n) / (len(own) + len(levels[name]) / n)
    logs = {
        name: np.array([[math.log(p.get((name, v, k), 1)) for k in classes] for v in cells])
        for name, cells in columns.items()
    }
    held = {name: np.array([v is not None for v in cells]) for name, cells in columns.items()}
    index = np.array([0 if k is None else classes.index(k) for k in y])

    def joint(names):
        return sum((logs[name] for name in names), np.log([pi[k] for k in classes]) + np.zeros((len(y), 1)))

    def fit(names, rows):
        rows, table = np.flatnonzero(rows), joint(names)
        right, total = table[rows, index[rows]], np.logaddexp.reduce(table[rows], axis=1)
        if not printed:
            return float(np.mean(right - total))
        considered = np.any([held[name][rows] for name in names], axis=0) if names else np.zeros(len(rows), bool)
        return float(right.mean() - total[considered].sum() / max(considered.sum(), 1))

    force = [name for name in force if name in columns]
    j_0, j_must = len(columns), len(force)
    j_max = min(j_must + min(100, max(20, j_0 // 5)), j_0) if most == "auto" else min(j_must + most, j_0)
    if exact is not None:
        j_max = j_must + exact
    chosen, fits = list(force), [fit(force, train)]
    while len(chosen) < j_max:
        left = [name for name in columns if name not in chosen]
        chosen.append(max(left, key=lambda name: fit([*chosen, name], train)))
        fits.append(fit(chosen, train))
    sizes = range(j_must, j_max + 1)
    if exact is not None:
        best = j_max
    elif criterion == "bic":
        best = min(sizes, key=lambda j: -fits[j - j_must] + 0.5 * j * math.log(n) / n)
    else:
        printed = False  # of test rows the log-likelihood is that of their classes
        best = max(sizes, key=lambda j: fit(chosen[:j], test))
    table = joint(chosen[:best])
    proba = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    decided = []
    for row in table:  # of equal ones that with the larger prior
        ties = [i for i, value in enumerate(row) if value >= row.max() - 1e-9]
        decided.append(classes[max(ties, key=lambda i: pi[classes[i]])])
    judged = test if any(test) else train
    wrong = [d != k for d, k, use in zip(decided, y, judged, strict=True) if use]
    return chosen, fits, chosen[:best], proba, decided, sum(wrong) / len(wrong), n


SETTINGS = {
    "pseudo-BIC": {},
    "printed denominator": {"denominator": "N'"},
    "test rows": {"partition": True},
    "test rows, largest set given": {"partition": True, "max_features": 4},
    "forced and exact": {"force": 2, "exact_features": 3},
    "pseudo-BIC beside test rows": {"partition": True, "criterion": "bic"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("name", mostly_slow(["votes", "penguins", "breast cancer"], these("penguins")))
def test_the_brute_force(name, holes, settings):
    X, y, scale = load(name, holes)
    settings = dict(settings)
    train = np.ones(len(y), bool)
    if settings.get("partition"):
        settings["partition"] = train = np.random.default_rng(1).random(len(y)) < 0.7
    if "force" in settings:
        settings["force"] = list(X.columns[: settings["force"]])
    model = SPSSNaiveBayes(scale=scale, **settings).fit(X, y)
    criterion = settings.get("criterion", "test" if "partition" in settings else "bic")
    chosen, fits, selected, proba, decided, error, n = brute_force(
        *(X, y, scale, train),
        force=settings.get("force", ()),
        most=settings.get("max_features", "auto"),
        exact=settings.get("exact_features"),
        criterion=criterion,
        printed="denominator" in settings,
    )
    report = model.report_
    assert [*report.forced, *report.steps["added"].iloc[1:]] == chosen
    np.testing.assert_allclose(report.steps["log_likelihood"], fits, rtol=1e-9)  # sums of 400 numbers
    assert list(report.selected) == selected
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-9)
    assert model.predict(X).tolist() == decided
    assert report.error == pytest.approx(error)
    assert report.settings["rows_training"] == n
    table = model.report_.classification
    weights = table.drop(columns=["observed", "correct"]).groupby("sample").sum().sum(axis=1)
    assert weights["training"] == n


def test_what_is_scale():
    frame = pd.DataFrame({"many": np.arange(40.0), "few": [-1.5, 0, 7, 7] * 10, "text": list("ab") * 20})
    y = np.arange(40) > 17
    model = SPSSNaiveBayes().fit(frame, y)
    assert model.report_.scale == ("many",)
    assert model.binner_.n_bins_.tolist() == [10]
    whole = frame.assign(few=frame["few"].replace(-1.5, 2).astype("Int64"))
    same = SPSSNaiveBayes(exact_features=3).fit(whole, y)
    np.testing.assert_allclose(
        same.predict_proba(whole), SPSSNaiveBayes(exact_features=3).fit(frame, y).predict_proba(frame)
    )
    assert SPSSNaiveBayes(scale=["few", 0], n_bins=2).fit(frame, y).report_.scale == ("many", "few")
    assert SPSSNaiveBayes(scale=()).fit(frame, y).binner_ is None
    new = frame.iloc[:2].assign(few=[3.25, None])  # never seen, and missing
    np.testing.assert_array_equal(*same.predict_proba(new.assign(many=1.0, text="a")))


def test_frames_arrays_copies_and_reports():
    X, y, scale = load("penguins", False)
    model = SPSSNaiveBayes(test_share=0.3).fit(X, y)
    theirs = SPSSNaiveBayes(test_share=0.3).fit(pl.from_pandas(X), y)
    np.testing.assert_allclose(theirs.predict_proba(pl.from_pandas(X)), model.predict_proba(X))
    by_place = SPSSNaiveBayes(test_share=0.3).fit(X.to_numpy(dtype=object), y)
    np.testing.assert_allclose(by_place.predict_proba(X.to_numpy(dtype=object)), model.predict_proba(X))
    assert by_place.report_.scale == tuple(X.columns.get_loc(name) for name in scale)
    text = str(model.report_)
    assert "observed class by predicted class" in text
    back = json.loads(json.dumps(model.report_.to_dict()))
    assert back["scale"] == scale
    assert model.report_.classification.index.tolist() == [*range(6)]  # three classes, training and test
    assert back["selected"] == list(model.report_.selected)
    assert back["classification"][0]["sample"] == "training"


def test_what_is_out_of_range_is_named():
    X, y, _ = load("penguins", False)
    for settings, message in [
        ({"n_bins": 0}, "`n_bins` is 0"),
        ({"scale": ["weight"]}, "`scale` has 'weight', which is not a column of `X`; the columns are 'isl"),
        ({"scale": "island"}, "`scale` has .'island'., which hold no numbers"),
        ({"criterion": "aic"}, "`criterion` is 'aic'"),
    ]:
        with pytest.raises(ValueError, match=message):
            SPSSNaiveBayes(**settings).fit(X, y)
    with pytest.raises(ValueError, match="cells in column 'body_mass_g' that are not finite numbers"):
        SPSSNaiveBayes().fit(X.assign(body_mass_g=np.inf), y)
    model = SPSSNaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match="cells in column 'body_mass_g' that are not finite numbers"):
        model.predict(X.assign(body_mass_g="heavy"))
    model = SPSSNaiveBayes(scale=["same"]).fit(X.assign(same=4.25), y)
    assert model.report_.dropped == ("same",)
