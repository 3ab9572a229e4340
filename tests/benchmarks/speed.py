"""Fitting and predicting against scikit-learn in the same run.

    python -m tests.benchmarks.speed [--scale 1] [--repeats 5] [--only gaussian …] [--counts X.npz] [--json FILE]

Every line is measured in turns (`timing.medians`): seconds of ours and of theirs, and their ratio beside its bar.
With a bar "≥" the ratio is theirs over ours; with "≤" it is ours over another call of ours. `--scale` shrinks the
numbers of rows. `--formulas` does without compiled loops, as where numba does not import. The first line is one read of
X, the floor of any fit. Two groups come on request: `--only newsgroups --counts X.npz`, the file that
examples/twenty_newsgroups.py describes, and `--only river`, in place of scikit-learn.

    python -m tests.benchmarks.speed --table sharp|kernel [--scale 1] [--repeats 3]

A table of its own: one thread, seconds of the processor, and MiB that ours needs above its input.
"""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import sklearn.naive_bayes as theirs
from scipy import sparse
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import bayesnb as ours
from bayesnb.sums import rows as loops

from .arguments import arguments
from .timing import medians

Line = tuple[str, Callable[[], Any], Callable[[], Any] | None, str]  # name, ours, theirs, bar
Record = dict[str, Any]

_FRESH = (
    "import {0} as package; from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True); "
    "package.GaussianNB().fit(X, y).predict(X)"
)


def left_out(nb: Any, X: Any, y: np.ndarray) -> Line:
    """Leave-one-out of the rows fitted, over their prediction."""
    nb.fit(X, y)
    name = "  leave-one-out, over predict_log_proba"
    return name, lambda: nb.loo(X, y).log_proba, lambda: nb.predict_log_proba(X), "≤ 1.3"


def gaussian(scale: float) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n = int(500_000 * scale)
    y = rng.integers(10, size=n)
    X = rng.normal(size=(n, 100)) + 0.1 * y[:, None]
    a, b = ours.GaussianNB(), theirs.GaussianNB()
    size = f"{n:,} × 100, 10 classes"
    yield f"one read of X, {size}", X.sum, None, ""
    yield f"GaussianNB fit, {size}", lambda: a.fit(X, y), lambda: b.fit(X, y), "≥ 15"
    yield "  predict_log_proba, predictive", lambda: a.predict_log_proba(X), lambda: b.predict_log_proba(X), "≥ 16"
    yield left_out(a, X, y)
    a.set_params(estimate="mean")
    yield "  predict_log_proba, plug-in", lambda: a.predict_log_proba(X), lambda: b.predict_log_proba(X), "≥ 30"
    whole = X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    twin = ours.GaussianNB().fit(whole, y)
    yield "  fit, 10 % of the cells missing, over none", lambda: a.fit(X, y), lambda: twin.fit(whole, y), "≤ 1.7"
    for estimate, bar in (("mean", "≤ 1.7"), ("predictive", "≤ 6")):
        a.set_params(estimate=estimate)
        twin.set_params(estimate=estimate)
        name = f"  predict_log_proba, {estimate}, missing, over none"
        yield name, lambda: a.predict_log_proba(X), lambda: twin.predict_log_proba(whole), bar


def bernoulli(scale: float) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n = int(200_000 * scale)
    X, y = (rng.random((n, 500)) < 0.3).astype(float), rng.integers(2, size=n)
    a, b = ours.BernoulliNB(), theirs.BernoulliNB()
    yield f"BernoulliNB fit, {n:,} × 500", lambda: a.fit(X, y), lambda: b.fit(X, y), "≥ 20"
    yield "  predict_log_proba", lambda: a.predict_log_proba(X), lambda: b.predict_log_proba(X), "≥ 12"
    yield left_out(a, X, y)


def categorical(scale: float) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n = int(500_000 * scale)
    X, y = rng.integers(12, size=(n, 50)), rng.integers(10, size=n)
    a, b = ours.CategoricalNB(), theirs.CategoricalNB()
    yield f"CategoricalNB fit, {n:,} × 50, 12 levels", lambda: a.fit(X, y), lambda: b.fit(X, y), "≥ 30"
    yield "  predict_log_proba", lambda: a.predict_log_proba(X), lambda: b.predict_log_proba(X), "≥ 7"
    yield left_out(a, X, y)


