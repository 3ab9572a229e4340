"""Which row to label next: by expected information against at random.

Every run starts from one label a class. One learner then asks for the label from which it expects most about its
parameters, the other takes the next row as it comes; both are scored on held-out rows. Run it with
`python examples/active_learning.py`; it needs no network. `--quick` takes fewer runs and labels.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import bayesnb
from bayesnb.analysis.active import most_informative


def learn(X: np.ndarray, y: np.ndarray, labels: int, ask: bool, seed: int) -> list[float]:
    """Accuracy on the held-out half after each label."""
    order = np.random.default_rng(seed).permutation(len(y))
    pool, test = list(order[: len(y) // 2]), order[len(y) // 2 :]
    known = [next(i for i in pool if y[i] == label) for label in np.unique(y)]
    pool = [i for i in pool if i not in known]
    nb = bayesnb.BernoulliNB(binarize=7).fit(X[known], y[known])
    scores = [nb.score(X[test], y[test])]
    while len(scores) <= labels:
        at = most_informative(nb, X[pool[:200]])[0] if ask else 0  # the choice is among the next 200 rows
        row = pool.pop(at)
        nb.partial_fit(X[[row]], y[[row]])
        scores.append(nb.score(X[test], y[test]))
    return scores


def main(runs: int, labels: int) -> None:
    """Print accuracy by number of labels, averaged over the runs."""
    X, y = load_digits(return_X_y=True)
    by = {ask: np.mean([learn(X, y, labels, ask, seed) for seed in range(runs)], axis=0) for ask in (True, False)}
    print(f"digits, accuracy on {len(y) - len(y) // 2} held-out rows, average of {runs} runs\n")
    print(f"{'labels':>6}{'by information':>16}{'at random':>12}")
    for i in range(0, labels + 1, max(1, labels // 8)):
        print(f"{10 + i:>6}{by[True][i]:>16.3f}{by[False][i]:>12.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs and labels")
    quick = parser.parse_args().quick
    main(runs=2 if quick else 10, labels=16 if quick else 80)
