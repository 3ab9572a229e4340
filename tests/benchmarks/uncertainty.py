"""What exact uncertainty costs: leave-one-out, intervals and posterior draws, as ratios of times taken in one run.

    python -m tests.benchmarks.uncertainty [--repeats 5] [--only draws …] [--json FILE]

Every line measured in turns by `timing.medians`:

- leave-one-out: `loo` over `fit` (bar: at most 3) and over `predict_log_proba`. A fit reads X once. Leave-one-out has
  to evaluate all n·c·d densities, as a prediction does, so what it adds is its ratio to a prediction
- intervals of sparse text: 1,000 draws over "analytic" (bar: at least 100), and how far 90 % endpoints are from those
  of 4,000 draws on average, over 300 rows
- draws: exact draws a second, each of which is independent, over the effective draws a second of NumPyro's NUTS on the
  same model and rows (bar: at least 1,000): all of one chain with its compilation and warm-up, and 1,000 more draws of
  it alone. ArviZ's bulk ESS, the smallest of all parameters
"""

import json
from typing import Any

import jax
import numpy as np
import pandas as pd
from numpyro.infer import MCMC, NUTS
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import bayesnb
from bayesnb import datasets
from bayesnb.posterior.to_arviz import import_arviz

from .arguments import arguments
from .speed import counted
from .timing import medians, seconds

Record = dict[str, Any]


def normal_rows(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows about class means a third of a standard deviation apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(c, size=n)
    return rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(c, d))[y], y


def text_rows(n: int, d: int, c: int, length: int = 100) -> tuple[sparse.csr_array, np.ndarray]:
    """Word counts: a word is one of Zipf's law, or with probability 1/10 shifted to those of the row's class."""
    rng = np.random.default_rng(0)
    y = rng.integers(c, size=n)
    rank = 1 / np.arange(1, d + 1)
    word = rng.choice(d, size=(n, length), p=rank / rank.sum())
    topical = rng.random(word.shape) < 0.1
    return counted(np.where(topical, (word + 97 * (y[:, None] + 1)) % d, word), d), y


def spam() -> tuple[sparse.csr_array, np.ndarray]:
    texts = datasets.load_spam()
    return texts.X.astype(float), texts.y


def leave_one_out(repeats: int) -> list[Record]:
    """`loo` over `fit` and over `predict_log_proba`."""
    normal, cancer, pixels = bayesnb.GaussianNB(), load_breast_cancer(return_X_y=True), load_digits(return_X_y=True)
    words, binary = bayesnb.MultinomialNB(), bayesnb.BernoulliNB()
    models = [normal, bayesnb.GaussianNB(variance="pooled"), bayesnb.GaussianNB(known_variance=1.0)]
    models += [bayesnb.GaussianDA(), bayesnb.GaussianDA(covariance="shared")]
    cases: list[tuple[str, Any, list[Any]]] = [("breast cancer", cancer, [normal, models[1], models[3]])]
    cases.append(("digits", pixels, [normal, bayesnb.BernoulliNB(binarize=7), words]))
    cases.append(("spam", spam(), [words, binary, bayesnb.ComplementNB()]))
    for c in (2, 10):
        X, y = normal_rows(50_000, 30, c)
        counts = np.minimum(np.floor(2 * abs(X)), 4)
        cases += [("50,000 × 30", (X, y), models), ("50,000 × 30, yes/no", ((X > 0).astype(float), y), [binary])]
        cases.append(("50,000 × 30, counts", (counts, y), [bayesnb.CategoricalNB(), bayesnb.PoissonNB(), words]))
    cases.append(("iris", load_iris(return_X_y=True), [bayesnb.KernelNB()]))
    found = []
    for data, (X, y), estimators in cases:
        for nb in estimators:
            nb.fit(X, y)
            calls = (lambda: nb.fit(X, y)), (lambda: nb.predict_log_proba(X)), (lambda: nb.loo(X, y))  # noqa: B023
            fit, predict, loo = medians(*calls, repeats=repeats)
            ratios = {"loo/fit": loo / fit, "loo/predict": loo / predict, "predict/fit": predict / fit}
            found.append({"data": data, "classes": len(nb.classes_), "model": repr(nb), "fit": fit, **ratios})
    return found