def text(scale: float) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n, d, length = int(200_000 * scale), 50_000, 100
    rank = 1 / np.arange(1, d + 1)
    X = counted(rng.choice(d, size=(n, length), p=rank / rank.sum()), d)
    y = rng.integers(20, size=n)
    a, b = ours.MultinomialNB(), theirs.MultinomialNB()
    yield f"MultinomialNB fit, {n:,} × {d:,}, {X.nnz:,} stored", lambda: a.fit(X, y), lambda: b.fit(X, y), "≥ 5"
    mean = ours.MultinomialNB(estimate="mean").fit(X, y)
    yield "  predict_log_proba, plug-in", lambda: mean.predict_log_proba(X), lambda: b.predict_log_proba(X), "≥ 3.5"
    name = "  predict_log_proba, predictive, over the plug-in"
    yield name, lambda: a.predict_log_proba(X), lambda: mean.predict_log_proba(X), "≤ 2.2"
    yield left_out(a, X, y)
    one = X[:1]
    yield "  one row predicted", lambda: a.predict_log_proba(one), lambda: b.predict_log_proba(one), "≥ 1"
    e, f = ours.BernoulliNB().fit(X, y), theirs.BernoulliNB().fit(X, y)
    same = "BernoulliNB predict_log_proba of the same"
    yield same, lambda: e.predict_log_proba(X), lambda: f.predict_log_proba(X), "≥ 1"
    yield "  one row", lambda: e.predict_log_proba(one), lambda: f.predict_log_proba(one), "≥ 1"


