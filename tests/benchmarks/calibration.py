"""How far predicted probabilities can be trusted on rows held out, as the training set grows: four estimates compared.

    python -m tests.benchmarks.calibration [--splits 12] [--data wine votes] [--json FILE] [--figure FILE]

The file of records has one value a split; NaN where there is no estimate.

Every split holds one half of the rows out, stratified, and trains on 10, 20, 50, … rows of the other half; the four
estimates predict from the same fit, under default priors. "predictive" is the Bayes predictive p(y | x, data), the
joint averaged over the parameters and then normalised; not the posterior mean of the class probability,
`sample_proba(X).mean(0)`.

Measures, of each split, by `measures`; the tables give the mean over the splits and its standard error. The splits
share rows: it is the error for other splits of this data set, not for other data.

- log loss: −log p(true class) in nats, averaged over the rows, from log probabilities and so without a limit; where
  "map" or "mle" has a zero it is infinite, and a lower bound is computed, zeros being held at the smallest float
- impossible: share of rows whose true class gets less than 1e-300
- clipped: scikit-learn's `log_loss`, p at least 2.2e-16 and so at most 36.04 nats a row: finite, but it flatters
- Brier: Σ_c (p_c − [y = c])², averaged over the rows, between 0 and 2
- ECE: top-label expected calibration error, Σ_b |mean confidence − accuracy| n_b/n over 15 bins of equally many rows
- chance: the ECE of the same confidences if they were calibrated, labels drawn from them; what is above it counts
"""

import itertools
import json
import warnings
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb.datasets import load, load_spam

from . import trust
from .arguments import arguments
from .pages import markdown

ESTIMATES = ("predictive", "mean", "map", "mle")
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)
SHOWN = (10, 50, 200, 2000)  # in the tables
STYLES = (  # the predictive last and thinnest: it lies on the mean where the two are one
    ("mle", "#CC79A7", "v-", 3.0),
    ("map", "#009E73", "^-", 1.0),
    ("mean", "#E69F00", "s-", 3.0),
    ("predictive", "#0072B2", "o-", 1.0),
)

Record = dict[str, Any]


Problem = tuple[str, Any, Any, np.ndarray]  # name, model that is not fitted, rows, labels


def problems(names: Iterable[str]) -> Iterator[Problem]:
    """What is compared, data set by data set; default priors throughout."""
    models = {
        "penguins": [bayesnb.MixedNB("auto")],
        "wine": [bayesnb.GaussianNB(), bayesnb.GaussianDA()],
        "breast_cancer": [bayesnb.GaussianNB(), bayesnb.GaussianDA()],
        "votes": [bayesnb.BernoulliNB()],
        "digits": [bayesnb.GaussianNB(), bayesnb.CategoricalNB(min_categories=17), bayesnb.MultinomialNB()],
        "spam": [bayesnb.BernoulliNB(), bayesnb.MultinomialNB()],
    }
    for name in names or models:
        table: Any = load_spam() if name == "spam" else load(name)
        X = table.X
        if name == "votes":
            X = X.replace({"y": "1", "n": "0"}).astype(float)  # NaN where there was no vote
        yield from ((name, estimator, X, np.asarray(table.y, str)) for estimator in models[name])


def measures(log_p: np.ndarray, truth: np.ndarray, seed: int = 0) -> dict[str, float]:
    """All measures of log class probabilities (n, c) against class indices (n,)."""
    n, c = log_p.shape
    p, loss = np.exp(log_p), -log_p[np.arange(n), truth]
    top, confidence = p.argmax(1), p.max(1)
    return {
        "log loss": float(loss.mean()),
        "impossible": float((loss > -np.log(1e-300)).mean()),
        "clipped": float(log_loss(truth, p, labels=np.arange(c))),
        "Brier": float(np.square(p - np.eye(c)[truth]).sum(1).mean()),
        "ECE": calibration_error(confidence, top == truth),
        "chance": calibration_error(confidence, np.random.default_rng(seed).random(n) < confidence),
        "error": float((top != truth).mean()),
    }


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ_b |Σ_{i∈b} confidence_i − right_i| / n over 15 bins of equally many rows, in the order of their confidence."""
    return float(trust.calibration_error((confidence - right)[np.argsort(confidence, kind="stable")]))


def run(problem: Problem, splits: int, sizes: Iterable[int] = SIZES) -> Iterator[Record]:
    """A record for each size and estimate: data, model, size, estimate, and by measure one value a split.

    The measures are NaN where there is no such estimate, the covariance of fewer rows than features being singular.
    """
    data, estimator, rows, labels = problem
    classes, truth = np.unique(labels, return_inverse=True)
    every = np.arange(len(truth))
    halves = [train_test_split(every, test_size=0.5, stratify=truth, random_state=seed) for seed in range(splits)]
    for size in (size for size in sizes if size + len(classes) <= len(truth) // 2):
        found: dict[str, list[dict[str, float]]] = {estimate: [] for estimate in ESTIMATES}
        for seed, (half, held_out) in enumerate(halves):
            train, _ = train_test_split(half, train_size=size, stratify=truth[half], random_state=seed)
            X, new = (getattr(rows, "iloc", rows)[part] for part in (train, held_out))
            fitted = clone(estimator).partial_fit(X, labels[train], classes)  # a class may have no row
            for estimate in ESTIMATES:
                log_p = predict(fitted.set_params(estimate=estimate), new)
                found[estimate].append({} if log_p is None else measures(log_p, truth[held_out], seed))
        for estimate, values in found.items():
            table = {name: [value.get(name, float("nan")) for value in values] for name in found["predictive"][0]}
            yield {"data": data, "model": type(fitted).__name__, "size": size, "estimate": estimate, **table}


def predict(fitted: Any, X: Any) -> np.ndarray | None:
    """Log class probabilities, or None where the estimate is a singular covariance."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the posterior mode has parameters on the boundary")  # what is measured here
        try:
            return fitted.predict_log_proba(X)
        except ValueError as error:
            if "singular" in str(error):
                return None
            raise


