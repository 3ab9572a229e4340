"""How much to smooth, and towards what, learnt from the data: a block of this library inside a larger NumPyro model.

    m_j ~ Uniform(0, 1)                share of mails with word j, to be expected in every folder
    s ~ LogNormal(0, 2)                pseudo-mails behind that expectation: the strength of smoothing
    θ_cj ~ Beta(s m_j, s (1 − m_j))    share of mails of folder c with word j
    x_ij | y_i = c ~ Bernoulli(θ_cj)   whether mail i has word j

Given m and s the block integrates θ out in closed form, so that NUTS sees a parameter a word and one more, whatever the
numbers of mails and folders. Compared is what is foretold of the words of mails held out, given their folder.

Run it with `python examples/hierarchical_smoothing.py`; `--quick` takes fewer words and draws.
"""

import argparse

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_value

import bayesnb
from bayesnb.families import BetaBernoulli
from bayesnb.sums.statistics import one_hot

MAILS = 8  # of each folder


def smoothing(stats):
    """The model above, its θ integrated out."""
    folders, words = stats.n.shape[:2]
    m = numpyro.sample("m", dist.Uniform(0, 1).expand([words]).to_event(1))
    s = numpyro.sample("s", dist.LogNormal(0, 2))
    every = np.ones((folders, 1))
    numpyro.factor("words", BetaBernoulli(every * s * m, every * s * (1 - m)).log_marginal(stats).sum())


def main(words: int, draws: int) -> None:
    """Print what is learnt about the smoothing, and how well it foretells the words of other mails."""
    data = bayesnb.datasets.load_spam()
    folders, y = np.unique(data.folder, return_inverse=True)
    X = (data.X[:, np.argsort(-np.asarray(data.X.sum(0)).ravel())[:words]] > 0).toarray().astype(float)
    order = np.random.default_rng(0).permutation(len(y))
    train = np.concatenate([order[y[order] == c][:MAILS] for c in range(len(folders))])
    test = np.setdiff1d(order, train)

    shape = len(folders), words
    stats = BetaBernoulli(np.ones(shape), np.ones(shape)).suffstats(X[train], one_hot(y[train], len(folders)))
    start = init_to_value(values={"m": (X[train].sum(0) + 1) / (len(train) + 2), "s": 2.0})
    chain = MCMC(NUTS(smoothing, init_strategy=start), num_warmup=draws, num_samples=draws, progress_bar=False)
    chain.run(jax.random.key(0), stats)
    m, s = (np.asarray(chain.get_samples()[name], float) for name in ("m", "s"))
    low, high = np.quantile(s, [0.05, 0.95])
    print(f"{MAILS} mails of each of {len(folders)} folders, {words} words")
    print(f"strength of smoothing {np.median(s):.1f} pseudo-mails, 90 % interval {low:.1f} to {high:.1f}")

    def foretold(block: BetaBernoulli) -> float:
        """Mean log probability of a word's presence or absence in the mails held out."""
        return block.log_predictive(X[test])[np.arange(len(test)), y[test]].mean() / words

    # each draw of m and s is a prior, which meets the mails in closed form
    found = []
    for shares, strength in zip(m[::10], s[::10], strict=True):
        prior = BetaBernoulli(
            np.tile(strength * shares, (shape[0], 1)), np.tile(strength * (1 - shares), (shape[0], 1))
        )
        found.append(foretold(prior.update(stats)))
    print(f"\n{'smoothing':<18}{'log probability of a word':>26}")
    print(f"{'learnt':<18}{np.mean(found):>21.4f} nats")
    for alpha in (0.01, 0.1, 1.0, 10.0):
        prior = BetaBernoulli(np.full(shape, alpha), np.full(shape, alpha))
        print(f"{f'alpha = {alpha:g}':<18}{foretold(prior.update(stats)):>21.4f} nats")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer words and draws")
    quick = parser.parse_args().quick
    main(words=50 if quick else 300, draws=100 if quick else 500)
