"""From prior to posterior, one picture for each family: the figures of the lectures in docs/theory.

    python docs/figures/prior_to_posterior.py [docs/figures/theory]

Left: the density of one parameter before and after the data of the lecture's worked example, with its mode and mean.
Right: the predictive of one new cell before and after, parameters integrated out. The pictures have no background, and
their ink can be read on white and on black.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from bayesnb import families
from bayesnb.sums.statistics import Sample

BLUE, ORANGE, INK = "#3b8bd0", "#d9701a", "#7b7b7b"
WIDTH = 0.38  # of a bar


class Example(NamedTuple):
    """A prior of one class, rows of one feature (or of one text), and what is drawn of them."""

    prior: Any
    rows: np.ndarray
    site: str
    symbol: str
    span: tuple[float, float]
    cells: np.ndarray  # where the predictive is drawn
    label: str
    names: tuple[str, ...] = ()  # of the bars
    part: tuple[int, ...] = (0, 0)  # which component of the parameter
    mode: Callable[[Any], float] | None = None
    y: tuple[int, ...] = ()  # classes of the rows; class 0 is drawn


def column(*values: float) -> np.ndarray:
    """Cells of one feature."""
    return np.array(values, float)[:, None]


def one(*values: float) -> list[np.ndarray]:
    """Fields of one class and one feature."""
    return [np.full((1, 1), float(value)) for value in values]


COUNTS = np.arange(0.0, 11)[:, None]
REAL = np.linspace(2, 10, 161)[:, None]
LENGTHS = column(5, 6, 7, 8)
PAIRS = np.array([[0.0, 0], [1, 2], [2, 1], [3, 3]])
WORDS = "offer", "meeting", "money"
NIG = families.NormalInverseGamma


def share(fields: Any) -> float:
    """Mode of the first component of a Dirichlet density."""
    alpha = np.asarray(fields.alpha).reshape(-1)
    return float((alpha[0] - 1) / (alpha - 1).sum())


def examples() -> dict[str, Example]:
    """The worked examples of the lectures, by family."""
    positive = np.linspace(0.02, 12, 200)[:, None]
    return {
        "bernoulli": Example(
            families.BetaBernoulli(*one(1, 1)), column(*[1] * 3, *[0] * 7), "theta", "θ, probability of yes", (0, 1),
            column(0, 1), "next row", ("no", "yes"), mode=lambda p: float(((p.a - 1) / (p.a + p.b - 2)).item()),
        ),
        "categorical": Example(
            families.DirichletCategorical(np.ones((1, 1, 3))), column(0, 0, 0, 1, 1, 2, 0), "theta", "θ₀, share of red",
            (0, 1), column(0, 1, 2), "next row", ("red", "green", "blue"), (0, 0, 0), share,
        ),
        "multinomial": Example(
            families.DirichletMultinomial(np.ones((1, 3))), np.array([[3.0, 1, 0], [2, 0, 1]]), "theta",
            "θ₁, share of “offer”", (0, 1), np.array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2]]), "the same word twice", WORDS,
            (0, 0), share,
        ),
        "complement": Example(
            families.DirichletMultinomial(np.ones((1, 3))), np.array([[0.0, 4, 1], [1, 3, 0]]), "theta",
            "θ₁, share of “offer” outside the class", (0, 1), np.eye(3), "next word outside the class", WORDS, (0, 0),
            share,
        ),
        "poisson": Example(
            families.GammaPoisson(*one(2, 1)), column(3, 5, 1, 3), "rate", "λ, expected count", (0, 8), COUNTS,
            "next count", mode=lambda p: float(((p.a - 1) / p.b).item()),
        ),
        "exponential": Example(
            families.GammaExponential(*one(2, 4)), column(1, 3, 2, 6), "rate", "λ, rate", (0, 1.6), positive,
            "next waiting time", mode=lambda p: float(((p.a - 1) / p.b).item()),
        ),
        "geometric": Example(
            families.BetaGeometric(*one(1, 1)), column(0, 2, 1, 5), "theta", "θ, probability of success", (0, 1),
            COUNTS,
            "next number of failures", mode=lambda p: float(((p.a - 1) / (p.a + p.b - 2)).item()),
        ),
        "negative_binomial": Example(
            families.BetaNegativeBinomial(*one(2, 2), 3.0), column(2, 0, 7, 3), "theta",
            "θ, probability of the counted event", (0, 1), COUNTS, "next count",
            mode=lambda p: float(((p.a - 1) / (p.a + p.b - 2)).item()),
        ),
        "gaussian": Example(NIG(*one(5, 1, 2, 2)), LENGTHS, "mu", "μ, mean", (2, 10), REAL, "next value"),
        "pooled_gaussian": Example(
            families.PooledNormalInverseGamma(*(np.full((2, 1), v) for v in (5.0, 1.0)), *(np.full(1, 2.0),) * 2),
            column(5, 7, 1, 3), "variance", "σ², the variance in both classes", (0, 6),
            np.linspace(-1, 11, 161)[:, None], "next value of the first class", part=(0,), y=(0, 0, 1, 1),
        ),
        "known_gaussian": Example(
            families.KnownVarianceNormal(*one(5, 1, 1, 0)), LENGTHS, "mu", "μ, mean", (2, 10), REAL, "next value"
        ),
        "log_normal": Example(
            families.LogNormal(*one(1, 1, 2, 1)), np.exp(column(1, 1.5, 2, 1.5)), "mu", "μ, mean of log x", (-1, 3.5),
            positive, "next amount",
        ),
        "kernel_density": Example(
            families.KernelDensity(np.zeros((1, 1)), Sample.none(1, 1), *one(-1.6, 1.6)),
            column(1, 1.4, 2, 5, 5.5, 6.2), "bandwidth", "h, bandwidth", (0, 4), np.linspace(-2, 9, 161)[:, None],
            "next value",
        ),
        "full_gaussian": Example(
            families.NormalInverseWishart(np.array([[0.0, 0]]), np.ones(1), np.full(1, 4.0), np.eye(2)[None]), PAIRS,
            "mu", "μ₁, mean of the first feature", (-3, 5), np.empty(0), "", part=(0, 0),
        ),
        "tied_gaussian": Example(
            families.TiedNormalInverseWishart(np.zeros((2, 2)), np.ones(2), np.full(1, 4.0), np.eye(2)),
            np.array([[0.0, 0], [2, 2], [-1, 1], [1, 3]]), "mu", "μ₁, mean of the first feature in the first class",
            (-3, 5), np.empty(0), "", y=(0, 0, 1, 1),
        ),
        "classes": Example(
            families.DirichletCategorical(np.ones((1, 1, 2))), column(0, 0, 0, 1, 0, 0, 1, 0), "theta",
            "π, probability of the first class", (0, 1), column(0, 1), "label of the next row", ("first", "second"),
            (0, 0, 0), share,
        ),
    }  # fmt: skip


def density(ax: Any, before: Any, after: Any, example: Example) -> None:
    """One parameter before and after the data."""
    grid = np.linspace(*example.span, 402)[1:-1]
    for family, style in ((before, {"color": INK, "ls": "--", "lw": 1.5}), (after, {"color": BLUE, "lw": 2.2})):
        found = family.marginals()[example.site]
        shape = found.mean().shape
        pdf = np.array([np.broadcast_to(found.pdf(t), shape)[example.part] for t in grid])
        ax.plot(grid, pdf, **style, label="prior" if family is before else "posterior")
    mean = float(np.asarray(found.mean())[example.part])
    ax.axvline(mean, color=BLUE, lw=1, ls=":", label="posterior mean")
    if example.mode is not None:
        ax.axvline(example.mode(after), color=ORANGE, lw=1, ls="-.", label="joint mode")
    ax.set(xlabel=example.symbol, ylabel="density", xlim=example.span, ylim=(0, None))


def predictive(ax: Any, before: Any, after: Any, example: Example) -> None:
    """One new cell before and after the data."""
    if example.site == "bandwidth":  # without cells there is no density
        before = after
    old, new = (np.exp(family.log_predictive(example.cells)[:, 0]) for family in (before, after))
    discrete = bool(example.names) or len(example.cells) < 20
    if discrete:
        at = np.arange(len(old))
        ax.bar(at - WIDTH / 2, old, WIDTH, facecolor="none", edgecolor=INK, ls="--", label="prior predictive")
        ax.bar(at + WIDTH / 2, new, WIDTH, color=ORANGE, label="posterior predictive")
        ax.set_xticks(at, example.names or [f"{x:g}" for x in example.cells[:, 0]])
    else:
        if before is not after:
            ax.plot(example.cells[:, 0], old, color=INK, ls="--", lw=1.5, label="prior predictive")
        ax.plot(example.cells[:, 0], new, color=ORANGE, lw=2.2, label="posterior predictive")
    if not example.names:
        if not discrete:
            values = np.unique(example.rows[: len(example.rows) - sum(example.y)])
            ax.plot(values, np.zeros_like(values), "|", color=BLUE, ms=14, mew=2, label="data", clip_on=False)
    ax.set(xlabel=example.label, ylabel="probability" if discrete else "density", ylim=(0, None))


def plane(ax: Any, before: Any, after: Any, example: Example) -> None:
    """Two features: lines of equal predictive density, and the rows."""
    side = np.linspace(-4, 6, 90)
    xs, ys = np.meshgrid(side, side)
    for family, color, style in ((before, INK, "dashed"), (after, ORANGE, "solid")):
        z = np.exp(family.log_predictive(np.stack([xs.ravel(), ys.ravel()], -1))[:, 0]).reshape(xs.shape)
        ax.contour(xs, ys, z, levels=np.array([0.1, 0.5]) * z.max(), colors=color, linestyles=style)
    own = example.rows[: len(example.rows) - sum(example.y)]
    ax.plot(*own.T, "o", color=BLUE, label="data")
    ax.plot([], [], color=INK, ls="--", label="prior predictive")
    ax.plot([], [], color=ORANGE, label="posterior predictive")
    ax.set(xlabel="first feature", ylabel="second feature", aspect="equal")


def draw(example: Example, path: Path) -> None:
    """One picture into a file."""
    r = np.eye(2)[list(example.y)] if example.y else np.ones((len(example.rows), 1))
    after = example.prior.update(example.prior.suffstats(example.rows, r))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5), layout="constrained")
    density(left, example.prior, after, example)
    (predictive if example.cells.size else plane)(right, example.prior, after, example)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8.5, labelcolor=INK, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def main(folder: Path) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    ink = dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK)
    with plt.rc_context({**ink, "font.size": 10, "svg.hashsalt": "bayesnb", "svg.fonttype": "none"}):
        for stem, example in examples().items():
            draw(example, folder / f"{stem}.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/figures/theory"))
    main(parser.parse_args().folder)
