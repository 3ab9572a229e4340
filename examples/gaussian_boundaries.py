"""Boundaries of Gaussian discriminant analysis: a covariance for each class, one for all, and the identity.

Run it with `python examples/gaussian_boundaries.py`: it prints how many rows each calls wrong and draws the three
boundaries, with the boundaries at 30 draws from the posterior behind them, into `gaussian_boundaries.png`. It needs
matplotlib.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.lines import Line2D

from bayesnb import GaussianDA, datasets

matplotlib.use("Agg")


def main(path: Path, points: int) -> None:
    """Fit the three on two measurements of two penguin species and draw them."""
    import matplotlib.pyplot as plt

    penguins = datasets.load("penguins")
    columns = ["bill_length_mm", "bill_depth_mm"]
    use = penguins.X[columns].notna().all(axis=1).to_numpy() & (penguins.y != "Gentoo")
    X, y = penguins.X.loc[use, columns].to_numpy(), penguins.y[use]
    X = (X - X.mean(0)) / X.std(0)  # Σ = I speaks of the units: give both the same

    axes = np.linspace(-3.2, 3.2, points)
    grid = np.stack(np.meshgrid(axes, axes), -1).reshape(-1, 2)
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for covariance, panel in zip(("class", "shared", "identity"), panels, strict=True):
        nb = GaussianDA(covariance=covariance).fit(X, y)
        wrong = int((nb.predict(X) != y).sum())
        print(f"covariance={covariance!r}: {wrong} of {len(y)} wrong, log evidence {nb.log_evidence_:.1f} nats")
        p = nb.predict_proba(grid)[:, 1].reshape(points, points)
        shade = panel.pcolormesh(axes, axes, p, cmap="cividis", vmin=0, vmax=1, alpha=0.6, rasterized=True)
        for draw in nb.sample_proba(grid, n_draws=30, seed=0)[:, :, 1]:
            panel.contour(axes, axes, draw.reshape(points, points), [0.5], colors="white", linewidths=0.5, alpha=0.7)
        panel.contour(axes, axes, p, [0.5], colors="black", linewidths=2)
        for label, marker in zip(nb.classes_, "os", strict=True):
            panel.scatter(*X[y == label].T, s=14, marker=marker, edgecolor="black", linewidth=0.4, label=label)
        panel.set(title=f'covariance="{covariance}": {wrong} wrong', xlabel="bill length, standardised")
    panels[0].set_ylabel("bill depth, standardised")
    panels[0].legend(loc="lower left", framealpha=0.9)
    lines = [
        Line2D([], [], color="black", linewidth=2, label="boundary"),
        Line2D([], [], color="white", linewidth=1, label="boundaries of posterior draws"),
    ]
    panels[1].legend(handles=lines, loc="lower left", facecolor="0.6", framealpha=0.9, fontsize="small")
    figure.colorbar(shade, ax=panels, label=f"p({nb.classes_[1]} | x)")
    figure.savefig(path, dpi=120)
    print(f"drawn into {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gaussian_boundaries.png"), help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="a coarse grid")
    options = parser.parse_args()
    main(options.out, points=40 if options.quick else 240)
