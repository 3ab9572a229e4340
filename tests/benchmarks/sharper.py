"""Is DiscriminativeNB as sharp as logistic regression and boosting? The study of docs/guide/sharper.md.

    python -m tests.benchmarks.trust --splits 3 --methods logistic_cv boosting_cv loo discriminative --csv FILE
    python -m tests.benchmarks.sharper --csv FILE [--show]      # tables of log loss; --show puts them into the page
    python -m tests.benchmarks.sharper --simulated              # noise, and what the intervals hold
    python -m tests.benchmarks.sharper --sampled                # the same where weights come from a sample of the rows

The first command makes the CSV. It reads no table that is kept aside. How it splits and what a cell is stands in
docs/calibration.md.
"""

import warnings
from collections.abc import Callable, Iterable
from unittest import mock

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegressionCV

import bayesnb
from bayesnb.discriminative import training_rows

from . import pages, trust
from .arguments import arguments

CSV = trust.DOCS / "data" / "sharper.csv.gz"
PAGE = trust.DOCS / "guide" / "sharper.md"
RIVALS = {"logistic_cv": "logistic regression", "boosting_cv": "boosting", "loo": "calibrated naive Bayes"}
SIZES = ("50", "200", "1000", "all")


def excess(records: pd.DataFrame, sizes: Iterable[str] = SIZES) -> str:
    """Log loss of DiscriminativeNB minus that of each rival: the mean over tables, by training rows."""
    rows = []
    for rival, name in RIVALS.items():
        for size in (*sizes, ""):
            found = trust.excess(records[records["size"] == size] if size else records, "discriminative", [rival])
            by = trust.by_table(found)
            rows.append([
                name, size or "each", f"{len(by)}", str(trust.over_tables(by)),
                f"{trust.signed(found.max())} ({found.idxmax()[0]})", f"{(found <= 0).sum()} of {len(found)}",
            ])  # fmt: skip
    head = ["minus that of", "training rows", "tables", "mean and 95 % interval", "worst cell", "cells not worse"]
    return pages.markdown(head, rows)


def losses(records: pd.DataFrame) -> str:
    """Log loss of each method in each cell; the least in bold."""
    return trust.table_losses(records[records["method"].isin(["discriminative", *RIVALS])])


def times(records: pd.DataFrame) -> str:
    """Time of the fit divided by that of logistic regression with C by cross-validation."""
    by_size = trust.fit_ratios(records, "discriminative", ["logistic_cv"]).groupby("size", sort=False)
    found = {size: by_size.get_group(size) for size in SIZES}
    rows = [[size, f"{one.median():.1f}", f"{one.max():.1f} ({one.idxmax()[0]})"] for size, one in found.items()]
    return pages.markdown(["training rows", "median ratio", "largest"], rows)


def fill(page: str, records: pd.DataFrame) -> str:
    """The page with its tables made anew."""
    return pages.fill(page, {"excess": excess(records, ("50", "1000")), "times": times(records)})


# --- simulated rows, whose class probabilities are known ------------------------------------------------------------

Truth = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def noise(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(n, 20)), np.full(n, 0.3)


def linear(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    slope, X = rng.normal(size=8) * 0.7, rng.normal(size=(n, 8))
    return X, expit(X @ slope)


def naive(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent normal columns, with means and spreads that differ between classes."""
    y, mean, sd = rng.random(n) < 0.4, rng.normal(size=8) * 0.6, np.exp(rng.normal(size=8) * 0.3)
    X = rng.normal(size=(n, 8)) * np.where(y[:, None], sd, 1) + mean * y[:, None]
    return X, expit(np.log(0.4 / 0.6) + (X**2 / 2 - ((X - mean) / sd) ** 2 / 2 - np.log(sd)).sum(1))


def curved(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 8))
    return X, expit(1.5 * X[:, 0] ** 2 - 1.5 + X[:, 1] + X[:, 2] * X[:, 3])


def simulated(truths: Iterable[Truth], sizes: Iterable[int], seeds: int) -> pd.DataFrame:
    """Expected log loss above the entropy, and how often a 90 % interval holds the true probability."""
    found = []
    for truth in truths:
        for n in sizes:
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                X, p = truth(rng, n + 300)
                y, (new, q) = (rng.random(n + 300) < p)[:n], (X[n:], np.column_stack([1 - p, p])[n:])
                nb = bayesnb.DiscriminativeNB().fit(X[:n], y)
                other = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000).fit(X[:n], y)
                low, high = np.moveaxis(nb.predict_interval(new, n_draws=150)[:, 1], -1, 0)
                above = [float((q * (np.log(q) - one.predict_log_proba(new))).sum(1).mean()) for one in (nb, other)]
                inside = float(((low <= q[:, 1]) & (q[:, 1] <= high)).mean())
                found.append([truth.__name__, n, *above, inside, float((high - low).mean())])
    names = ["truth", "n", "excess", "logistic", "coverage", "width"]
    return pd.DataFrame(found, columns=names).groupby(["truth", "n"], sort=False).mean()


def sampled(truths: Iterable[Truth], seeds: int) -> pd.DataFrame:
    """As `simulated`, of 4,000 rows: the weights fitted to all of them, and to a sample of about 500."""
    of_all_rows = simulated(truths, (4000,), seeds)
    with mock.patch.multiple(training_rows, _MIN_SAMPLE=500, _ROWS_PER_PARAMETER=10):
        of_a_sample = simulated(truths, (4000,), seeds)
    return pd.concat({"all rows": of_all_rows, "a sample": of_a_sample}, names=["weights from"])


def main() -> None:
    options = arguments(__doc__, csv=CSV, show=False, simulated=False, sampled=False, seeds=20)
    if options.simulated or options.sampled:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if options.simulated:
                table = simulated((noise, linear, naive, curved), (100, 200, 400), options.seeds)
            else:
                table = sampled((noise, linear, naive), options.seeds)
        print(table.round(3).to_string())
        return
    records = trust.read_csv(options.csv)
    if options.show:
        PAGE.write_text(fill(PAGE.read_text(), records))
    else:
        print("\n\n".join(make(records) for make in (excess, times, losses)))


if __name__ == "__main__":
    main()
