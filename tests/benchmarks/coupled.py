"""Intervals of classes that share a variance or a covariance, by number of rows and of classes.

    python -m tests.benchmarks.coupled [--draws 40000]

Prints how far 90 % endpoints of `method="analytic"` and of `method="draws"` (1,000 draws) are from those of many exact
draws: the mean over rows, classes and both ends, and the largest. Each line has data of its own. The classes are of
unequal size; every class has at least one row.
"""

import numpy as np

from bayesnb import GaussianDA, GaussianNB

from .arguments import arguments

ROWS, CLASSES = (5, 12, 30, 60, 150), (3, 4, 6)
MODELS = {
    "pooled variance": lambda: GaussianNB(variance="pooled"),
    "shared covariance": lambda: GaussianDA(covariance="shared"),
}


def data(n: int, c: int, seed: int, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and labels to fit, one row at least of each class, and 40 rows to predict."""
    rng = np.random.default_rng([seed, n, c])
    share = 0.6 ** np.arange(c)
    y = np.concatenate([np.arange(c), rng.choice(c, max(n - c, 0), p=share / share.sum())])
    means, mix = rng.normal(0, 1.5, (c, d)), rng.normal(0, 0.4, (d, d)) + np.eye(d)
    new = rng.choice(c, 40)
    return means[y] + rng.normal(size=(len(y), d)) @ mix, y, means[new] + rng.normal(size=(40, d)) @ mix


def errors(model: str, n: int, c: int, draws: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Mean and largest distance of endpoints from those of exact draws, by method."""
    X, y, new = data(n, c, seed)
    nb = MODELS[model]().fit(X, y)
    exact = np.moveaxis(np.quantile(nb.sample_proba(new, draws, seed=1), [0.05, 0.95], axis=0), 0, -1)
    found = {method: abs(nb.predict_interval(new, 0.9, method) - exact) for method in ("analytic", "draws")}
    return {method: (float(gap.mean()), float(gap.max())) for method, gap in found.items()}


def main(draws: int) -> None:
    """Print the table."""
    print("| model | rows | classes | analytic, mean | largest | 1,000 draws, mean | largest |")
    print("|---|---|---|---|---|---|---|")
    for model in MODELS:
        for n in ROWS:
            for c in CLASSES:
                if c <= n:
                    (mean, most), (by_draws, most_by_draws) = errors(model, n, c, draws).values()
                    print(f"| {model} | {n} | {c} | {mean:.4f} | {most:.3f} | {by_draws:.4f} | {most_by_draws:.3f} |")


if __name__ == "__main__":
    main(arguments(__doc__, draws=40_000).draws)
