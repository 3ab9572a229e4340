"""Draws of the parameters of one parent, made again from a key wherever they are wanted."""

import numpy as np

from ..core.arrays import Float, Int
from ..core.random import log_dirichlet, log_gamma
from .pair_table import PairTable, diagonal
from .rows import slices

CELLS = 1 << 20  # numbers of a temporary table


class DrawnPairs(PairTable):
    """The Dirichlet densities of all parents, and draws from those of one.

    Fields
    ------
    alpha : (c, k, k)   pseudo-counts of the table
    weights : (d,)      of the parents
    """

    alpha: Float[np.ndarray, "c k k"]
    weights: Float[np.ndarray, " d"]

    def _draw(self, at: Int[np.ndarray, "n d"], key: int) -> Float[np.ndarray, "n c"]:
        """log p_j(y, x | θ_j) of rows of places; without x_j they take the parent that the key gives among the others.

        A row without a single cell has the class probabilities of the draw.
        """
        first = self._drawn_parent(key)
        there = at >= 0
        some, parents = there.any(1), np.full(len(at), first)
        lost = some & ~there[:, first]
        if lost.any():
            v = np.where(there[lost], self._floored, 0).cumsum(1)
            parents[lost] = (np.random.default_rng(key).random() * v[:, -1:] < v).argmax(1)
        table = np.empty((len(at), len(self.alpha)))
        if not some.all():
            table[~some] = np.logaddexp.reduce(self._drawn_pairs(first, key)[1], 1)
        for j in np.unique(parents[some]):
            own = some & (parents == j)
            table[own] = self._drawn(at[own], int(j), key)
        return table

    @property
    def _floored(self) -> Float[np.ndarray, " d"]:
        """v, no weight of which is zero: of the parents that a row has, one is always possible."""
        return np.maximum(self.weights, np.finfo(float).tiny)

    def _drawn_parent(self, key: int) -> int:
        """The parent of a draw."""
        v = self._floored.cumsum()
        return int((np.random.default_rng(key).random() * v[-1] < v).argmax())

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
