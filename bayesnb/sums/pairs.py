"""The table of counts of pairs of levels: where each feature's levels stand, what belongs to a parent, and draws of it.

A draw is a key, from which the parameters of one parent are made again wherever they are wanted.
"""

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Bool, Float, Int, Real, Sparse
from ..core.random import log_dirichlet, log_gamma
from .rows import slices

CELLS = 1 << 20  # numbers of a temporary table


class PairTable:
    """Dirichlet densities of all parents, with the levels 0 … k_j − 1 of each feature along u and v of [y, u, v].

    Fields
    ------
    alpha : (c, k, k)   pseudo-counts of the table
    weights : (d,)      of the parents
    sizes : (d,)        number of levels of each feature
    """

    alpha: Float[np.ndarray, "c k k"]
    weights: Float[np.ndarray, " d"]
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> Int[np.ndarray, " m"]:
        """Where the levels of each feature begin, and the number of all levels at the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def levels(self, j: int) -> slice:
        """The places of the levels of a feature."""
        ends = self.offsets
        return slice(int(ends[j]), int(ends[j + 1]))

    def places(self, x: Real[np.ndarray, "n d"]) -> Int[np.ndarray, "n d"]:
        """The place of each cell's level; −1 where it is missing."""
        known = (x >= 0) & (x < np.asarray(self.sizes))
        return np.where(known, np.where(known, x, 0).astype(np.intp) + self.offsets[:-1], -1)

    def indicators(self, x: Real[np.ndarray, "n d"]) -> Sparse:
        """Z: 1 at the place of each cell's level."""
        at = self.places(x)
        known = at >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(1))])
        return sparse.csr_array((np.ones(ends[-1]), at[known], ends), shape=(len(x), int(self.offsets[-1])))

    def sum_over_levels(self, table: Array) -> Array:
        """Sums over the levels of each feature, along the last axis."""
        return np.add.reduceat(table, self.offsets[:-1], axis=-1)

    def groups(self, j: int) -> dict[str, Int[np.ndarray, " m"]]:
        """Children of parent j by block: those with the same number of levels."""
        sizes = np.array(self.sizes)
        sizes[j] = 0
        return {f"levels_{k}": np.flatnonzero(sizes == k) for k in np.unique(sizes[sizes > 0])}

    def children(self, j: int, table: Array) -> dict[str, Array]:
        """The cells of each block of model j, (c·k_j, children, levels)."""
        own, found = self.levels(j), {}
        for name, group in self.groups(j).items():
            k = self.sizes[group[0]]
            columns = self.offsets[group][:, None] + np.arange(k)
            found[name] = table[:, own][:, :, columns].reshape(-1, len(group), k)
        return found

    def _draw(self, at: Int[np.ndarray, "n d"], key: int) -> Float[np.ndarray, "n c"]:
        """log p_j(y, x | θ_j) of rows of places; without x_j they take the parent that the key gives among the others.

        A row without a single cell has the class probabilities of the draw.
        """
        first, there = self._drawn_parent(key), at >= 0
        some, parents = there.any(1), np.where(there[:, first], first, self._parents(key, there))
        table = np.empty((len(at), len(self.alpha)))
        table[~some] = np.logaddexp.reduce(self._drawn_pairs(first, key)[1], 1)
        for j in np.unique(parents[some]):
            own = some & (parents == j)
            table[own] = self._drawn(at[own], int(j), key)
        return table

    def _parents(self, key: int, there: Bool[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """The parent of a draw among the features that each row has; none is impossible, so that one can be chosen."""
        v = np.where(there, np.maximum(self.weights, np.finfo(float).tiny), 0).cumsum(1)
        return (np.random.default_rng(key).random() * v[:, -1:] < v).argmax(1)

    def _drawn_parent(self, key: int) -> int:
        """The parent of a draw."""
        return int(self._parents(key, np.ones((1, len(self.sizes)), bool))[0])

    def _drawn_pairs(self, j: int, key: int) -> tuple[np.random.Generator, Float[np.ndarray, "c kj"]]:
        """log p(y, x_j | θ_j) of a draw, and the generator that goes on with the children."""
        rng, own = np.random.default_rng([key, j]), self.levels(j)
        pairs = log_dirichlet(rng, diagonal(self.alpha[:, own, own]).reshape(-1))
        return rng, pairs.reshape(len(self.alpha), -1)

    def _drawn(self, at: Int[np.ndarray, "n d"], j: int, key: int) -> Float[np.ndarray, "n c"]:
        """log p_j(y, x | θ_j) of rows of places at one draw of θ_j; x_j is there."""
        own, (rng, pairs) = self.levels(j), self._drawn_pairs(j, key)
        alpha = self.alpha[:, own]
        children = log_gamma(rng, alpha)
        sums = np.logaddexp.reduceat(children, self.offsets[:-1], axis=-1)
        children -= np.repeat(sums, self.sizes, axis=-1)
        children[:, :, own] = pairs[..., None]  # of which a row has one
        children = np.concatenate([children, np.zeros_like(children[..., :1])], -1).transpose(1, 2, 0)  # −1: missing
        table = np.empty((len(at), len(self.alpha)))
        for part in slices(len(at), at.shape[1] * len(alpha), CELLS):
            table[part] = children[at[part, j, None] - own.start, at[part]].sum(1)
        return table


def diagonal(table: Array) -> Array:
    """[y, u, u] of each class, (c, k)."""
    return np.diagonal(table, axis1=1, axis2=2)