def mean_and_error(values: Any) -> tuple[float, float]:
    """Mean over the splits and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


# --- what is shown --------------------------------------------------------------------------------------------------


def cell(record: Record, measure: str) -> str:
    """Mean ± standard error, or why there is none."""
    mean, error = mean_and_error(record[measure])
    if np.isnan(mean):
        return "none"
    if measure == "log loss" and record["estimate"] in ("map", "mle") and max(record["impossible"]) > 0:
        return f"∞ ({100 * np.mean(record['impossible']):.2g} %)"
    return f"{mean:.3g} ± {plain(error)}" if measure == "log loss" else f"{mean:.3f}"


def plain(error: float) -> str:
    """One digit that counts, without an exponent where it is large."""
    return f"{float(f'{error:.1g}'):g}"


def tables(records: list[Record]) -> str:
    """Two tables in Markdown: log loss with the gain of the predictive, and the measures that are always finite."""
    losses: list[list[str]] = []
    others: list[list[str]] = []
    for (data, model, size), group in itertools.groupby(records, itemgetter("data", "model", "size")):
        if size not in SHOWN:
            continue
        by = {record["estimate"]: record for record in group}
        name = f"{data}, {model}, {size} rows"
        gaps = np.round(np.subtract(by["mean"]["log loss"], by["predictive"]["log loss"]), 9)  # equal up to rounding: 0
        mean, error = mean_and_error(gaps)
        gain = f"{mean + 0:+.2g} ± {plain(error)}".replace("-", "−")
        losses.append([name, *(cell(by[e], "log loss") for e in ESTIMATES), gain])
        rest = [cell(by[estimate], measure) for measure in ("Brier", "ECE") for estimate in ESTIMATES]
        others.append([name, *rest, cell(by["predictive"], "chance")])
    head = ["", *(f"{name} {estimate}" for name in ("Brier", "ECE") for estimate in ESTIMATES), "chance ECE"]
    return f"{markdown(['log loss in nats', *ESTIMATES, 'mean − predictive'], losses)}\n\n{markdown(head, others)}"


def draw(records: list[Record], path: Path) -> None:
    """Clipped log loss against the number of training rows, a panel a model, on logarithmic axes."""
    import matplotlib.pyplot as plt

    groups = [(name, list(group)) for name, group in itertools.groupby(records, itemgetter("data", "model"))]
    shape = {"figsize": (11, 8), "sharex": True, "sharey": True, "squeeze": False, "layout": "constrained"}
    figure, axes = plt.subplots(-(-(len(groups) + 1) // 4), 4, **shape)
    for axis, ((data, model), group) in zip(axes.flat, groups, strict=False):
        for estimate, colour, style, width in STYLES:
            points = [(r["size"], *mean_and_error(r["clipped"])) for r in group if r["estimate"] == estimate]
            size, mean, error = np.array(points).T
            axis.errorbar(size, mean, error, fmt=style, color=colour, label=estimate, markersize=width + 3, lw=width)
        axis.set(xscale="log", yscale="log", xticks=SIZES[::3], yticks=(0.1, 0.3, 1, 3, 10, 30))
        axis.set_title(f"{data}, {model}", fontsize=10)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
        axis.tick_params(labelbottom=True)
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(groups) :]:
        axis.set_axis_off()
    lines, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[len(groups)].legend(lines[::-1], labels[::-1], loc="center", title="estimate")
    figure.supxlabel("training rows")
    figure.supylabel("log loss of the other half of the rows, nats (scikit-learn's: at most 36 a row)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    options = arguments(__doc__, splits=12, sizes=SIZES, data=(), json=None, figure=None)
    records = [record for problem in problems(options.data) for record in run(problem, options.splits, options.sizes)]
    print(tables(records))
    if options.json:
        options.json.write_text(json.dumps(records))
    if options.figure:
        draw(records, options.figure)


if __name__ == "__main__":
    main()
