"""What estimators of rates share: a gamma prior, which the rows scale unless its rate is given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.supports import checked_numbers
from ..naive_bayes import Statistics
from ._base import AbstractNB
from ._state import BLOCK


@dataclass(kw_only=True, eq=False, repr=False)
class AbstractRates(AbstractNB):
    """Naive Bayes of cells with a rate, λ_cj ~ Gamma(α, rate β_j). A subclass names its family and its default β."""

    alpha: Any = 1.0
    beta: Any = None
    prior: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    def _scaled(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shape and rate (c, d) of the default prior, from the number and the sum of the cells of each feature."""
        raise NotImplementedError

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        alpha = checked_numbers("alpha", self.alpha, shape)
        if self.beta is not None:
            fields = alpha, checked_numbers("beta", self.beta, shape, self._family.fields_["b"].support)
        elif stats is None:
            fields = alpha, alpha
        else:
            seen = stats.blocks[BLOCK]
            fields = self._scaled(alpha, seen.n.sum(0), seen.total.sum(0))
        return {BLOCK: self._family(*fields)}

    @property
    def _default_follows_rows(self) -> bool:
        return self.beta is None
