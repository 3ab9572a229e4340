"""Every plot of `bayesnb.plots` on real data: the pictures of the gallery, one function each.

    python docs/figures/gallery.py [--folder docs/figures/gallery] [--style dark_background] [NAME …]

A picture is an SVG, or a PNG of 256 colours where that would be larger than 200 kB.
"""

import argparse
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb import plots

matplotlib.use("Agg")
_MOST = 200_000  # bytes of an SVG


@cache
def penguins() -> tuple[Any, np.ndarray]:
    """Penguins whose bill and flipper were measured."""
    data = bayesnb.datasets.load("penguins")
    seen = data.X["bill_length_mm"].notna().to_numpy()
    return data.X[seen], data.y[seen]


@cache
def votes() -> tuple[Any, np.ndarray]:
    """Votes as 0, 1 and NaN."""
    data = bayesnb.datasets.load("votes")
    return data.X.replace({"y": "1", "n": "0"}).astype(float), data.y


@cache
def spam() -> tuple[Any, np.ndarray, Any, np.ndarray, np.ndarray]:
    """Word counts of e-mails to fit and to hold out, and the words."""
    data = bayesnb.datasets.load_spam()
    train, test = train_test_split(np.arange(len(data.y)), test_size=0.5, stratify=data.y, random_state=0)
    return data.X[train], data.y[train], data.X[test], data.y[test], data.vocabulary


@cache
def mails() -> Any:
    """A multinomial model of 300 of the e-mails."""
    X, y, *_ = spam()
    return bayesnb.MultinomialNB(estimate="mean").fit(X[:300], y[:300])


def prior_to_posterior(plt: Any) -> Any:
    """The mean bill length of each species of penguin, before and after 30 birds."""
    X, y = penguins()
    few, _, labels, _ = train_test_split(X[["bill_length_mm"]], y, train_size=30, stratify=y, random_state=0)
    return plots.prior_to_posterior(bayesnb.GaussianNB().fit(few, labels), "bill_length_mm", ax=plt.subplots()[1])


def prior_to_posterior_draws(plt: Any) -> Any:
    """The same posterior in closed form, and by NUTS on the NumPyro model."""
    X, y = votes()
    nb = bayesnb.BernoulliNB().fit(X[:60], y[:60])
    draws = nb.sample_posterior(500, method="nuts")
    return plots.prior_to_posterior(nb, "crime", draws=draws, ax=plt.subplots()[1])


def prior(plt: Any) -> Any:
    """The bill lengths that the default prior expects of a species, and those of the birds."""
    X, y = penguins()
    X = X[["bill_length_mm"]]
    return plots.prior(bayesnb.GaussianNB().fit(X, y), "bill_length_mm", X, ax=plt.subplots()[1])


def simplex(plt: Any) -> Any:
    """The islands of Adelie penguins after 2, 20 and 151 birds. The lines hold 50 % and 90 % of the posterior."""
    X, y = penguins()
    seen = X["island"][y == "Adelie"].to_numpy()
    names = np.unique(seen)
    order = np.random.default_rng(0).permutation(len(seen))
    axes = plt.subplots(1, 3, figsize=(10, 3.6))[1]
    for ax, n in zip(axes, (2, 20, len(seen)), strict=True):
        counts = [(seen[order[:n]] == name).sum() for name in names]
        plots.simplex(1 + np.array(counts), names, ax=ax)
        ax.set_title(f"{n} birds")
    return axes


def parameter_intervals(plt: Any) -> Any:
    """How probable some words are in spam and in other mail."""
    words = ["free", "click", "money", "wrote", "linux", "offer", "list", "please", "viagra", "meeting"]
    known = [word for word in words if word in spam()[4].tolist()]
    return plots.parameter_intervals(mails(), known, feature_names=spam()[4], ax=plt.subplots()[1])


def smoothing_path(plt: Any) -> Any:
    """The probability of a rare word, against α."""
    return plots.smoothing_path(mails(), "offer", feature_names=spam()[4], ax=plt.subplots()[1])


def class_probabilities(plt: Any) -> Any:
    """Sixty held-out members of the House, by their probability of being a republican."""
    X, y = votes()
    X = X[["crime", "immigration", "mx_missile"]]
    nb = bayesnb.BernoulliNB().fit(X[:40], y[:40])
    return plots.class_probabilities(nb, X[40:100], y[40:100], label="republican", ax=plt.subplots()[1])


def decision_regions(plt: Any) -> Any:
    """Three species by two measurements, in four models of their covariance. Pale regions are uncertain."""
    X, y = penguins()
    X = X[["bill_length_mm", "bill_depth_mm"]]
    X = ((X - X.mean()) / X.std()).add_suffix(", standardised")
    models = {
        "GaussianNB": bayesnb.GaussianNB(),
        "GaussianDA, identity": bayesnb.GaussianDA(covariance="identity"),
        "GaussianDA, shared": bayesnb.GaussianDA(covariance="shared"),
        "GaussianDA, class": bayesnb.GaussianDA(covariance="class"),
    }
    axes = plt.subplots(2, 2, figsize=(9, 7), sharex=True, sharey=True)[1]
    some = np.random.default_rng(0).permutation(len(y))[:60]
    for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
        plots.decision_regions(model.fit(X.iloc[some], y[some]), X.iloc[some], y[some], ax=ax)
        ax.set_title(name)
        ax.label_outer()
        if ax is not axes[0, 1]:
            ax.get_legend().remove()
    return axes


