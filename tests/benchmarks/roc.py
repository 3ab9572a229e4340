"""Areas under ROC curves from folds: a half on noise, and those of new rows where there is a signal.

    python -m tests.benchmarks.roc [--seeds 200] [--models plain calibrated discriminative]

One line for each model, number of columns and number of rows of noise, with the mean over `--seeds` tables: of folds as
`roc_curves` takes them with one repeat, and of leave-one-out over all rows for comparison. Then tables with a signal:
of folds, of 2,000 new rows by the model of all rows, and how often the 90 % interval holds the area of the new rows.
"""

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from bayesnb import CalibratedClassifierLOO, DiscriminativeNB, GaussianNB, roc_curves

MODELS = {
    "plain": GaussianNB(),
    "calibrated": CalibratedClassifierLOO(GaussianNB()),
    "discriminative": DiscriminativeNB(),
}
AREA_TOLERANCE = 0.01  # of the mean area on noise
N_NEW = 2_000


def noise(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns that say nothing of labels of equal frequency."""
    return np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) % 2


def on_noise(nb: Any, n: int, d: int, seed: int, n_repeats: int | None = None) -> float:
    """Area from folds of a table of noise."""
    X, y = noise(seed, n, d)
    return roc_curves(nb, X, y, n_repeats=n_repeats, seed=seed).roc_auc.value


def rows_with_signal(rng: np.random.Generator, n: int, n_positive: int) -> tuple[np.ndarray, np.ndarray]:
    """Four normal columns, two of them with a difference of one standard deviation between the classes."""
    y = (np.arange(n) < n_positive).astype(int)
    return rng.normal(np.outer(y, [1, 1, 0, 0]), 1), y


class Areas(NamedTuple):
    """Area from folds, and that of new rows by the model of all rows."""

    of_folds: float
    of_new_rows: float


def with_signal(nb: Any, n: int, n_positive: int, seed: int, n_repeats: int | None = None) -> Areas:
    """Areas of a table with a signal."""
    curves, of_new_rows = _fold_and_new(nb, n, n_positive, seed, n_repeats)
    return Areas(curves.roc_auc.value, of_new_rows)


def _fold_and_new(nb: Any, n: int, n_positive: int, seed: int, n_repeats: int | None) -> tuple[Any, float]:
    rng = np.random.default_rng(seed)
    X, y = rows_with_signal(rng, n, n_positive)
    new, label = rows_with_signal(rng, N_NEW, N_NEW * n_positive // n)
    score = nb.fit(X, y).decision_function(new)
    return roc_curves(nb, X, y, n_repeats=n_repeats, seed=seed), float(roc_auc_score(label, score))


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    settings = parser.parse_args()

    print(f"noise, mean over {settings.seeds} tables")
    print(f"{'model':16}{'rows':>6}{'columns':>9}{'folds':>8}{'± se':>8}{'pooled':>9}")
    for name in settings.models:
        for d in (2, 20):
            for n in (20, 50, 200):
                areas = np.array([on_noise(MODELS[name], n, d, seed, 1) for seed in range(settings.seeds)])
                pooled = [_pooled(seed, n, d) for seed in range(settings.seeds)] if name == "plain" else [np.nan]
                error = areas.std(ddof=1) / np.sqrt(len(areas))
                print(f"{name:16}{n:6}{d:9}{areas.mean():8.3f}{error:8.3f}{np.mean(pooled):9.3f}", flush=True)

    print("\nsignal")
    print(f"{'model':16}{'rows':>6}{'positive':>9}{'folds':>8}{'new':>8}{'± se':>8}{'held':>7}")
    for name in settings.models:
        for n, n_positive in ((60, 10), (60, 30), (200, 20)):
            results = [_fold_and_new(MODELS[name], n, n_positive, seed, None) for seed in range(settings.seeds)]
            of_folds = np.array([curves.roc_auc.value for curves, _ in results])
            new = np.array([area for _, area in results])
            is_held = [curves.roc_auc.low <= area <= curves.roc_auc.high for curves, area in results]
            error = (of_folds - new).std(ddof=1) / np.sqrt(len(new))
            means = f"{of_folds.mean():8.3f}{new.mean():8.3f}{error:8.3f}{np.mean(is_held):7.2f}"
            print(f"{name:16}{n:6}{n_positive:9}{means}", flush=True)


def _pooled(seed: int, n: int, d: int) -> float:
    """Area over the leave-one-out predictions of all rows."""
    X, y = noise(seed, n, d)
    log_p = GaussianNB().fit(X, y).loo(X, y).log_proba
    return float(roc_auc_score(y, log_p[:, 1] - log_p[:, 0]))


if __name__ == "__main__":
    main()
