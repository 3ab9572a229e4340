"""Data sets for trying the models: six tables by name, your CSV, TSV or Parquet file, and word counts of e-mails.

A file is read piece by piece, by `fit_batches` and the command line alike. The first lines of a text file are read as
text, because a parser hides how a cell is written: zeros in front of a code, and 15.018 that may be fifteen thousand.
They give each column its role. All pieces are then read by these roles, with numbers parsed by pandas.
"""

from .tables.datasets import Dataset as Dataset
from .tables.datasets import load as load
from .tables.datasets import load_spam as load_spam
from .tables.labelled import read_table as read_table
from .tables.names import DATA_SETS
from .tables.readers import TableError as TableError

NAMES = DATA_SETS
"""The names that `load` knows."""

__all__ = ["NAMES", "Dataset", "TableError", "load", "load_spam", "read_table"]
