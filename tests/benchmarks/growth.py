"""How time grows with rows, columns, classes and stored cells: a log–log figure, one read of X as its floor.

    python -m tests.benchmarks.growth [--scale 1] [--repeats 3] [--json FILE] [--figure FILE]

Every point is the median of `fit` and of `predict_log_proba`, ours and scikit-learn's in turns.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn.naive_bayes as theirs

import bayesnb as ours

from .speed import count_rows
from .timing import medians

Point = dict[str, Any]
SERIES = {"fit": ("#0072b2", "-"), "predict": ("#d55e00", "-"), "read": ("#555555", ":")}


def dense(n: int, d: int, c: int) -> tuple[Any, np.ndarray, Any, Any]:
    """Normal rows."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % c
    return rng.normal(size=(n, d)) + 0.1 * y[:, None], y, ours.GaussianNB(), theirs.GaussianNB()


def counted(n: int, d: int, c: int) -> tuple[Any, np.ndarray, Any, Any]:
    """Rows of a hundred words."""
    X = count_rows(n, d, 100, np.random.default_rng(0))
    return X, np.arange(n) % c, ours.MultinomialNB(), theirs.MultinomialNB()


def sweeps(scale: float) -> Iterator[tuple[str, str, list[int], Callable[[int], tuple[Any, ...]]]]:
    """Title, what varies, its values, and the work at one of them."""

    def rows(*sizes: float) -> list[int]:
        return [max(200, int(size * scale)) for size in sizes]

    many, some = rows(100_000, 20_000)
    yield "GaussianNB, 20 columns, 5 classes", "rows", rows(1e3, 1e4, 1e5, 1e6), lambda n: dense(n, 20, 5)
    yield f"GaussianNB, {some:,} rows, 5 classes", "columns", [10, 100, 1000], lambda d: dense(some, d, 5)
    yield f"GaussianNB, {many:,} rows × 20", "classes", [2, 10, 100], lambda c: dense(many, 20, c)
    stored, words = [100 * n for n in rows(1e3, 1e4, 1e5)], f"MultinomialNB, CSR, {some:,} rows × 2,000 words"
    yield "MultinomialNB, CSR, 20,000 words, 20 classes", "nonzeros", stored, lambda k: counted(k // 100, 20_000, 20)
    yield words, "classes", [2, 10, 100, 1000], lambda c: counted(some, 2000, c)


def measure(work: tuple[Any, ...], repeats: int) -> dict[str, float]:
    """Seconds of one read, and of fitting and predicting on both sides."""
    X, y, a, b = work
    cells = getattr(X, "data", X) if not isinstance(X, np.ndarray) else X
    names = ("read", "fit", "their fit", "predict", "their predict")
    calls: list[Callable[[], Any]] = [cells.sum, lambda: a.fit(X, y), lambda: b.fit(X, y)]
    calls += [lambda: a.predict_log_proba(X), lambda: b.predict_log_proba(X)]
    return dict(zip(names, medians(*calls, repeats=repeats), strict=True))


def draw(found: dict[str, list[Point]], axes: dict[str, str], path: Path) -> None:
    """One panel a sweep, both axes logarithmic; scikit-learn's thin."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for panel, (title, points) in zip(panels.flat, found.items(), strict=False):
        at = [point["at"] for point in points]
        for what, (colour, style) in SERIES.items():
            panel.plot(at, [point[what] for point in points], style, marker="o", ms=4, color=colour, label=what)
            if what != "read":
                times = [point[f"their {what}"] for point in points]
                panel.plot(at, times, "--", lw=0.9, marker="s", ms=2.5, color=colour, label=f"{what}, scikit-learn")
        panel.set(xscale="log", yscale="log", xlabel=axes[title], ylabel="seconds")
        panel.set_title(title, fontsize=9)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    panels.flat[-1].axis("off")
    panels.flat[-1].legend(handles, [label.replace("read", "one read of X") for label in labels], loc="center")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, list[Point]]:
    """Measure, print, draw, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows (default: all)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args(argv)
    found: dict[str, list[Point]] = {}
    axes = {}
    for title, axis, values, work in sweeps(given.scale):
        axes[title] = axis
        found[title] = [{"at": value, **measure(work(value), given.repeats)} for value in values]
        print(f"{title}: {axis}\n{pd.DataFrame(found[title]).to_string(index=False)}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.figure:
        draw(found, axes, given.figure)
    return found


if __name__ == "__main__":
    main()
