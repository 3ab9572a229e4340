"""Does `choose_predictor` take a model that predicts? Noise, the tables of docs/guide/sharper, and intervals.

    python -m tests.benchmarks.auto --noise [--seeds 20]         # tables whose columns say nothing
    python -m tests.benchmarks.auto [--splits 1] [--sizes 50 200 1000] [--csv FILE]     # the development tables
    python -m tests.benchmarks.auto --show                       # the figures of a CSV, without a computation
    python -m tests.benchmarks.auto --intervals [--seeds 6]      # what 90 % intervals of each kind of model hold

A table of noise has 50 to 400 rows and 5 to 60 columns, numbers and levels in turn, and two classes of which one has
30 % of the rows. Its excess is the expected log loss on 1,000 new rows minus that of the class frequencies of the
training rows. The development tables, their splits and cells are those of docs/calibration.md; no table that is kept
aside is read. The simulated truths of `--intervals` are those of `sharper`, with numbers alone.
"""

import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesnb
from bayesnb.tables.names import MODEL_KINDS

from . import sharper, trust
from .arguments import arguments

CSV = trust.DOCS / "data" / "auto.csv.gz"
ROWS = (50, 100, 200, 400)
COLUMNS = (5, 20, 60)
N_NEW = 1_000
SHARE = 0.3  # of the second class of noise
LEVEL = 0.9


# --- noise ----------------------------------------------------------------------------------------------------------


def noise(rng: np.random.Generator, n: int, d: int) -> pd.DataFrame:
    """Numbers and levels in turn that say nothing of a label."""
    columns: dict[str, Any] = {}
    for j in range(d):
        columns[f"x{j}"] = rng.normal(size=n) if j % 2 == 0 else rng.choice(["a", "b", "c"], n)
    return pd.DataFrame(columns)


def excess_of_noise(n: int, d: int, seed: int) -> dict[str, Any]:
    """What is taken of a table of noise, and the excess of each kind over class frequencies on new rows."""
    rng = np.random.default_rng([n, d, seed])
    X = noise(rng, n + N_NEW, d)
    y = (rng.random(n) < SHARE).astype(int)
    choice = bayesnb.choose_predictor(bayesnb.MixedNB(), X[:n], y)
    truth = np.array([1 - SHARE, SHARE])
    frequency_loss = -float(truth @ np.log([1 - y.mean(), y.mean()]))
    excess = {}
    for kind, nb in choice.estimators.items():
        excess[kind] = -float(np.mean(nb.predict_log_proba(X[n:]) @ truth)) - frequency_loss
    return {"rows": n, "columns": d, "seed": seed, "kind": choice.kind, "taken": excess[choice.kind], **excess}


def show_noise(seeds: int) -> None:
    """Mean excess by rows and columns, and over all tables."""
    records = []
    for n, d in itertools.product(ROWS, COLUMNS):
        begun = time.perf_counter()
        records += [excess_of_noise(n, d, seed) for seed in range(seeds)]
        print(f"{n} rows, {d} columns: {time.perf_counter() - begun:.0f} s", flush=True)
    table = pd.DataFrame(records)
    shares = pd.get_dummies(table["kind"]).reindex(columns=MODEL_KINDS, fill_value=0)
    table = table.drop(columns=["kind", "seed"]).join(shares.add_prefix("took "))
    print(table.groupby(["rows", "columns"]).mean().round(3).to_string())
    print(f"all {len(table)} tables:", table["taken"].mean().round(4), "with standard error", end=" ")
    print(np.round(table["taken"].std(ddof=1) / np.sqrt(len(table)), 4), "of what is taken")


# --- development tables -----------------------------------------------------------------------------------------------


