"""The `CategoricalNB` of forward selection: one that reads the levels of X, and one of the columns chosen."""

from typing import Any

import numpy as np

from ..core.arrays import Float
from ..estimators import CategoricalNB
from ..naive_bayes import Statistics
from ..statistics import Counts


def like(nb: CategoricalNB, selection: Any, columns: Any = slice(None)) -> CategoricalNB:
    """An estimator with the classes of a selection, and the names of the columns given."""
    nb.classes_ = selection.classes_
    nb.n_features_in_ = len(np.arange(selection.n_features_in_)[columns])
    if hasattr(selection, "feature_names_in_"):
        nb.feature_names_in_ = selection.feature_names_in_[columns]
    return nb


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
