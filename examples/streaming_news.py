"""Learn while reading: texts come in batches, each is predicted before it is learnt, and a window forgets old ones.

The stream is the corpus of e-mails in the order of its folders, so that what is usual changes on the way. One model
keeps everything; the other forgets the texts that have left its window, exactly, as if they had never been there.

    python examples/streaming_news.py                  e-mails; no network
    python examples/streaming_news.py --counts X.npz   word counts as for examples/twenty_newsgroups.py
"""

import argparse
from collections import deque
from pathlib import Path

import numpy as np
from scipy import sparse

import bayesnb

BATCH = 250  # texts


def stream(counts: Path | None):
    """Word counts and labels, in the order in which they come."""
    if counts is None:
        data = bayesnb.datasets.load_spam()
        drift = np.random.default_rng(0).normal(0, 0.15, len(data.y)) + np.linspace(0, 1, len(data.y))
        order = np.argsort(drift)  # the order of the archive, stirred
        return data.X[order], data.y[order]
    with np.load(counts.with_name(counts.name.replace("_X.npz", "_meta.npz"))) as meta:
        return sparse.load_npz(counts).tocsr().astype(float), meta["y"]


def main(counts: Path | None, window: int) -> None:
    """Print the accuracy on every tenth of the stream, before it was learnt."""
    X, y = stream(counts)
    classes = np.unique(y)
    keeps, forgets = bayesnb.MultinomialNB(alpha=0.1), bayesnb.MultinomialNB(alpha=0.1)
    held: deque[slice] = deque()
    right = {"keeps all": [], f"last {window} batches": []}
    for at in range(0, len(y), BATCH):
        batch = slice(at, at + BATCH)
        for model, found in zip((keeps, forgets), right.values(), strict=True):
            if at:
                found.extend(model.predict(X[batch]) == y[batch])
            model.partial_fit(X[batch], y[batch], classes=classes)
        held.append(batch)
        if len(held) > window:
            old = held.popleft()
            forgets.forget(X[old], y[old])
    print(f"{len(y)} texts in batches of {BATCH}: accuracy on texts not yet learnt, by tenths of the stream")
    for name, found in right.items():
        tenths = " ".join(f"{np.mean(part):.2f}" for part in np.array_split(found, 10))
        print(f"  {name:<16}{tenths}   all {np.mean(found):.3f}")

    # what is forgotten is gone: the window's model is the one fitted to the window alone
    last = slice(held[0].start, len(y))
    fresh = bayesnb.MultinomialNB(alpha=0.1).partial_fit(X[last], y[last], classes=classes)
    difference = abs(fresh.predict_proba(X[last]) - forgets.predict_proba(X[last])).max()
    print(f"largest difference from a model fitted to the last {window} batches alone: {difference:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, help="word counts of your own")
    parser.add_argument("--window", type=int, default=6, help="batches that are remembered")
    given = parser.parse_args()
    main(given.counts, given.window)
