"""How sure `OneDependenceNB` is: class probabilities of draws of a parent and of its parameters."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Scalar
from ..core.random import generator
from ..core.special import log_floor, log_normalize
from ..core.supports import check_level
from ..one_dependence import BLOCK
from ._one_parent import AbstractOneParent
from ._state import reads_one_state

if TYPE_CHECKING:
    from ..sampling.intervals import Uncertainty

_DRAWN = 1 << 22  # probabilities kept at a time for the quantiles of draws


class AbstractParentDraws(AbstractOneParent):
    """Draws of class probabilities, their intervals and entropies."""

    @reads_one_state
    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probabilities p_j(y = c | x_i, θ_j), (s, n, c), over parents j and their parameters.

        A draw is one parent j, with probability v_j, and one θ_j from the posterior of its model. All rows share it,
        but a row whose x_j is missing gets another parent. The mean of the draws is Σ_j v_j E p_j(y | x, θ_j). If each
        draw is weighted by p_j(x | θ_j), the mean is `predict_proba`.
        """
        drawn = (np.exp(np.moveaxis(log_p, -1, 0)) for _, log_p in self._draws(X, n_draws, seed))
        return np.concatenate(list(drawn), 1)

    def _draws(
        self, X: Any, n_draws: int, seed: int | np.random.Generator | None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Log class probabilities (n, c, s) of some rows at a time, the same draws for all."""
        rows, posterior = self._encode(X), self.posterior_
        theta = posterior.sample(generator(seed), (n_draws,))
        step = max(1, _DRAWN // (n_draws * len(self.classes_)))
        for at in range(0, len(rows[BLOCK]), step):
            part = slice(at, min(at + step, len(rows[BLOCK])))
            table = posterior.log_joint({BLOCK: rows[BLOCK][part]}, theta)
            yield part, np.moveaxis(log_normalize(table), 0, -1)

    @reads_one_state
    def predict_interval(
        self,
        X: Any,
        level: Scalar = 0.9,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> np.ndarray:
        """Equal-tailed credible interval of p_j(y = c | x_i, θ_j) over parents j and their parameters, (n, c, 2).

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        method : "auto" and "draws" both use `n_draws` draws of `sample_proba`; "analytic" is not available
        n_draws : number of draws, by default 1,000
        seed : seed of the draws, which all rows share

        Raises
        ------
        ValueError
            if `level`, `method` or `n_draws` is out of range
        """
        n_draws = _checked_draws(method, n_draws)
        check_level(level)
        tails = [(1 - level) / 2, (1 + level) / 2]
        parts = [np.quantile(np.exp(log_p), tails, -1) for _, log_p in self._draws(X, n_draws, seed)]
        return np.moveaxis(np.concatenate(parts, 1), 0, -1)

    @reads_one_state
    def uncertainty(
        self,
        X: Any,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> "Uncertainty":
        """Entropy of the label of each row in nats, split: fields `total`, `aleatoric`, `epistemic`, (n,) each.

        `total` is the entropy of the mean of `sample_proba`. `aleatoric` is the mean of the entropies of the draws.
        `epistemic` is the difference: the mutual information of the label with the parent and its parameters.
        """
        from ..sampling.intervals import Uncertainty

        parts = []
        for _, log_p in self._draws(X, _checked_draws(method, n_draws), seed):
            p = np.exp(log_p)
            mean = p.mean(-1)
            total = -(mean * log_floor(mean)).sum(1)
            epistemic = (p * np.maximum(log_p - log_floor(mean)[..., None], -1e3)).mean(-1).sum(1)
            parts.append((total, np.clip(epistemic, 0, total)))
        total, epistemic = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Uncertainty(total, total - epistemic, epistemic)


def _checked_draws(method: str, n_draws: int | None) -> int:
    if method not in ("auto", "draws"):
        raise ValueError(f"`method` is {method!r}; choose 'draws' or 'auto', which are the same for OneDependenceNB")
    if n_draws is not None and n_draws < 2:
        raise ValueError(f"`n_draws` is {n_draws}; it needs to be at least 2; 1,000 is better")
    return n_draws or 1000
