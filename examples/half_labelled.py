"""What rows without a label teach: accuracy and log loss by their weight λ, on irises, digits and e-mails.

A few rows keep their label, all others lose it. λ = 0 is a fit to the labelled rows alone, λ = 1 counts the others as
much. Both scores are of held-out rows. Rows without a label help where labels are few and the model is about right
(irises), and do harm where it is wrong (e-mails, whose words do not come independently): try λ on held-out labels. Run
it with `python examples/half_labelled.py`; it needs no network. `--quick` takes fewer runs.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss

import bayesnb

WEIGHTS = (0, 0.1, 1)


def data() -> Iterator[tuple[str, Any, Any, np.ndarray]]:
    """Name, estimator, rows and labels."""
    yield "irises, GaussianNB", bayesnb.GaussianNB(), *load_iris(return_X_y=True)
    yield "digits, MultinomialNB", bayesnb.MultinomialNB(), *load_digits(return_X_y=True)
    mails = bayesnb.datasets.load_spam()
    yield "e-mails, MultinomialNB", bayesnb.MultinomialNB(), mails.X.astype(float), mails.y


def scores(estimator: Any, X: Any, y: np.ndarray, labelled: int, seed: int) -> np.ndarray:
    """Accuracy and log loss (nats) of the held-out third of at most 1,500 rows, for each weight: (3, 2)."""
    order = np.random.default_rng(seed).permutation(len(y))[:1500]
    train, test = np.split(order, [2 * len(order) // 3])
    known = np.concatenate([np.flatnonzero(y[train] == label)[:labelled] for label in np.unique(y)])
    half = np.full(len(train), None)
    half[known] = y[train][known]
    found = []
    for weight in WEIGHTS:
        both = bayesnb.HalfLabelledClassifier(estimator, unlabelled_weight=weight, tol=1e-4).fit(X[train], half)
        p = both.predict_proba(X[test])
        found.append((both.score(X[test], y[test]), log_loss(y[test], p, labels=both.classes_)))
    return np.array(found)


def main(runs: int, counts: tuple[int, ...]) -> None:
    """Print the averages over the runs."""
    print(f"accuracy and log loss (nats) of held-out rows, average of {runs} runs\n")
    print(f"{'':>24}{'labels a class':>16}" + "".join(f"{f'λ = {weight}':>18}" for weight in WEIGHTS))
    for name, estimator, X, y in data():
        for labelled in counts:
            table = np.mean([scores(estimator, X, y, labelled, seed) for seed in range(runs)], axis=0)
            print(f"{name:>24}{labelled:>16}" + "".join(f"{right:>12.3f}{loss:>6.2f}" for right, loss in table))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    main(*((1, (3,)) if parser.parse_args().quick else (4, (3, 20))))
