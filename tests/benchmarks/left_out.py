"""Leave-one-out of every estimator against refits: what is exact, and by how much the rest is off.

    python -m tests.benchmarks.left_out

Each row is left out by a fit to all others. Columns of the table:

    refit        largest |log p(x_i, y = c) of loo(prior="refit") − that of the refit|, nats
    kept         the same of loo(): the prior is that of all rows
    loss         log loss of loo() and of the refits, nats a row
    any weight   largest relative error of loo(prior="refit") with weights from 1e-8 to 1e8
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    CategoricalNB,
    DiscriminativeNB,
    GaussianDA,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesnb.estimators import ComplementNB, ExponentialNB, GeometricNB, KernelNB, OneDependenceNB

N_ROWS, N_COLUMNS = 40, 5
CASES: list[tuple[Any, str]] = [
    (GaussianNB(), "normal"),
    (GaussianNB(variance="pooled"), "normal"),
    (GaussianNB(known_variance=1.0), "normal"),
    (GaussianDA(), "normal"),
    (GaussianDA(covariance="shared"), "normal"),
    (PoissonNB(), "counts"),
    (ExponentialNB(), "amounts"),
    (GeometricNB(), "counts"),
    (MultinomialNB(), "counts"),
    (ComplementNB(), "counts"),
    (BernoulliNB(), "yes/no"),
    (BernoulliNB(alpha="clop"), "yes/no"),
    (CategoricalNB(min_categories=3), "levels"),
    (OneDependenceNB(min_categories=3), "levels"),
    (MixedNB([("n", GaussianNB(), [0, 1]), ("p", PoissonNB(), [2, 3, 4])]), "counts"),
    (KernelNB(), "normal"),
]


class Refits(NamedTuple):
    """Predictions of each row by a fit to all others.

    Fields
    ------
    log_joint : (n, c) log p(x_i, y = c)
    log_loss : nats a row
    """

    log_joint: np.ndarray
    log_loss: float


def rows_of(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cells that depend on the label, and labels of two classes."""
    y = np.arange(N_ROWS) % 2
    shape = N_ROWS, N_COLUMNS
    draws: dict[str, Callable[[], Any]] = {
        "normal": lambda: rng.normal(y[:, None] * 0.5, 1, shape),
        "counts": lambda: rng.poisson(2 + y[:, None], shape),
        "amounts": lambda: rng.exponential(1 + y[:, None], shape),
        "yes/no": lambda: rng.random(shape) < 0.3 + 0.3 * y[:, None],
        "levels": lambda: np.minimum(rng.integers(0, 3, shape) + y[:, None], 2),
    }
    return draws[kind]().astype(float), y


def refits(nb: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Refits:
    """One fit for each row."""
    log_joint = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        fresh = clone(nb).partial_fit(X[others], y[others], np.unique(y), weight[others])
        log_joint.append(fresh.posterior_.log_joint(fresh.model_.encode(X[[i]]))[0])
    table = np.array(log_joint)
    log_p = table - np.logaddexp.reduce(table, 1)[:, None]
    return Refits(table, -float(log_p[np.arange(len(y)), y].mean()))


def row_of_table(nb: Any, kind: str) -> str:
    X, y = rows_of(kind, np.random.default_rng(0))
    ones = np.ones(len(y))
    fitted = clone(nb).fit(X, y)
    expected = refits(nb, X, y, ones)
    kept, refit = fitted.loo(X, y), fitted.loo(X, y, prior="refit")
    weight = 10.0 ** np.random.default_rng(1).uniform(-8, 8, len(y))
    weighted = refits(nb, X, y, weight).log_joint
    loo = clone(nb).fit(X, y, weight).loo(X, y, weight, prior="refit").log_joint
    errors = [
        abs(refit.log_joint - expected.log_joint).max(),
        abs(kept.log_joint - expected.log_joint).max(),
        (abs(loo - weighted) / (1 + abs(weighted))).max(),
    ]
    name = repr(nb) if len(repr(nb)) < 40 else type(nb).__name__
    losses = f"{kept.log_loss:.4f} {expected.log_loss:.4f}"
    return f"{name:34} {errors[0]:9.1e} {errors[1]:9.1e} {losses:>15} {errors[2]:12.1e}"


def of_labels_alone(model: Any) -> str:
    """A model of p(y | x) against fits without each of 20 rows: of its log probabilities."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    X = rng.normal(y[:, None] * 0.5, 1, (150, N_COLUMNS))
    left = rng.choice(150, 20, replace=False)
    expected = []
    for i in left:
        others = np.arange(150) != i
        expected.append(clone(model).fit(X[others], y[others]).predict_log_proba(X[[i]])[0])
    difference = clone(model).fit(X, y).loo(X, y).log_proba[left] - np.array(expected)
    own = difference[np.arange(20), y[left]]
    text = f"largest |log p − refit| {abs(difference).max():.3f} nats, mean of its own label {own.mean():+.4f}"
    return f"{type(model).__name__:34} {text}"


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{N_ROWS} rows, {N_COLUMNS} columns, 2 classes; the last two have 150 rows, 20 of them left out")
    print(f"{'':34} {'refit':>9} {'kept':>9} {'loss':>15} {'any weight':>12}")
    for nb, kind in CASES:
        print(row_of_table(nb, kind), flush=True)
    for model in (DiscriminativeNB(), CalibratedClassifierLOO(GaussianNB())):
        print(of_labels_alone(model), flush=True)


if __name__ == "__main__":
    main()
