"""How sure is a probability: the same model on 12 penguins and on 342. Figure of the README.

    python docs/figures/how_sure.py [docs/figures/how_sure.png]

Is it a Gentoo, going by its body mass? Orange, dashed: the estimate plugged in, as scikit-learn has it. Blue:
parameters integrated out, and the 90 % credible interval of the probability. Ticks are the penguins fitted.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb import drop_in

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe & Ito, told apart by the colour-blind


def main(path: str) -> None:
    """Draw the two panels into a file."""
    penguins = bayesnb.datasets.load("penguins")
    weighed = penguins.X["body_mass_g"].notna().to_numpy()
    X, gentoo = penguins.X.loc[weighed, ["body_mass_g"]].to_numpy(), penguins.y[weighed] == "Gentoo"
    few, _, gentoo_of_few, _ = train_test_split(X, gentoo, train_size=12, stratify=gentoo, random_state=1)
    grid = np.linspace(2500, 6500, 401)[:, None]

    plt.rcParams["font.size"] = 13
    figure, axes = plt.subplots(1, 2, figsize=(6.6, 4.3), sharey=True, layout="constrained")
    for ax, rows, labels in zip(axes, (few, X), (gentoo_of_few, gentoo), strict=True):
        nb = bayesnb.GaussianNB().fit(rows, labels)
        low, high = nb.predict_interval(grid, level=0.9)[:, 1].T
        ax.fill_between(grid[:, 0] / 1000, low, high, color=BLUE, alpha=0.25, lw=0, label="90 % credible interval")
        ax.plot(grid / 1000, nb.predict_proba(grid)[:, 1], color=BLUE, lw=2.5, label="parameters integrated out")
        plugged_in = drop_in.GaussianNB().fit(rows, labels).predict_proba(grid)[:, 1]
        ax.plot(grid / 1000, plugged_in, color=ORANGE, lw=2, ls="--", label="estimate plugged in (scikit-learn)")
        ax.plot(rows[:, 0] / 1000, np.where(labels, 1.05, -0.05), "|", color="black", ms=10, alpha=0.6)
        ax.set_title(f"fitted to {len(rows)} penguins", fontsize=14)
        ax.set_xlabel("body mass in kg")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("probability of a Gentoo")
    axes[0].set_yticks([0, 0.25, 0.5, 0.75, 1])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=12.5)
    figure.savefig(path, dpi=160)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default="docs/figures/how_sure.png")
    main(parser.parse_args().path)
