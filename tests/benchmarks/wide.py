"""How long tables with very many columns or classes take.

    python -m tests.benchmarks.wide [--repeats 3] [--scale 1]

A table of 64 rows × 6,831 numbers in 14 classes has the shape of NCI60, the gene expression of 64 tumours. Every tenth
column says something of the class. A table of 87 rows has 37 classes, four numbers and two columns of levels. Each
command runs in a process of its own, which finds nothing compiled. Intervals are those of ten rows of 3,000 classes,
after a first call. Columns of the table: median and range, in seconds of the clock.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import bayesnb

from .arguments import arguments
from .first_check import seconds_of_command
from .pages import markdown
from .timing import in_turns

_N_INTERVALS = 10  # rows


def expression(n_columns: int) -> pd.DataFrame:
    """64 rows of 14 kinds, with numbers of which every tenth is shifted by the kind."""
    rng = np.random.default_rng(0)
    kind = np.sort(np.arange(64) % 14)
    X = rng.normal(size=(64, n_columns))
    X[:, ::10] += rng.normal(size=(14, (n_columns + 9) // 10))[kind]
    table = pd.DataFrame(X.round(4), columns=[f"gene{j}" for j in range(n_columns)])
    table.insert(0, "kind", [f"kind {k}" for k in kind])
    return table


def many_classes() -> pd.DataFrame:
    """87 rows of 37 classes, each with two rows or three."""
    rng = np.random.default_rng(1)
    index = np.arange(87) % 37
    table = {f"number{j}": (rng.normal(size=37)[index] + rng.normal(size=87)).round(3) for j in range(4)}
    levels = {f"level{j}": rng.choice(["low", "middle", "high"], 87) for j in range(2)}
    return pd.DataFrame({**table, **levels, "class": [f"c{k}" for k in index]})


def interval_of_a_row(n_classes: int) -> Callable[[], float]:
    """A call that returns the seconds a row of `predict_interval`, of a model of so many classes."""
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(n_classes), 3)
    X = rng.normal(size=(n_classes, 5))[y] + 0.5 * rng.normal(size=(len(y), 5))
    nb = bayesnb.GaussianNB().fit(X, y)
    new = rng.normal(size=(_N_INTERVALS, 5))
    nb.predict_interval(new[:1])

    def seconds() -> float:
        start = time.perf_counter()
        nb.predict_interval(new)
        return (time.perf_counter() - start) / _N_INTERVALS

    return seconds


def main() -> None:
    settings = arguments(__doc__, repeats=3, scale=1.0)
    n_columns = int(6831 * settings.scale)
    n_classes = int(3000 * settings.scale)
    with tempfile.TemporaryDirectory() as folder:
        wide, many = Path(folder, "wide.csv"), Path(folder, "many.csv")
        expression(n_columns).to_csv(wide, index=False)
        many_classes().to_csv(many, index=False)
        model = Path(folder, "model")
        describe = partial(seconds_of_command, "describe", wide, "--target", "kind")
        fit = partial(seconds_of_command, "fit", wide, "--target", "kind", "--output", model)
        check = partial(seconds_of_command, "check", many, "--target", "class")
        calls = {
            f"`describe`, 64 × {n_columns:,}": describe,
            f"`fit`, 64 × {n_columns:,}": fit,
            "`check`, 87 rows of 37 classes": check,
            f"`predict_interval`, a row, {n_classes:,} classes": interval_of_a_row(n_classes),
        }
        rows = in_turns(calls, settings.repeats)
    print(markdown(["", "median, s", "range"], rows))


if __name__ == "__main__":
    main()