def run_table(name: str, splits: int, only: tuple[str, ...], done: set[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Log loss of each kind on the held-out rows, and what is taken, for each cell of a table that is not done."""
    table = trust.load(name)
    records = []
    for seed in range(splits):
        test, pool = trust.split(table.y, seed)
        for size, n in trust.sizes(len(pool)):
            if size not in only or (name, size, seed) in done:
                continue
            train = trust.take_training(table.y, pool, n)
            X, new = (getattr(table.frame, "iloc", table.frame)[part] for part in (train, test))
            choice = bayesnb.choose_predictor(trust.ours(table), X, table.y[train])
            record = {"table": name, "size": size, "n": n, "split": seed, "kind": choice.kind}
            for kind, nb in choice.estimators.items():
                p = np.asarray(nb.predict_proba(new), float)
                record[kind] = trust.measures(p, table.y[test], seed)["log_loss"]
            record["taken"] = record[choice.kind]
            frequency = np.bincount(table.y[train]) / n
            record["frequencies"] = -float(np.log(frequency[table.y[test]]).mean())
            records.append(record)
    return records


def show_tables(records: pd.DataFrame) -> str:
    """What is taken minus each kind always, over tables, and where it is above class frequencies."""
    cells = records.groupby(["table", "size", "n"], sort=False).mean(numeric_only=True)
    lines = []
    for rival in MODEL_KINDS:
        difference = (cells["taken"] - cells[rival]).dropna()
        mean = trust.over_tables(trust.by_table(difference))
        worst = f"{trust.signed(difference.max())} ({difference.idxmax()[0]}, {difference.idxmax()[2]} rows)"
        n_tables = difference.index.get_level_values("table").nunique()
        lines.append(
            f"minus {rival} always: {mean} over {n_tables} tables; worst cell {worst}; {len(difference)} cells"
        )
    above = (cells["taken"] - cells["frequencies"]).nlargest(3)
    named = ", ".join(f"{name} {n} rows ({trust.signed(value)})" for (name, _, n), value in above.items())
    lines.append(f"largest differences to class frequencies: {named}")
    lines.append(f"taken: {records['kind'].value_counts().to_dict()} in {len(records)} cells × splits")
    return "\n".join(lines)


def run_tables(csv: Path, tables: tuple[str, ...], splits: int, only: tuple[str, ...]) -> pd.DataFrame:
    """All cells that the CSV lacks; it is written after each table."""
    records = pd.read_csv(csv, dtype={"size": str}).to_dict("records") if csv.exists() else []
    done = {(record["table"], record["size"], record["split"]) for record in records}
    for name in tables or [name for name in trust.TABLES if name not in trust.KEPT_ASIDE]:
        begun = time.perf_counter()
        records += run_table(name, splits, only, done)
        frame = pd.DataFrame(records).round(5)
        frame.to_csv(csv, index=False, compression={"method": "infer", "mtime": 0})
        print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
    return frame


# --- intervals ------------------------------------------------------------------------------------------------------


def coverage(seeds: int) -> pd.DataFrame:
    """How often a 90 % interval of each kind holds the true probability of a new row, by truth and rows."""
    records = []
    truths = (sharper.noise, sharper.linear, sharper.naive, sharper.curved)
    for truth, n, seed in itertools.product(truths, (100, 400), range(seeds)):
        rng = np.random.default_rng(seed)
        X, p = truth(rng, n + 300)
        y = rng.random(n + 300) < p
        choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), X[:n], y[:n])
        record: dict[str, Any] = {"truth": truth.__name__, "rows": n}
        for kind, nb in choice.estimators.items():
            low, high = np.moveaxis(nb.predict_interval(X[n:], LEVEL)[:, 1], -1, 0)
            record[kind] = float(((low <= p[n:]) & (p[n:] <= high)).mean())
        record["taken"] = record[choice.kind]
        records.append(record)
    return pd.DataFrame(records).groupby(["truth", "rows"], sort=False).mean()


def main() -> None:
    warnings.simplefilter("ignore")
    sizes = ("50", "200", "1000")
    settings: dict[str, Any] = {"seeds": 20, "splits": 1, "tables": (), "sizes": sizes, "csv": CSV}
    options = arguments(__doc__, noise=False, intervals=False, show=False, **settings)
    if options.noise:
        show_noise(options.seeds)
    elif options.intervals:
        print(coverage(options.seeds).round(2).to_string())
    elif options.show:
        print(show_tables(pd.read_csv(options.csv, dtype={"size": str})))
    else:
        print(show_tables(run_tables(options.csv, options.tables, options.splits, options.sizes)))


if __name__ == "__main__":
    main()