def intervals(repeats: int) -> list[Record]:
    """Draws over the analytic form, and the distance of their endpoints."""
    words = bayesnb.MultinomialNB()
    return [
        _interval("spam", words, *spam(), repeats),
        _interval("spam", bayesnb.BernoulliNB(), *spam(), repeats),
        _interval("3,000 × 10,000, 100 words", words, *text_rows(3_000, 10_000, 2), repeats),
        _interval("3,000 × 10,000, 100 words", words, *text_rows(3_000, 10_000, 5), repeats),
    ]


def _interval(data: str, nb: Any, X: sparse.csr_array, y: np.ndarray, repeats: int) -> Record:
    nb.fit(X, y)
    some = X[np.random.default_rng(1).permutation(len(y))[:300]]
    exact = nb.predict_interval(some, method="draws", n_draws=4000, seed=1)
    few = nb.predict_interval(some, method="draws", n_draws=1000, seed=2)
    error, noise = (float(abs(ends - exact).mean()) for ends in (nb.predict_interval(some), few))
    calls = (lambda: nb.predict_interval(X)), (lambda: nb.predict_interval(X, method="draws"))
    calls[0]()
    analytic, draws = medians(*calls, repeats=max(repeats // 2, 2), warm=False)
    alone, fit = medians(calls[0], lambda: nb.fit(X, y), repeats=repeats)
    record = {"data": data, "classes": len(nb.classes_), "model": repr(nb), "analytic": alone}
    record |= {"draws/analytic": draws / analytic, "analytic/fit": alone / fit}
    return record | {"error": error, "error of 1,000 draws": noise}


def draws(repeats: int) -> list[Record]:
    """Effective draws a second, exact over NUTS."""
    flowers, wines = load_iris(return_X_y=True), load_wine(return_X_y=True)
    return [
        _draws("iris", bayesnb.GaussianNB(), *flowers, repeats),
        _draws("iris", bayesnb.BernoulliNB(binarize=3), *flowers, repeats),
        _draws("wine", bayesnb.GaussianNB(), *wines, repeats),
    ]


def _draws(data: str, nb: Any, X: np.ndarray, y: np.ndarray, repeats: int) -> Record:
    nb.fit(X, y)
    rng, size = np.random.default_rng(0), 2000
    exact = size / medians(lambda: nb.posterior_.sample(rng, (size,)), repeats=repeats)[0]
    chain = MCMC(NUTS(nb.numpyro_model), num_warmup=500, num_samples=1000, progress_bar=False)
    with jax.enable_x64(True):
        whole = seconds(lambda: chain.run(jax.random.key(0), X, y))
        effective = least_ess(chain)
        chain.warmup(jax.random.key(1), X, y)
        chain.run(chain.post_warmup_state.rng_key, X, y)
        alone = seconds(lambda: chain.run(chain.post_warmup_state.rng_key, X, y))
    record = {"data": data, "model": repr(nb), "exact draws/s": exact, "NUTS ESS of 1,000": effective}
    return record | {
        "exact/NUTS": exact * whole / effective,
        "sampling alone": exact * alone / least_ess(chain),
    }


def least_ess(chain: MCMC) -> float:
    """ArviZ's bulk ESS of the parameter that has the fewest."""
    arviz = import_arviz()
    draws = {name: np.asarray(values) for name, values in chain.get_samples(group_by_chain=True).items()}
    return float(arviz.ess(arviz.convert_to_dataset(draws)).to_array().min())


def main() -> None:
    parts = {"leave-one-out": leave_one_out, "intervals": intervals, "draws": draws}
    options = arguments(__doc__, repeats=5, only=(*parts,), json=None)
    found = {}
    for title in options.only:
        found[title] = parts[title](options.repeats)
        print(
            f"{title}\n{pd.DataFrame(found[title]).to_string(index=False, float_format='{:.3g}'.format)}\n", flush=True
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, allow_nan=False))


if __name__ == "__main__":
    main()
