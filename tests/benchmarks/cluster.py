"""Seconds of a fit on a local cluster of one, two, … worker processes.

    python -m tests.benchmarks.cluster [--gigabytes 8] [--workers 1 2] [--repeats 5] [--turns 2]

X has so many gigabytes of float64. A turn starts a cluster of each size, which fits so many times.

The rows lie in the memory of the workers, so that what is timed is the statistics and their sum. Runs with different
numbers of workers take turns, for a machine is not equally fast at all times; the median counts.
"""

import statistics
import time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

from bayesnb import DistributedNB, GaussianNB

from .arguments import arguments

FEATURES, CLASSES, ROWS = 100, 10, 50_000  # of a chunk: 40 MB


def chunk(block_info: dict) -> np.ndarray:
    """Rows of one chunk, which nobody has to send."""
    return np.random.default_rng(block_info[None]["chunk-location"][0]).random((ROWS, FEATURES))


def seconds(workers: int, gigabytes: float, repeats: int) -> list[float]:
    """Each fit on a fresh cluster, but for a first one that is not counted."""
    n = max(round(gigabytes * 1e9 / (8 * FEATURES * ROWS)), 1) * ROWS
    settings = {"dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **settings) as cluster, Client(cluster):
        shape = (ROWS,) * (n // ROWS), (FEATURES,)
        X = da.map_blocks(chunk, chunks=shape, dtype=float, meta=np.empty((0, 0))).persist()
        y = da.arange(n, chunks=ROWS).map_blocks(lambda i: i % CLASSES, dtype=int).persist()
        wait([X, y])
        nb, found = DistributedNB(GaussianNB()), []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            nb.fit(X, y, classes=range(CLASSES))
            found.append(time.perf_counter() - start)
    return found[1:]


def main() -> None:
    given = arguments(__doc__, gigabytes=8.0, workers=(1, 2), repeats=5, turns=2)
    times: dict[int, list[float]] = {workers: [] for workers in given.workers}
    for _ in range(given.turns):
        for workers, found in times.items():
            found += seconds(workers, given.gigabytes, given.repeats)
    first = statistics.median(times[given.workers[0]])
    for workers, found in times.items():
        middle = statistics.median(found)
        print(
            f"{workers} workers: median {middle:.2f} s, {min(found):.2f} to {max(found):.2f} s, "
            f"{given.gigabytes / middle:.2f} GB/s, {first / middle:.2f} × the first"
        )


if __name__ == "__main__":
    main()