def reliability(plt: Any) -> Any:
    """Probabilities of a malignant tumour on held-out rows, before and after calibration by leave-one-out."""
    cancer = bayesnb.datasets.load("breast_cancer")
    rows, y = cancer.X.to_numpy(), cancer.y
    nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(rows[::2], y[::2])
    axes = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True)[1]
    for ax, model, title in zip(axes, (nb.estimator_, nb), ("naive Bayes", "calibrated"), strict=True):
        plots.reliability(y[1::2] == "malignant", model.predict_proba(rows[1::2])[:, 1], ax=ax)
        ax.set_title(title, loc="right")  # the left has the legend
    return axes


@cache
def curves_of_tumours() -> Any:
    """Curves of malignant tumours, from ten folds."""
    cancer = bayesnb.datasets.load("breast_cancer")
    return bayesnb.roc_curves(bayesnb.GaussianNB().fit(cancer.X, cancer.y), cancer.X, cancer.y, positive="malignant")


def roc(plt: Any) -> Any:
    """Malignant tumours, ranked by models without their fold."""
    return plots.roc(curves_of_tumours(), ax=plt.subplots(figsize=(4.8, 4.5))[1])


def precision_recall(plt: Any) -> Any:
    """The same rows: of those that are flagged, the share that is malignant."""
    return plots.precision_recall(curves_of_tumours(), ax=plt.subplots(figsize=(4.8, 4.5))[1])


def feature_effect(plt: Any) -> Any:
    """What the worst radius of a nucleus adds to the log odds of a malignant tumour."""
    cancer = bayesnb.datasets.load("breast_cancer")
    nb = bayesnb.GaussianNB().fit(cancer.X, cancer.y)
    ax = plt.subplots(figsize=(6, 4))[1]
    return plots.feature_effect(nb, cancer.X, "worst radius", label="malignant", ax=ax)


def comparison(plt: Any) -> Any:
    """Models of the 30 measurements of the breast cancer data, compared."""
    data = bayesnb.datasets.load("breast_cancer")
    X = data.X
    models = {
        "a variance each": bayesnb.GaussianNB(),
        "pooled variance": bayesnb.GaussianNB(variance="pooled"),
        "a covariance each": bayesnb.GaussianDA(),
        "shared covariance": bayesnb.GaussianDA(covariance="shared"),
    }
    axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)[1]
    return plots.comparison(bayesnb.compare(models, X, data.y), axes=axes)


def map_against_posterior(plt: Any) -> Any:
    """A Gentoo by its body mass, after twelve penguins: the mode of the parameters against all of them."""
    X, y = penguins()
    few, rest, labels, _ = train_test_split(
        X[["body_mass_g"]], y == "Gentoo", train_size=12, stratify=y, random_state=1
    )
    nb = bayesnb.GaussianNB().fit(few, labels)
    ax = plt.subplots()[1]
    return plots.map_against_posterior(nb, rest, label=True, feature="body_mass_g", ax=ax)


def feature_weights(plt: Any) -> Any:
    """The votes that separate the parties best."""
    X, y = votes()
    nb = bayesnb.BernoulliNB().fit(X, y)
    return plots.feature_weights(bayesnb.rank_features(nb), classes=nb.classes_, ax=plt.subplots()[1])


def nomogram(plt: Any) -> Any:
    """The evidence that this bird is a Gentoo and not a Chinstrap."""
    X, y = penguins()
    nb = bayesnb.MixedNB("auto").fit(X[::2], y[::2])
    return plots.nomogram(nb, X.iloc[[201]], ax=plt.subplots()[1])


def nomogram_of_words(plt: Any) -> Any:
    """The evidence of the words of one e-mail."""
    _, _, new, _, words = spam()
    return plots.nomogram(mails(), new[[3]], feature_names=words, ax=plt.subplots()[1])


def pit(plt: Any) -> Any:
    """The closed form compared with NumPyro's sampler, on the penguins. A curve that leaves the band is an error."""
    X, y = penguins()
    return plots.pit(bayesnb.MixedNB("auto").check(X, y), ax=plt.subplots()[1])


def save(name: str, draw: Callable[[Any], Any], folder: Path, style: str) -> Path:
    """One picture, in the style and the format that it needs."""
    import matplotlib.pyplot as plt

    with plt.style.context(style), plt.rc_context({"figure.constrained_layout.use": True, "svg.hashsalt": "bayesnb"}):
        figure = np.ravel(draw(plt))[0].figure
        path = folder / f"{name}.svg"
        figure.savefig(path, dpi=130, metadata={"Date": None})
        if path.stat().st_size > _MOST:
            path.unlink()
            path = path.with_suffix(".png")
            figure.savefig(path, dpi=110)
            Image.open(path).quantize(256).save(path, optimize=True)
        plt.close(figure)
    return path


FIGURES = [
    prior_to_posterior,
    prior_to_posterior_draws,
    prior,
    simplex,
    parameter_intervals,
    smoothing_path,
    class_probabilities,
    map_against_posterior,
    decision_regions,
    reliability,
    roc,
    precision_recall,
    feature_effect,
    comparison,
    feature_weights,
    nomogram,
    nomogram_of_words,
    pit,
]


def main(names: Sequence[str], folder: Path, style: str) -> None:
    """Draw the figures of those names, or all."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in FIGURES:
        if not names or draw.__name__ in names:
            print(f"{save(draw.__name__, draw, folder, style)}: {inspect.getdoc(draw)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--folder", type=Path, default=Path("docs/figures/gallery"))
    parser.add_argument("--style", default="default", help="a Matplotlib style")
    options = parser.parse_args()
    main(options.names, options.folder, options.style)
