"""Data sets for trying the models: six tables by name, and word counts of e-mails."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from .names import DATA_SETS, did_you_mean

_SCIKIT_LEARN = {
    "iris": "Fisher (1936), 3 species of iris, 4 measurements in cm",
    "wine": "Forina et al. (1991), 3 cultivars, 13 chemical measurements",
    "breast_cancer": "Street, Wolberg & Mangasarian (1993), 30 measurements of cell nuclei",
    "digits": "Alpaydin & Kaynak (1998), handwritten digits, 8 x 8 grey values from 0 to 16",
}
_SHIPPED = {
    "votes": ("party", "UCI: 16 votes of the United States House of Representatives in 1984"),
    "penguins": ("species", "Gorman, Williams & Fraser (2014), 3 species of penguin at Palmer Station"),
}


@dataclass
class Dataset:
    """A table with a target column.

    Fields
    ------
    name : the name of the data set
    X : data frame (n, d)   the features, under their own names; missing cells are NaN
    y : (n,)                the class labels, as in the source
    target : name of the target column
    source : the origin of the rows, in one line
    notes : what was left out while reading, one sentence each
    contract : how each column of your file is used, and why
    lines : (n,) the line of each row in your file
    sample_weight : (n,) the column of weights, if one was named: integers if it counts rows, floats if it is importance
    n_copies : how many rows of your file equal an earlier row in all columns; None if they were not compared
    ids : (n,) the cells of the column that names the rows, if one was named
    groups : (n,) the cells of the column of groups, if one was named: rows with equal cells belong together
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    target: str
    source: str
    notes: tuple[str, ...] = ()
    contract: Any = None
    lines: np.ndarray | None = None
    sample_weight: np.ndarray | None = None
    n_copies: int | None = None
    ids: np.ndarray | None = None
    groups: np.ndarray | None = None


def load(name: str) -> Dataset:
    """Load the data set with this name.

    Raises
    ------
    ValueError   if no data set has this name
    """
    if name not in DATA_SETS:
        similar = did_you_mean(name, DATA_SETS) or "."
        raise ValueError(f"there is no data set {name!r}; the names are {', '.join(DATA_SETS)}{similar}")

    # Two tables come with this package, as CSV files with the labels in one of the columns.
    if name in _SHIPPED:
        target, source = _SHIPPED[name]
        with files("bayesnb").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
            frame = pd.read_csv(file)
        return Dataset(name, frame.drop(columns=target), frame[target].to_numpy(), target, source)

    # The others come with scikit-learn, which has labels as numbers 0 … c−1 (`target`) and their names
    # (`target_names`). The numbers as an index into the names give the label of each row.
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = np.asarray(bunch.target_names).astype(str)  # `target` has positions in them
    return Dataset(name, bunch.data, labels[bunch.target.to_numpy()], "class", f"scikit-learn: {_SCIKIT_LEARN[name]}")


def load_spam() -> Any:
    """Word counts of 6,046 e-mails, in the order of the folders; shuffle them before you split.

    Fields
    ------
    X : sparse rows (6046, 2000)   how often each word occurs in each e-mail
    y : (6046,)                    "spam" or "ham"
    folder : (6046,)               the folder of each e-mail in the source
    vocabulary : (2000,)           the words
    source : the origin of the texts, in one line
    """
    from scipy import sparse
    from sklearn.utils import Bunch

    # The file has the three arrays of a sparse matrix in compressed rows (CSR): the counts that are not 0, row after
    # row; the column of each, `indices`; and where each row begins among them, `indptr`. The first two are stored in
    # smaller types than SciPy works with.
    path = files("bayesnb").joinpath("data", "spam.npz")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        counts = arrays["counts"].astype(np.int32)
        indices = arrays["indices"].astype(np.int32)
        indptr = arrays["indptr"]
        folder = arrays["folder"]
        vocabulary = arrays["vocabulary"]

    # An e-mail is spam if its folder has a name that begins with "spam".
    return Bunch(
        X=sparse.csr_array((counts, indices, indptr), shape=(len(folder), len(vocabulary))),
        y=np.where(np.char.startswith(folder, "spam"), "spam", "ham"),
        folder=folder,
        vocabulary=vocabulary,
        source="Apache SpamAssassin public corpus, the 2,000 words found in most mails",
    )
