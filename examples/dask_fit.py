"""Rows spread over worker processes: statistics are made where the rows are, and only these travel.

Run it with `python examples/dask_fit.py`; `--quick` takes fewer rows. It needs the extra `dask`.
"""

import argparse
import pickle

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import bayesnb


def main(rows: int, chunk: int) -> None:
    """Fit on two worker processes, and compare with the same rows in memory."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        random = da.random.default_rng(0)
        y = random.integers(0, 3, rows, chunks=chunk)
        X = random.normal(size=(rows, 20), chunks=(chunk, -1)) + 0.3 * y[:, None]
        X, y = X.persist(), y.persist()  # they stay with the workers

        nb = bayesnb.DistributedNB(bayesnb.GaussianNB()).fit(X, y)
        print(f"{rows:,} rows in {X.numblocks[0]} chunks, {X.nbytes / 1e6:,.0f} MB with the workers")
        statistics = len(pickle.dumps(nb.estimator_.statistics_))
        sent = X.nbytes / X.numblocks[0]
        print(f"a chunk sends {statistics / 1e3:.1f} kB of statistics in place of {sent / 1e3:,.0f} kB of rows")
        print(f"accuracy: {nb.score(X, y):.3f}")
        loo = nb.estimator_.loo(X.blocks[0].compute(), y.blocks[0].compute())
        print(f"exact leave-one-out of a chunk: elpd {loo.elpd:,.0f} ± {loo.se:,.0f} nats")

        probabilities = nb.predict_proba(X)  # lazy: rows of it are computed where they are asked for
        print(f"first row: {np.round(probabilities[:1].compute()[0], 4)}")
        alone = bayesnb.GaussianNB().fit(X.compute(), y.compute())
        theirs, ours = alone.posterior_.blocks["x"], nb.estimator_.posterior_.blocks["x"]
        print(f"largest relative difference from one process: {np.max(abs(theirs.b / ours.b - 1)):.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    quick = parser.parse_args().quick
    main(rows=20_000 if quick else 500_000, chunk=5_000 if quick else 50_000)
