"""What any classifier with `loo` gives the maps of `_maps`: its table for each part, lengths of rows, draws."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from ..estimators._base import AbstractNB
from ..naive_bayes import Rows


def encoded(nb: Any, X: Any) -> Rows:
    """Encoded rows by block; of an estimator that is not bayesnb's the rows themselves, as the block "x"."""
    return nb.encode(X) if isinstance(nb, AbstractNB) else {"x": X}


def part_tables(nb: Any, X: Any) -> dict[str, np.ndarray]:
    """log p(x_i in a part | y = c), (n, c), by part."""
    if hasattr(nb, "predict_part_log_likelihood"):
        return nb.predict_part_log_likelihood(X)
    return {"x": nb.predict_joint_log_proba(X) - class_log_prior(nb)}


def class_log_prior(nb: Any) -> np.ndarray:
    """log p(y = c), (c,)."""
    if hasattr(nb, "class_log_prior_"):
        return np.asarray(nb.class_log_prior_)
    return np.log(np.asarray(nb.class_count_) / np.sum(nb.class_count_))


def blocks_of_parts(nb: Any, parts: Iterable[str]) -> dict[str, list[str]]:
    """Names of the blocks of each part."""
    return nb.part_blocks() if isinstance(nb, AbstractNB) else {part: [part] for part in parts}


def log_lengths(nb: Any, rows: Rows, parts: list[str]) -> np.ndarray | None:
    """log(1 + length of a row), (k, n) by part: the sum of counts that share a row, else the observed cells.

    None where the rows of all parts are of one length. `rows` are encoded rows by block, or the only block "x" of an
    estimator that is not bayesnb's.
    """
    if not isinstance(nb, AbstractNB):
        X = rows["x"]
        if sparse.issparse(X):
            return None
        missing = np.asarray(pd.isna(X)).reshape(len(X), -1)
        lengths = np.log1p((~missing).sum(1))
        return np.tile(lengths, (len(parts), 1)) if missing.any() else None
    names = {block: part for part, blocks in blocks_of_parts(nb, parts).items() for block in blocks}
    total = {part: np.zeros(next(iter(rows.values())).shape[0]) for part in parts}
    differs = False
    for block, x in rows.items():
        if nb.posterior_.blocks[block].missing_value == 0:
            length = np.asarray(x.sum(1), float).ravel()
            differs = True
        elif sparse.issparse(x) or nb.posterior_.blocks[block].missing_value is None:
            length = np.full(x.shape[0], float(x.shape[1]))
        else:
            seen = ~np.isnan(x)
            length = seen.sum(1).astype(float)
            differs = differs or not seen.all()
        total[names[block]] += length
    return np.log1p(np.stack([total[name] for name in parts])) if differs else None


def tables_of_draws(
    nb: Any, X: Any, n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
    """Part names, log p(x_i in a part | y = c, θ) (k, c, n) and log π (c,) of each draw of θ."""
    if isinstance(nb, AbstractNB):
        rows = nb.encode(X)
        for at in gen_batches(n_draws, 16):
            size = at.stop - at.start
            theta = nb.posterior_.sample(rng, (size,))
            names = nb.part_blocks()
            log_pi = np.broadcast_to(theta["class"]["log_pi"], (size, len(nb.classes_)))
            if len(names) == 1:
                parts = (nb.posterior_.log_joint(rows, theta) - log_pi[:, None, :])[None]  # (part, draw, row, class)
            else:
                blocks = nb.posterior_.blocks
                each = {name: block.log_likelihood(theta[name], rows[name]) for name, block in blocks.items()}
                parts = np.stack([sum(each[block] for block in part) for part in names.values()])
            for s in range(size):
                yield list(names), parts[:, s].swapaxes(1, 2), log_pi[s]
        return
    log_pi = class_log_prior(nb)
    for p in nb.sample_proba(X, n_draws, rng):
        yield ["x"], (np.log(np.maximum(p, np.finfo(float).tiny)) - log_pi).T[None], log_pi
