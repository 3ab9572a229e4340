"""What a report is about: the model, its rows, and all that was computed of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.comparison import Comparison
from ..choice import PredictorChoice
from ..numerics.weights import RowWeights
from .predictions import Predictions

_FEW_ROWS = 200  # up to which priors and evidence are shown


@dataclass(frozen=True, eq=False)
class Facts:
    """What a page is about.

    Fields
    ------
    nb : the fitted model
    X, y, sample_weight : its training rows
    groups : (n,) labels of groups of rows that are left out together; None if nobody knows them
    positive : label of the positive class
    level : of the intervals
    loo : leave-one-out of all rows
    predictions : those of leave-one-out, with curves and cut-offs
    new_rows : predictions of rows that the model has not seen; None if there are none
    importance : of all columns
    contract : how the columns were used, if somebody knows
    comparison : of the model with others; None if there are none
    row_names : what each row is called
    n_copies : how many rows equal an earlier row
    choice : of the model among plain, calibrated and discriminative; None if nobody chose
    feature_names : (d,) names of the features, if the rows have none
    """

    nb: Any
    X: Any
    y: np.ndarray
    sample_weight: Any
    groups: Any
    positive: Any
    level: float
    loo: Any
    predictions: Predictions
    new_rows: Predictions | None
    importance: pd.DataFrame
    contract: Any
    comparison: Comparison | None
    row_names: list[str]
    n_copies: int
    choice: PredictorChoice | None
    feature_names: Any

    @property
    def other_rows(self) -> str:
        """The rows that a row is predicted from by leave-one-out, in words."""
        return "all other rows" if self.groups is None else "the rows of all other groups"

    @property
    def inside(self) -> Any:
        """The naive Bayes model that reads the rows: inside of a discriminative one, or the model itself."""
        return getattr(self.nb, "reader_", self.nb)

    @property
    def is_calibrated(self) -> bool:
        """Whether calibration maps, `maps_`, change the probabilities of the model inside."""
        return hasattr(self.nb, "maps_")

    @property
    def classes(self) -> list[Any]:
        """The labels."""
        return self.nb.classes_.tolist()

    @property
    def weights(self) -> RowWeights:
        """The weights of the rows, and what they mean."""
        return self.predictions.weights

    @property
    def n(self) -> float:
        """Total weight: the number of rows where weights count rows, else the sum of their importance."""
        return self.predictions.n

    @property
    def n_rows(self) -> int:
        """Number of rows, as often as weights count them; a row whose weight is its importance counts once."""
        return self.predictions.n_rows

    @property
    def has_few_rows(self) -> bool:
        """Whether there are so few rows that the priors matter."""
        return self.n_rows <= _FEW_ROWS

    @property
    def is_right(self) -> np.ndarray:
        """Whether each row gets its own label from all others, (n,)."""
        return self.predictions.is_right

    @property
    def count(self) -> np.ndarray:
        """Rows of each class, (c,), as often as they count; of importance weights their sums."""
        return self.predictions.count

    @property
    def frequencies(self) -> np.ndarray:
        """Shares of the classes that have rows, with the sum 1: what is known of a label without the features."""
        return self.count[self.count > 0] / self.n

    @property
    def frequency_accuracy(self) -> float:
        """Accuracy of the class frequencies alone, which always predict the most frequent class: its share."""
        return float(self.frequencies.max())

    @property
    def frequency_log_loss(self) -> float:
        """Log loss of the class frequencies alone, nats a row: their entropy −Σ_c share_c log share_c."""
        share = self.frequencies
        return float(-(share * np.log(share)).sum())