def counted(words: np.ndarray, d: int) -> sparse.csr_array:
    """Counts (n, d) of the words (n, length) of each row."""
    n, length = words.shape
    X = sparse.csr_array((np.ones(n * length), (np.repeat(np.arange(n), length), words.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X


def counts(scale: float) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n = int(50_000 * scale)
    X = counted(rng.integers(2000, size=(n, 100)), 2000)
    y = rng.integers(1000, size=n)
    a, b = ours.MultinomialNB(), theirs.MultinomialNB()
    yield f"MultinomialNB fit, {n:,} × 2,000, 1,000 classes", lambda: a.fit(X, y), lambda: b.fit(X, y), "≥ 50"
    n = int(200_000 * scale)
    whole, label = rng.integers(9, size=(n, 50)), rng.integers(10, size=n)
    name = f"MultinomialNB fit, dense int64 {n:,} × 50"
    yield name, lambda: a.fit(whole, label), lambda: b.fit(whole, label), "≥ 25"
    few = counted(rng.integers(1 << 20, size=(100, 100)), 1 << 20)
    two = rng.integers(2, size=100)

    def batches(nb: Any) -> Callable[[], Any]:
        def call() -> Any:
            for _ in range(100):
                nb.partial_fit(few, two, classes=[0, 1])
            return nb.feature_count_ if isinstance(nb, theirs.MultinomialNB) else nb.statistics_

        return call

    name = "MultinomialNB, 100 times partial_fit of 100 rows, 2^20 features"
    yield name, batches(ours.MultinomialNB()), batches(theirs.MultinomialNB()), "≥ 20"


def small(scale: float) -> Iterator[Line]:
    X, y = load_iris(return_X_y=True)
    both = [lambda nb=nb: nb().fit(X, y).predict(X) for nb in (ours.GaussianNB, theirs.GaussianNB)]
    yield "GaussianNB fit + predict, iris, warm", *both, "≥ 0.7"

    both = [lambda name=name: fresh(_FRESH.format(name)) for name in ("bayesnb", "sklearn.naive_bayes")]
    yield "  the same, fresh process", *both, "≥ 1"
    Z, label = stream(500)
    a, b = ours.GaussianNB().fit(Z, label), theirs.GaussianNB().fit(Z, label)
    yield "one row of 9 features predicted", lambda: a.predict_proba(Z[:1]), lambda: b.predict_proba(Z[:1]), "≥ 1"
    yield "  learnt", lambda: a.partial_fit(Z[:1], label[:1]), lambda: b.partial_fit(Z[:1], label[:1]), "≥ 1"
    yield "  predicted and learnt, 500 in turn", lambda: one_by_one(a, Z, label), lambda: one_by_one(b, Z, label), "≥ 1"


def fresh(code: str, **more: str) -> None:
    """Run code in a process of its own; bytecode is kept, as that of installed packages is."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment | more)


def stream(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 9 features that come one at a time, and their labels."""
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, 9)) + y[:, None], y


def one_by_one(nb: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Predict each row, then learn it."""
    for i in range(len(y)):
        nb.predict_proba(X[i : i + 1])
        nb.partial_fit(X[i : i + 1], y[i : i + 1])


def first(scale: float) -> Iterator[Line]:
    """What loops cost before they save anything, each in a fresh process: the loops against the formulas."""
    code = (
        "import numpy as np, bayesnb; from bayesnb.sums import rows as loops; loops.WORTH = {}; "
        f"X = np.random.default_rng(0).normal(size=({int(200_000 * scale)}, 20)); y = np.arange(len(X)) % 3; "
        "bayesnb.GaussianNB().fit(X, y).predict(X)"
    )

    def compiled() -> None:
        with TemporaryDirectory() as folder:
            fresh(code.format(1), NUMBA_CACHE_DIR=folder)

    def formulas() -> None:
        fresh(code.format(1 << 60))

    yield "loops compiled: GaussianNB fit + predict, fresh process, over formulas", compiled, formulas, "≤"
    yield "  fresh process, compiled before", lambda: fresh(code.format(1)), formulas, "≤"


def newsgroups(path: Path) -> Iterator[Line]:
    X, labels = sparse.load_npz(path).tocsr().astype(float), path.with_name(path.name.replace("_X.npz", "_meta.npz"))
    with np.load(labels) as meta:
        y, n = meta["y"], int(meta["n_train"])
    train, test = X[:n], X[n:]
    both = [lambda nb=nb: nb().fit(train, y[:n]).predict(test) for nb in (ours.MultinomialNB, theirs.MultinomialNB)]
    yield f"MultinomialNB fit + predict, 20 Newsgroups, {X.shape[0]:,} × {X.shape[1]:,}", *both, "≥ 1.8"


def river(scale: float) -> Iterator[Line]:
    from river.naive_bayes import GaussianNB

    X, y = stream(500)
    rows, nb, other = [dict(enumerate(row)) for row in X.tolist()], ours.GaussianNB().fit(X, y), GaussianNB()

    def in_turn() -> None:
        for row, label in zip(rows, y.tolist(), strict=True):
            other.predict_proba_one(row)
            other.learn_one(row, label)

    in_turn()
    yield "500 rows of 9 features predicted and learnt in turn, river", lambda: one_by_one(nb, X, y), in_turn, "≥ 0.3"


def sharp(scale: float) -> Iterator[Line]:
    """DiscriminativeNB against boosting, and against logistic regression where rows are few."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegressionCV

    boosting = HistGradientBoostingClassifier()
    logistic = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)
    sizes = [  # rows, columns, classes, distance of the classes, rival, bar
        (1_000, 20, 2, 0.5, logistic, "≤ 2.5"),
        (1_000, 20, 10, 0.5, logistic, "≤ 4"),
        (10_000, 20, 2, 0.5, boosting, "≤ 2"),
        (10_000, 20, 10, 0.5, boosting, "≤ 1"),
        (10_000, 100, 2, 3.0, boosting, "≤ 3"),
        (100_000, 20, 2, 0.5, boosting, "≤ 2"),
        (1_000_000, 20, 2, 0.5, boosting, "≤ 1.5"),
    ]
    ours.DiscriminativeNB().fit(*shifted_classes(300, 20, 2, 0.5))  # loops are compiled, modules loaded
    for n, d, n_classes, distance, rival, bar in sizes:
        X, y = shifted_classes(int(n * scale), d, n_classes, distance)
        name = f"DiscriminativeNB fit, {len(y):,} × {d}, {n_classes} classes, over {type(rival).__name__}"
        nb = ours.DiscriminativeNB()
        yield name, lambda: nb.fit(X, y), lambda: rival.fit(X, y), bar  # noqa: B023  # measured before the next


def shifted_classes(n: int, d: int, n_classes: int, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows; the first six columns have means that differ between classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, d))
    X[:, :6] += distance * rng.normal(size=(n_classes, 6))[y]
    return X, y


