"""What follows from log class probabilities, and from draws of them, whatever they come from."""

from typing import Any

import numpy as np
from scipy.special import entr

from ..core.arrays import Scalar
from ..core.supports import check_level
from ..inference.intervals import Uncertainty


class OfLogProba:
    """Prediction of a classifier that has `predict_log_proba` and `sample_proba`."""

    classes_: np.ndarray

    predict_log_proba: Any
    sample_proba: Any

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y = c | x_i), (n, c)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,)."""
        best = self.predict_log_proba(X).argmax(1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> np.ndarray:
        """The log odds of the second of two classes, (n,), or log p(y = c) with more, (n, c); in nats."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict_interval(
        self, X: Any, level: Scalar = 0.9, n_draws: int = 200, seed: int | np.random.Generator | None = 0
    ) -> np.ndarray:
        """Equal-tailed credible interval of the class probability, (n, c, 2), over the draws of `sample_proba`.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        n_draws, seed : number and seed of the draws
        """
        check_level(level)
        draws = self.sample_proba(X, n_draws, seed)
        return np.moveaxis(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0), 0, -1)

    def uncertainty(self, X: Any, n_draws: int = 200, seed: int | np.random.Generator | None = 0) -> Uncertainty:
        """Entropy of the label in nats, split into `total`, `aleatoric` and `epistemic`, over `sample_proba`."""
        p = self.sample_proba(X, n_draws, seed)
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        aleatoric = np.minimum(aleatoric, total)
        return Uncertainty(total, aleatoric, total - aleatoric)
