"""The table of counts of pairs of levels: where each feature's levels stand, and what belongs to a parent."""

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Int, Real, Sparse


class PairTable:
    """Places of the levels 0 … k_j − 1 of each feature along the axes u and v of a table [y, u, v].

    Fields
    ------
    sizes : (d,)   number of levels of each feature
    """

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


def diagonal(table: Array) -> Array:
    """[y, u, u] of each class, (c, k)."""
    return np.diagonal(table, axis1=1, axis2=2)
