"""Five minutes with bayesnb: fit, predict, and ask what only the whole posterior can answer.

Run it with `python examples/quickstart.py`; `--quick` draws less.
"""

import argparse

import numpy as np
from sklearn.model_selection import train_test_split

import bayesnb


def main(draws: int) -> None:
    """Print what each question is answered."""
    data = bayesnb.datasets.load("penguins")
    X = data.X.select_dtypes("number").drop(columns="year")
    X_train, X_test, y_train, y_test = train_test_split(X, data.y, random_state=0, stratify=data.y)

    # the scikit-learn way; missing cells are simply left out
    nb = bayesnb.GaussianNB().fit(X_train, y_train)
    missing = int(X.isna().sum().sum())
    print(f"accuracy {nb.score(X_test, y_test):.3f} on {len(y_test)} penguins, {missing} cells missing in all")

    # one fitted posterior, four ways to predict with it
    for estimate in ("mle", "map", "mean", "predictive"):
        log_p = nb.set_params(estimate=estimate).predict_log_proba(X_test)
        loss = -np.mean([row[list(nb.classes_).index(label)] for row, label in zip(log_p, y_test, strict=True)])
        print(f"  {estimate:<10} log loss {loss:.4f} nats")

    # how sure is the probability itself?
    p = nb.sample_proba(X_test, n_draws=draws, seed=0)
    low, high = np.quantile(p, [0.05, 0.95], axis=0)
    i, c = np.unravel_index(np.argmax(high - low), low.shape)
    print(f"least sure: p({nb.classes_[c]}) of row {i}, 90 % interval {low[i, c]:.2f} to {high[i, c]:.2f}")

    # evidence: is one variance for all species enough?
    pooled = bayesnb.GaussianNB(variance="pooled").fit(X_train, y_train)
    print(f"log evidence {nb.log_evidence_:.1f} with a variance per species, {pooled.log_evidence_:.1f} with one")

    # exact posterior draws, ready for ArviZ
    posterior = nb.sample_posterior(draws=draws, seed=0)["posterior"]
    print("posterior draws:", {name: values.dims for name, values in posterior.data_vars.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    main(draws=50 if parser.parse_args().quick else 1000)
