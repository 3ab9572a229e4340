"""Spam or ham from word counts: four ways to use one posterior, when to abstain, and the words that speak for each.

Run it with `python examples/spam.py`; it needs no network. `--quick` takes fewer mails and draws.
"""

import argparse
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV

import bayesnb


def main(mails: int | None, draws: int) -> None:
    """Print accuracy and log loss of the four estimates, what abstaining saves, and the words with their intervals."""
    data = bayesnb.datasets.load_spam()
    order = np.random.default_rng(0).permutation(len(data.y))[:mails]  # the archive lies folder by folder
    train, test = np.array_split(order, 2)

    # how much smoothing? the evidence says, without a third set of mails
    evidence = {
        alpha: bayesnb.MultinomialNB(alpha=alpha).fit(data.X[train], data.y[train]).log_evidence_
        for alpha in (0.01, 0.03, 0.1, 0.3, 1.0)
    }
    alpha = max(evidence, key=evidence.get)
    print(f"{len(train)} mails to learn from, {len(test)} to predict; the evidence chooses alpha = {alpha}\n")

    nb = bayesnb.MultinomialNB(alpha=alpha).fit(data.X[train], data.y[train])
    print(f"{'estimate':<12}{'accuracy':>9}{'log loss':>12}")
    truth = np.searchsorted(nb.classes_, data.y[test])
    for estimate in ("mle", "map", "mean", "predictive"):
        with warnings.catch_warnings():  # a mode with probabilities of zero: what it costs is in the table
            warnings.filterwarnings("ignore", "the posterior mode has parameters on the boundary")
            log_p = nb.set_params(estimate=estimate).predict_log_proba(data.X[test])
        right = np.mean(log_p.argmax(1) == truth)
        print(f"{estimate:<12}{right:>9.4f}{-np.mean(log_p[np.arange(len(truth)), truth]):>12.4f} nats")

    # held back, where deciding costs more than asking: a good mail lost is ten times as bad as a spam let through.
    # Words of one mail depend on each other, so p is too sure of itself: it is calibrated before it meets the costs
    calibrated = CalibratedClassifierCV(bayesnb.MultinomialNB(alpha=alpha), method="sigmoid")
    p = calibrated.fit(data.X[train], data.y[train]).predict_proba(data.X[test])
    costs = np.array([[0.0, 10.0], [1.0, 0.0]])  # what is true, ham or spam, by what is decided
    print(f"\n{'cost of asking':<16}{'asked':>7}{'ham lost':>10}{'spam let through':>18}{'cost of a mail':>16}")
    for ask in (None, 0.5, 0.1):
        decided = bayesnb.decide(p, costs, abstain_cost=ask)
        asked = decided == -1
        paid = np.where(asked, ask or 0.0, costs[truth, decided]).mean()
        lost, through = (np.count_nonzero((truth == k) & (decided == 1 - k)) for k in (0, 1))
        print(f"{ask or 'never asked':<16}{asked.sum():>7}{lost:>10}{through:>18}{paid:>16.4f}")

    # a word that one class never used has log odds without a bound; one pseudo-count keeps their intervals in sight
    steady = bayesnb.MultinomialNB(alpha=1).fit(data.X[train], data.y[train])
    words = bayesnb.rank_features(steady, level=0.9, n_draws=draws, seed=0, feature_names=data.vocabulary)
    for label, sure in (("spam", words.low), ("ham", -words.high)):  # by the end of the interval that is nearer to 0
        print(f"\nmost surely {label:<22}{'log odds':>10}   90 % interval")
        for word in words.loc[sure.nlargest(10).index].itertuples():
            print(f"  {word.feature:<32}{word.weight:>10.2f}   {word.low:.2f} … {word.high:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer mails and draws")
    quick = parser.parse_args().quick
    main(mails=1000 if quick else None, draws=50 if quick else 500)
