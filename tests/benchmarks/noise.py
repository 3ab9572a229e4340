"""What KernelNB promises of noise, and what it keeps: tables whose columns say nothing of the labels.

    python -m tests.benchmarks.noise [--tables 30] [--sets 30]

Each table has 50 rows in two classes and 5 to 60 columns. Columns of the output:

    promised, new    log loss of the calibrated model: by leave-one-out, and on 400 new rows
    kept, refit      leave-one-out log loss before calibration, with the prior of the bandwidths kept and scaled again
    hold             share of 400 new rows whose label is in their conformal set of 90 %, for the first `--sets` tables
"""

import warnings
from typing import NamedTuple

import numpy as np

from bayesnb import CalibratedClassifierLOO, ConformalClassifierLOO
from bayesnb.estimators import KernelNB

from .arguments import arguments

N_ROWS, N_NEW = 50, 400


class Promise(NamedTuple):
    """Log loss of a calibrated model on noise, nats a row.

    Fields
    ------
    promised : by leave-one-out
    new : of new rows
    kept, refit : before calibration, by leave-one-out with the prior kept and without the row
    """

    promised: float
    new: float
    kept: float
    refit: float


def noise(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-normal columns that say nothing of the labels."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(n, d)))
    return X, rng.integers(0, 2, n)


def promise(seed: int, d: int) -> Promise:
    """What a calibrated model promises of a table, and what new rows give."""
    X, y = noise(seed, N_ROWS, d)
    new, label = noise(1000 + seed, N_NEW, d)
    calibrated = CalibratedClassifierLOO(KernelNB()).fit(X, y)
    p = calibrated.predict_proba(new)
    return Promise(
        promised=calibrated.loo_log_loss_["calibrated"],
        new=-float(np.log(p[np.arange(N_NEW), label]).mean()),
        kept=calibrated.estimator_.loo(X, y).log_loss,
        refit=calibrated.loo_log_loss_["plain"],
    )


def share_in_sets(seed: int, d: int) -> float:
    """Share of new rows whose label is in their set of 90 %."""
    X, y = noise(seed, N_ROWS, d)
    new, label = noise(1000 + seed, N_NEW, d)
    sets = ConformalClassifierLOO(KernelNB()).fit(X, y).predict_set(new, 0.9)
    return float(sets[np.arange(N_NEW), label].mean())


def main() -> None:
    warnings.simplefilter("ignore")
    settings = arguments(__doc__, tables=30, sets=30)
    print(f"{'table':>5} {'columns':>7} {'promised':>9} {'new':>7} {'kept':>7} {'refit':>7} {'hold':>6}")
    promises = []
    shares = []
    for seed in range(settings.tables):
        d = int(np.random.default_rng(seed).integers(5, 61))
        promises.append(promise(seed, d))
        hold = ""
        if seed < settings.sets:
            shares.append(share_in_sets(seed, d))
            hold = f"{shares[-1]:6.3f}"
        columns = " ".join(f"{value:7.3f}" for value in promises[-1])
        print(f"{seed:5} {d:7}   {columns} {hold}", flush=True)
    table = np.array(promises)
    print(f"new − promised {np.mean(table[:, 1] - table[:, 0]):.4f} in the mean")
    below = 1 - table[:, 2] / table[:, 3]
    print(f"kept is below refit by {below.min():.1%} to {below.max():.1%}")
    if shares:
        print(f"sets hold {np.mean(shares):.3f} in the mean of {len(shares)} tables")


if __name__ == "__main__":
    main()
