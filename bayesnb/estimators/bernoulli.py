"""Bernoulli naive Bayes for scikit-learn users."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from ..families.bernoulli import BetaBernoulli
from ..models.naive_bayes import Rows
from ..numerics.supports import as_numbers, shortened
from ..sums.rows import binarize
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliNB(AbstractNB):
    """Naive Bayes for yes/no features: θ_cj ~ Beta(α, α), x_ij | y_i = c ~ Bernoulli(θ_cj).

    Parameters
    ----------
    alpha : float, (d,) or "clop", default 1
        pseudo-counts of a one and of a zero in each class, positive. The default is the uniform prior. Its predictive
        is Laplace's rule of succession (n₁ + 1)/(n + 2). "clop" is Beta(m_j, 1 − m_j), with m_j the share of ones in
        all rows. This is one pseudo-row centred on m_j. The posterior mean is (n f + m)/(n + 1), with f the share of
        ones in the class. Guyon (2005), Naive Bayes algorithms in CLOP
    {force_alpha}
    binarize : float or None, default 0
        the threshold: cells above it count as one. With None the cells are used as they are and must be 0 or 1
    prior : optional
        your own prior of the probability of a one. It may be a NumPyro distribution such as `dist.Beta(2, 8)`, a
        mapping of fields such as `{"a": 2, "b": 8}`, or a family.
        {prior_of_columns}
    {class_parameters}
    {estimate}

    Attributes
    ----------
    {learnt}
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    NaN is a missing cell and is left out. The posterior mean equals add-α smoothing, and so does the predictive of one
    row.

    Examples
    --------
    >>> from bayesnb import BernoulliNB
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"]
    >>> nb = BernoulliNB(alpha=1).fit(X, y)
    >>> nb.predict_proba([[1, 0]]).round(3)
    array([[0.857, 0.143]])
    >>> nb.predict_interval([[1, 0]], level=0.9).round(2)[0]
    array([[0.39, 1.  ],
           [0.  , 0.61]])
    """

    alpha: Any = 1.0
    force_alpha: bool = True
    binarize: float | None = 0.0

    _family = BetaBernoulli
    _variants: ClassVar = {"bernoulli": {"binarize": None}}

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        """Some validated rows as zeros and ones: 1 where a cell is above the threshold `binarize`.

        - binarize=None: the cells as they are, which have to be 0 or 1
        - dense rows: every cell is compared with the threshold; a missing one stays missing
        - sparse rows: the stored cells are compared. An empty cell is 0 and stays empty, so the threshold must be ≥ 0

        Parameters
        ----------
        state : what was learnt of the columns; only their names are used, in messages
        X : array or sparse array
        """
        # no threshold: the cells are checked, and stay
        if self.binarize is None:
            return super()._rows_by_block(state, X)

        threshold = as_numbers("binarize", self.binarize, "a number, or None")
        if threshold.ndim or np.isnan(threshold):
            raise ValueError(f"`binarize` is {shortened(self.binarize)}; it needs a number, or None")

        # dense rows
        if not sparse.issparse(X):
            table, is_finite = binarize(X, self.binarize)  # bytes 0 and 1, and whether all cells of X are finite
            if not is_finite:  # there are infinite cells, which are an error, or missing ones
                self._check_finite(X)
                table = np.where(np.isnan(X), np.nan, table)
            return {BLOCK: table}

        # sparse rows
        self._check_finite(X)
        if self.binarize < 0:
            problem = f"`binarize` is {self.binarize}, which would turn every empty cell of sparse rows into a one"
            raise ValueError(f"{problem}. Pass dense rows.")
        table = sparse.csr_array(X, dtype=float, copy=True)  # a copy, because the user's own rows do not change
        table.data = (X.data > self.binarize).astype(float)  # `data` holds the stored cells, (m,)
        table.eliminate_zeros()  # stored cells that are now 0 become empty
        return {BLOCK: table}

    def _traced_rows_by_block(self, state: State, X: Any) -> Rows:
        """Rows that JAX traces as zeros and ones, NaN where a cell is missing."""
        if self.binarize is None:
            return {BLOCK: X}
        import jax.numpy as jnp

        return {BLOCK: jnp.where(jnp.isnan(X), jnp.nan, X > self.binarize)}

    def _cell_advice(self) -> str:
        return (
            "with binarize=None all cells must be 0 or 1. Set `binarize` to a threshold. With parts='auto' of MixedNB, "
            "list the parts, with another estimator for this column."
        )

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The default prior of each probability of a one: Beta(α, α); with alpha="clop" it is Beta(m, 1 − m).

        m is the share of ones of the column in all rows, whatever their class. The result is the only *block*, the
        prior of all columns, by its name.

        Parameters
        ----------
        state : with classes and columns; its statistics give the share of ones. Without statistics the prior only
            computes them, and any numbers will do
        """
        if isinstance(self.alpha, str):
            if self.alpha != "clop":
                raise ValueError(f"`alpha` is {self.alpha!r}; it needs positive numbers, or 'clop'")
            m = np.broadcast_to(_share_of_ones(state), state.shape)  # (c, d)
            return {BLOCK: BetaBernoulli(m, 1 - m)}
        alpha = self._concentration(state, state.shape)  # the argument `alpha`, checked, (c, d)
        return {BLOCK: BetaBernoulli(alpha, alpha)}

    @property
    def _default_follows_rows(self) -> bool:
        return isinstance(self.alpha, str)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # `binarize` takes any number
        tags.input_tags.positive_only = False
        tags.input_tags.categorical = False
        return tags


def _share_of_ones(state: State) -> np.ndarray:
    """Share m of ones of each column in all rows, (d,), at least ½/(n + 1) away from 0 and 1.

    n is the number of cells of the column. So both pseudo-counts m and 1 − m of the prior are positive, also where a
    column has only zeros or only ones.

    Parameters
    ----------
    state : its statistics are the counts of zeros and of ones; None before there are rows
    """
    if state.statistics is None:
        return np.full(state.columns.n, 0.5)  # a prior that only computes statistics
    counts = state.statistics.blocks[BLOCK].n.sum(0)  # (d, 2), of zeros and of ones in all classes
    zeros = counts[:, 0]
    ones = counts[:, 1]
    smallest_share = 0.5 / (zeros + ones + 1)
    # a column without cells has the smallest share ½. The maximum gives it 0/½ = 0, in place of 0/0, and both limits of
    # `clip` are ½, which is then its share
    share = ones / np.maximum(zeros + ones, smallest_share)
    return np.clip(share, smallest_share, 1 - smallest_share)
