"""What three priors expect of a penguin's bill before any bird is seen. Figure of the guide "Which prior?".

    python docs/figures/which_prior.py [docs/figures/which_prior.png]

Lines: bill lengths drawn from the prior predictive distribution. Grey: the 342 bills measured.
"""

import argparse

import matplotlib.pyplot as plt

import bayesnb
from bayesnb import plots

PRIORS = {
    "default": None,
    "informed": {"m": 44, "kappa": 1, "a": 4, "b": 75},
    "vague by accident": {"m": 0, "kappa": 0.01, "a": 0.5, "b": 0.5},
}


def main(path: str) -> None:
    """Draw the three panels into a file."""
    penguins = bayesnb.datasets.load("penguins")
    X = penguins.X[["bill_length_mm"]]
    plt.rcParams["font.size"] = 11
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for ax, (name, prior) in zip(axes, PRIORS.items(), strict=True):
        plots.prior(bayesnb.GaussianNB(prior=prior).fit(X, penguins.y), 0, X, ax=ax)
        ax.get_legend().remove()
        ax.set_title(name)
        ax.set_xlabel("bill length in mm")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default="docs/figures/which_prior.png")
    main(parser.parse_args().path)
