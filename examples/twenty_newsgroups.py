"""20 Newsgroups: from which of 20 groups is a posting? Accuracy, log loss, time, and the words that speak for each.

    python examples/twenty_newsgroups.py                    scikit-learn's copy, fetched where there is a network
    python examples/twenty_newsgroups.py --counts X.npz     a local file: scipy.sparse counts, beside it the labels
    python examples/twenty_newsgroups.py --quick            no network: the folders of the spam corpus stand in

A local file `…_X.npz` is what `scipy.sparse.save_npz` writes, training rows first; `…_meta.npz` beside it holds the
arrays y (labels), vocab (words) and n_train (number of training rows).
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import naive_bayes as scikit_learn

import bayesnb


def fetched() -> tuple[Any, ...]:
    """Word counts of scikit-learn's copy: training rows, labels, test rows, labels, words."""
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import CountVectorizer

    train, test = (fetch_20newsgroups(subset=subset) for subset in ("train", "test"))
    counter = CountVectorizer(min_df=2)
    X = counter.fit_transform(train.data)
    names = np.array(train.target_names)
    return X, names[train.target], counter.transform(test.data), names[test.target], counter.get_feature_names_out()


def local(path: Path) -> tuple[Any, ...]:
    """The same from a local file and its companion."""
    X = sparse.load_npz(path).tocsr().astype(float)
    with np.load(path.with_name(path.name.replace("_X.npz", "_meta.npz"))) as meta:
        y, words, n = meta["y"], meta["vocab"], int(meta["n_train"])
    return X[:n], y[:n], X[n:], y[n:], words


def stand_in() -> tuple[Any, ...]:
    """Five folders of e-mails, shuffled and halved."""
    data = bayesnb.datasets.load_spam()
    train, test = np.array_split(np.random.default_rng(0).permutation(len(data.y))[:2000], 2)
    return data.X[train], data.folder[train], data.X[test], data.folder[test], data.vocabulary


def main(corpus: tuple[Any, ...], draws: int) -> None:
    """Print what the posterior of a bag of words predicts, and what it says of the words."""
    X, y, X_test, y_test, words = corpus
    print(f"{X.shape[0]} texts to learn from, {X_test.shape[0]} to predict, {X.shape[1]} words, {len(set(y))} classes")

    nb = bayesnb.MultinomialNB(alpha=0.01)
    start = time.perf_counter()
    nb.fit(X, y)
    print(f"fit {time.perf_counter() - start:.2f} s\n\n{'estimate':<12}{'accuracy':>9}{'log loss':>12}{'predict':>15}")
    truth = np.searchsorted(nb.classes_, y_test)
    accuracy = {}
    for estimate in ("mle", "map", "mean", "predictive"):
        start = time.perf_counter()
        with warnings.catch_warnings():  # a mode with probabilities of zero: what it costs is in the table
            warnings.filterwarnings("ignore", "the posterior mode has parameters on the boundary")
            log_p = nb.set_params(estimate=estimate).predict_log_proba(X_test)
        seconds = time.perf_counter() - start
        accuracy[estimate] = np.mean(log_p.argmax(1) == truth)
        loss = -np.mean(log_p[np.arange(len(truth)), truth])
        print(f"{estimate:<12}{accuracy[estimate]:>9.4f}{loss:>12.3f} nats{seconds:>8.2f} s")

    theirs = scikit_learn.MultinomialNB(alpha=0.01).fit(X, y).score(X_test, y_test)
    print(f"\nscikit-learn's MultinomialNB(alpha=0.01): accuracy {theirs:.4f}, that of estimate='mean'")
    assert theirs == accuracy["mean"]

    print("\nwords that speak most surely for each class: log odds against the mean of all classes, 90 % intervals")
    # a word that a class never used has a log probability without a bound; one pseudo-count keeps intervals in sight
    steady = bayesnb.MultinomialNB(alpha=1).fit(X, y)
    ranking = bayesnb.rank_features(steady, level=0.9, n_draws=draws, seed=0, feature_names=words)
    for label in nb.classes_:
        best = ranking[ranking.class_ == label].nlargest(5, "low")  # by the end of the interval that is nearer to 0
        print(f"  {label:<26}" + ", ".join(f"{w.feature} {w.low:.1f} … {w.high:.1f}" for w in best.itertuples()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, metavar="X.npz", help="local word counts instead of fetching them")
    parser.add_argument("--quick", action="store_true", help="the spam corpus instead, and fewer draws")
    options = parser.parse_args()
    if options.quick:
        main(stand_in(), draws=20)
    else:
        main(local(options.counts) if options.counts else fetched(), draws=100)
