"""Types of pandas and scikit-learn that model files can hold: levels, labels and columns of a data frame."""

import pandas as pd
from sklearn.compose import make_column_selector

from ..core.registry import CODECS

CODECS |= {
    "columns": (
        make_column_selector,
        lambda one: [one.pattern, one.dtype_include, one.dtype_exclude],
        lambda pattern, include, exclude: make_column_selector(pattern, dtype_include=include, dtype_exclude=exclude),
    ),
    "interval": (pd.Interval, lambda one: [one.left, one.right, one.closed], pd.Interval),
    "timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
}
