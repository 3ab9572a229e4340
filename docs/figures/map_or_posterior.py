"""MAP against the posterior, on 12 penguins and on 342. Second figure of the README.

    python docs/figures/map_or_posterior.py [docs/figures/map_or_posterior.png]

Is it a Gentoo, going by the length of its bill? Blue: the posterior mean of the probability and its 90 % interval, row
by row. Orange: what the joint mode of the parameters alone says.
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import bayesnb

COLUMN = "bill_length_mm"


def main(path: str) -> None:
    """Draw the two panels into a file."""
    penguins = bayesnb.datasets.load("penguins")
    is_measured = penguins.X[COLUMN].notna().to_numpy()
    X, is_gentoo = penguins.X.loc[is_measured, [COLUMN]], penguins.y[is_measured] == "Gentoo"
    shown, pool, _, labels = train_test_split(X, is_gentoo, train_size=60, stratify=is_gentoo, random_state=0)
    few, _, labels_of_few, _ = train_test_split(pool, labels, train_size=12, stratify=labels, random_state=1)

    plt.rcParams["font.size"] = 13
    figure, axes = plt.subplots(1, 2, figsize=(6.6, 4.3), sharey=True, layout="constrained")
    for ax, rows, labels_of_rows in zip(axes, (few, pool), (labels_of_few, labels), strict=True):
        nb = bayesnb.GaussianNB().fit(rows, labels_of_rows)
        bayesnb.plots.map_against_posterior(nb, shown, label=True, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"fitted to {len(rows)} penguins", fontsize=14)
        ax.set_xlabel("60 other penguins")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("probability of a Gentoo")
    axes[1].set_ylabel("")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2, fontsize=12.5
    )
    figure.savefig(path, dpi=160)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default="docs/figures/map_or_posterior.png")
    main(parser.parse_args().path)
