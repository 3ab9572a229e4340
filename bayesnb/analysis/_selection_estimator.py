"""The `CategoricalNB` of forward selection: one that reads the levels of X, and one of the columns chosen."""

import numpy as np

from ..core.arrays import Float
from ..estimators import CategoricalNB
from ..naive_bayes import Statistics
from ..statistics import Counts


def of_counts(
    nb: CategoricalNB, levels: list[np.ndarray], cells: list[np.ndarray], class_count: Float[np.ndarray, " c"]
) -> CategoricalNB:
    """An estimator with these levels of each column, and their counts (c, levels)."""
    nb.categories_, nb.n_categories_ = levels, np.array([len(one) for one in levels])
    blocks = {
        name: Counts(np.stack([cells[j] for j in group], 1), np.zeros((len(class_count), len(group))))
        for name, group in nb.block_columns().items()
    }
    return nb.with_statistics(Statistics(class_count, blocks))


def level_counts(nb: CategoricalNB) -> list[Float[np.ndarray, "c k"]]:
    """Counts of the levels of each column, out of the statistics."""
    places = {j: (name, i) for name, group in nb.block_columns().items() for i, j in enumerate(group.tolist())}
    return [nb.statistics_.blocks[name].n[:, i] for _, (name, i) in sorted(places.items())]