def kernel(scale: float) -> Iterator[Line]:
    """KernelNB with a posterior of every bandwidth, against scikit-learn's KernelDensity at one bandwidth."""
    new = shifted_classes(1000, 10, 2, 0.5)[0]
    ours.KernelNB().fit(*shifted_classes(300, 10, 2, 0.5)).predict(new)  # loops are compiled, modules loaded
    for n, bar in ((10_000, "≤ 0.5"), (100_000, "≤ 8 s")):
        X, y = shifted_classes(int(n * scale), 10, 2, 0.5)
        name = f"KernelNB fit + predict 1,000 rows, {len(y):,} × 10, over KernelDensity"
        nb = ours.KernelNB()
        yield name, lambda: nb.fit(X, y).predict(new), lambda: one_bandwidth(X, y, new), bar  # noqa: B023
    X, y = shifted_classes(int(10_000 * scale), 10, 2, 0.5)
    name = f"KernelNB leave-one-out, {len(y):,} × 10"
    nb = ours.KernelNB().fit(X, y)
    yield name, lambda: fresh_posterior(nb).loo(X, y).elpd, None, "≤ 4 s"
    refit = lambda: fresh_posterior(nb).loo(X, y, prior="refit").elpd  # noqa: E731
    yield '  prior="refit", over prior="kept"', refit, lambda: fresh_posterior(nb).loo(X, y).elpd, "≤ 2"


def fresh_posterior(nb: Any) -> Any:
    """The same model, whose posteriors of bandwidths are still to be computed."""
    return nb.model_.with_statistics(nb.statistics_)


def one_bandwidth(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Log densities of new rows (n, c) by scikit-learn's kernel density of each class and column, Silverman's rule."""
    from sklearn.neighbors import KernelDensity

    table = np.zeros((len(new), y.max() + 1))
    for k in range(table.shape[1]):
        for j in range(X.shape[1]):
            density = KernelDensity(bandwidth="silverman").fit(X[y == k, j : j + 1])
            table[:, k] += density.score_samples(new[:, j : j + 1])
    return table


TABLES = {"sharp": sharp, "kernel": kernel}


def measure_one_thread(line: Line, repeats: int) -> Record:
    """A line of a table: medians of the seconds of one thread, in turns, and the memory that ours needs."""
    name, mine, other, bar = line
    calls = [mine] if other is None else [mine, other]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peak = peak_memory(mine)  # which also loads and compiles what the calls need
        seconds = np.median([[processor_seconds(call) for call in calls] for _ in range(repeats)], 0).tolist()
    theirs = seconds[1] if other is not None else None
    ratio = None if theirs is None else seconds[0] / theirs
    return {"work": name, "ours": seconds[0], "theirs": theirs, "ratio": ratio, "bar": bar, "peak_mib": peak}


def processor_seconds(call: Callable[[], Any]) -> float:
    """Time of the processor that a call takes, which other programs change less than time by the clock."""
    start = time.process_time()
    call()
    return time.process_time() - start


def peak_memory(call: Callable[[], Any]) -> float:
    """MiB of memory that a call holds at most, above what there was before."""
    before = resident_mib()
    largest = [before]
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.wait(0.01):
            largest.append(max(largest.pop(), resident_mib()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        call()
    finally:
        has_ended.set()
        watcher.join()
    return largest[0] - before


def resident_mib() -> float:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


DEFAULT = (gaussian, bernoulli, categorical, text, counts, small, first)


def measure(line: Line, repeats: int) -> Record:
    """One line of the table."""
    name, mine, other, bar = line
    a, *others = medians(*filter(None, (mine, other)), repeats=repeats)
    b = others[0] if others else None
    ratio = None if b is None else a / b if bar.startswith("≤") else b / a
    return {"work": name, "ours": a, "theirs": b, "ratio": ratio, "bar": bar}


def show(record: Record) -> str:
    """A line of the table as text."""
    theirs = "" if record["theirs"] is None else f"{record['theirs']:9.4f} {record['ratio']:7.2f}"
    text = f"{record['work']:<72} {record['ours']:9.4f} {theirs:>17} {record['bar']:>6}"
    return f"{text} {record['peak_mib']:6.0f} MiB" if "peak_mib" in record else text


def main() -> None:
    """Measure, print, and write what was measured."""
    work = {group.__name__: group for group in (*DEFAULT, river)}
    only = tuple(group.__name__ for group in DEFAULT)
    given = arguments(__doc__, scale=1.0, repeats=5, only=only, counts=None, formulas=False, json=None, table="")
    if given.formulas:
        loops.WORTH = 1 << 60
    print(f"{'work':<72} {'ours s':>9} {'theirs s':>9} {'ratio':>7} {'bar':>6}", flush=True)
    records = []
    if given.table:
        os.environ["OMP_NUM_THREADS"] = "1"  # of our own threads
        for line in TABLES[given.table](given.scale):
            records.append(measure_one_thread(line, given.repeats))
            print(show(records[-1]), flush=True)
    for name in () if given.table else given.only:
        for line in newsgroups(given.counts) if name == "newsgroups" else work[name](given.scale):
            records.append(measure(line, given.repeats))
            print(show(records[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
