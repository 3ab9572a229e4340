"""Calibrating other models: `PosteriorCalibrator` beside scikit-learn's maps, on the same calibration rows.

    python -m tests.benchmarks.calibrators [--tables wine votes] [--models forest] [--sizes 50 200] [--json FILE]
    python -m tests.benchmarks.calibrators --show FILE      # no computation: the tables from a file of records

Five models of scikit-learn are fitted to a third of the rows of each table, at most 1,000. The map is learnt from 50,
200 and 1,000 other rows, where fifty or more are left, and judged on the rest, at most 2,000. Pairs of a model and
a table have several splits. Beta calibration (betacal) and Venn-Abers (venn-abers) join if they are installed. No table
that `trust` keeps aside is read.

`--coverage 400` measures instead, in 400 simulations, how many true probabilities the 90 % intervals hold: truths drawn
from the prior, fixed ones that flatten or sharpen, a beta map, and a staircase.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bayesnb

from . import trust
from .arguments import arguments
from .pages import markdown

SIZES = (50, 200, 1000)
MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=500),
    "forest": RandomForestClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "network": MLPClassifier((30,), max_iter=150, random_state=0),
    "GaussianNB": GaussianNB(),
}
Record = dict[str, Any]
REAL = "breast_cancer wine digits votes pima crabs biopsy spam7 bfi chile attrition titanic beps aids2".split()


def tables() -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
    """Rows and labels by name: tables of `trust` on which anything may be tuned, and simulated ones."""

    def real(name: str) -> tuple[Any, np.ndarray]:
        table = trust.load(name)
        levels = [j for j in range(table.frame.shape[1]) if j not in table.numbers]
        columns = [("numbers", SimpleImputer(strategy="median"), table.numbers)]
        columns += [("levels", OneHotEncoder(sparse_output=False), levels)]
        return ColumnTransformer(columns).fit_transform(table.frame), table.y

    def simulated(classes: int, flip: float, seed: int) -> tuple[Any, np.ndarray]:
        return make_classification(
            4000, 20, n_informative=8, n_classes=classes, flip_y=flip, class_sep=0.8, random_state=seed
        )

    assert not set(REAL) & set(trust.KEPT_ASIDE)
    found: dict[str, Any] = {name: partial(real, name) for name in REAL}
    for classes, flip in ((2, 0.02), (2, 0.3), (3, 0.1), (6, 0.1), (15, 0.05)):
        for seed in (0, 1):
            found[f"simulated, {classes} classes, {flip:.0%} flipped, {seed}"] = partial(simulated, classes, flip, seed)
    return found


def maps() -> dict[str, Callable[[Any, Any, Any], Callable[[Any], np.ndarray]]]:
    """From a fitted model and calibration rows to a function that gives calibrated probabilities."""

    def theirs(method: str) -> Callable[[Any, Any, Any], Callable[[Any], np.ndarray]]:
        # of a frozen model all rows are predicted; `cv` only says how many rows each class needs
        return lambda nb, X, y: CalibratedClassifierCV(FrozenEstimator(nb), method=method, cv=2).fit(X, y).predict_proba

    def ours(nb: Any, X: Any, y: Any) -> Callable[[Any], np.ndarray]:
        return bayesnb.PosteriorCalibrator(FrozenEstimator(nb)).fit(X, y).predict_proba

    found: dict[str, Any] = {"uncalibrated": lambda nb, X, y: nb.predict_proba, "PosteriorCalibrator": ours}
    found |= {method: theirs(method) for method in ("sigmoid", "temperature", "isotonic")}
    try:
        from betacal import BetaCalibration

        def beta(nb: Any, X: Any, y: Any) -> Callable[[Any], np.ndarray]:
            p = nb.predict_proba(X)
            each = [BetaCalibration("abm").fit(p[:, [k]], y == one) for k, one in enumerate(nb.classes_)]

            def predict(new: Any) -> np.ndarray:
                q = nb.predict_proba(new)
                table = np.column_stack([one.predict(q[:, [k]]) for k, one in enumerate(each)])
                return table / table.sum(1, keepdims=True)

            return predict

        found["beta"] = beta
    except ImportError:
        pass
    try:
        from venn_abers import VennAbersCalibrator

        def venn(nb: Any, X: Any, y: Any) -> Callable[[Any], np.ndarray]:
            p, index = nb.predict_proba(X), np.searchsorted(nb.classes_, y)
            return lambda new: VennAbersCalibrator().predict_proba(p_cal=p, y_cal=index, p_test=nb.predict_proba(new))

        found["Venn-Abers"] = venn
    except ImportError:
        pass
    return found


def run(name: str, model: str, sizes: tuple[int, ...], splits: int) -> Iterator[Record]:
    """A record for each number of calibration rows, map and split."""
    X, y = tables()[name]()
    for seed in range(splits):
        own = np.arange(len(y))
        train, rest = train_test_split(own, train_size=min(len(y) // 3, 1000), stratify=y, random_state=seed)
        nb = make_pipeline(StandardScaler(), MODELS[model]).fit(X[train], y[train])
        for size in (size for size in sizes if size + 50 <= len(rest)):
            some, new = train_test_split(rest, train_size=size, stratify=y[rest], random_state=seed)
            new = new[:2000]
            truth = np.searchsorted(nb.classes_, y[new])
            for kind, learn in maps().items():
                try:
                    judged = trust.measures(learn(nb, X[some], y[some])(X[new]), truth)
                except ValueError:  # a class with too few calibration rows for this map
                    judged = {"log_loss": np.nan, "brier": np.nan}
                record = {"table": name, "model": model, "classes": len(nb.classes_), "size": size, "map": kind}
                yield {
                    **record,
                    "split": seed,
                    "loss": round(judged["log_loss"], 5),
                    "Brier": round(judged["brier"], 5),
                }


def show(records: Any) -> str:
    """Tables of the mean losses over pairs of a model and a table, and of the pairs in which another map is better.

    A split counts where all maps could learn.
    """
    frame = pd.DataFrame(records)
    order = list(frame["map"].unique())
    keys = ["table", "model", "classes", "size", "split"]
    wide = frame.set_index([*keys, "map"])[["loss", "Brier"]].unstack().dropna()
    pairs = wide.groupby(keys[:-1]).mean()
    rows = []
    for size, every in pairs.groupby(level="size"):
        for name, asked in (("all", "classes > 1"), ("two", "classes == 2"), ("more", "classes > 2")):
            some = every.query(asked)
            worse = some["loss"].sub(some["loss", "uncalibrated"], axis=0) > 0.002
            values = {"log loss": some["loss"].mean(), "Brier score": some["Brier"].mean(), "worse": worse.mean()}
            for measure, of_map in values.items() if len(some) else ():
                form = "{:.0%}" if measure == "worse" else "{:.3f}"
                rows.append([f"{size:,}", name, f"{len(some)}", measure, *(form.format(of_map[one]) for one in order)])
    others = []
    for size, some in pairs["loss"].groupby(level="size"):
        for one in (name for name in order if name != "PosteriorCalibrator"):
            lost = some["PosteriorCalibrator"] - some[one]
            table, model, *_ = lost.idxmax()
            shares = f"{(lost > 0.002).mean():.0%}", f"{(lost > 0.02).mean():.0%}"
            others.append([f"{size:,}", one, *shares, f"{lost.max():.3f}: {model} on {table}"])
    first = markdown(["rows", "classes", "pairs", "measure", *order], rows)
    return f"{first}\n\n{markdown(['rows', 'other map', 'better by .002', 'by .02', 'at most, and where'], others)}"


def truths(c: int) -> dict[str, Callable[[np.random.Generator], Callable[[np.ndarray], np.ndarray]]]:
    """True maps from log probabilities to probabilities, drawn with a generator."""
    from bayesnb.calibration.map import CalibrationMap

    def of_prior(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        model = rng.choice(4, p=[0.4, 0.2, 0.2, 0.2])
        one = CalibrationMap.prior(model, np.full(c, 1 / c))
        if not model:
            return np.exp
        while True:  # the prior is that of increasing maps
            theta = one.layout.mean + one.layout.width * rng.normal(size=len(one.mode))
            drawn = CalibrationMap.prior(model, one.rho, float(np.exp(theta[0])))
            if drawn.is_increasing(theta[None])[0]:
                return lambda z: drawn.proba(theta, z)

    def beta(z: np.ndarray) -> np.ndarray:
        eta = np.stack([0.5 * z[:, k] - 1.5 * np.log1p(-np.minimum(np.exp(z[:, k]), 1 - 1e-12)) for k in range(c)], 1)
        return softmax(eta - [0.5, *[0] * (c - 1)], axis=1)

    def stairs(z: np.ndarray) -> np.ndarray:
        p = np.floor(np.exp(z) * 5) / 5 + 0.05
        return p / p.sum(1, keepdims=True)

    return {
        "the prior": of_prior,
        "flattening": lambda rng: lambda z: softmax(0.5 * z, axis=1),
        "sharpening": lambda rng: lambda z: softmax(2 * z, axis=1),
        "beta map": lambda rng: beta,
        "staircase": lambda rng: stairs,
    }


def coverage(repeats: int, c: int, n: int) -> Iterator[str]:
    """Lines of a table: share of true probabilities of new rows in their 90 % intervals, exactly and within .005."""
    for name, draw in truths(c).items():
        inside = []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            z = np.log(softmax(2 * rng.normal(size=(n + 30, c)), axis=1))
            p = draw(rng)(z)
            y = (rng.random(n)[:, None] > np.cumsum(p[:n], 1)[:, :-1]).sum(1)
            found = bayesnb.PosteriorCalibrator().fit(np.exp(z[:n]), y)
            low, high = np.moveaxis(found.predict_interval(np.exp(z[n:])), -1, 0)
            inside.append([((low - e <= p[n:]) & (p[n:] <= high + e)).mean() for e in (1e-7, 0.005)])
        exact, near = np.mean(inside, 0)
        yield f"| {name} | {c} | {n} | {exact:.2f} | {near:.2f} |"


def main() -> None:
    defaults: dict[str, Any] = {"tables": (*tables(),), "models": (*MODELS,), "sizes": SIZES, "splits": 3}
    options = arguments(__doc__, **defaults, json=None, coverage=0, show=None)
    if options.show:
        print(show(pd.read_json(options.show)))
        return
    if options.coverage:
        print("| truth | classes | rows | inside | within .005 |\n|---|---|---|---|---|")
        for c, n in ((2, 50), (2, 200), (4, 200)):
            for line in coverage(options.coverage, c, n):
                print(line, flush=True)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pairs = [(table, model) for table in options.tables for model in options.models]
        records = [one for pair in pairs for one in run(*pair, tuple(options.sizes), options.splits)]
    print(show(records))
    if options.json:
        options.json.write_text(json.dumps(records))


if __name__ == "__main__":
    main()
