"""Data sets for trying the models: six tables by name, your CSV, TSV or Parquet file, and word counts of e-mails."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .columns import CellError, refuse_contradictions, widened
from .describing import describe, measures, suggestion
from .tables import PARQUET, TextFile, is_large, listed, parquet_pieces, read_parquet
from .tables import TableError as TableError


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
    batches : function that reads the features and labels of a large file piece by piece; X is its first piece
    labels : (c,) all labels of a large file
    lines : (n,) the line of each row in your file
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    target: str
    source: str
    notes: tuple[str, ...] = ()
    contract: Any = None
    batches: Callable[[], Iterator[tuple[pd.DataFrame, np.ndarray]]] | None = None
    labels: np.ndarray | None = None
    lines: np.ndarray | None = None


@dataclass(frozen=True)
class Texts:
    """Word counts of labelled texts.

    Fields
    ------
    X : sparse rows (n, d)   how often each word occurs in each text
    y : (n,)                 the class labels
    folder : (n,)            the folder of each text in the source
    vocabulary : (d,)        the words
    source : the origin of the texts, in one line
    """

    X: sparse.csr_array
    y: np.ndarray
    folder: np.ndarray
    vocabulary: np.ndarray
    source: str


def load(name: str) -> Dataset:
    """Load the data set with this name.

    Raises
    ------
    ValueError   if the name is not in `NAMES`
    """
    if name not in NAMES:
        raise ValueError(f"there is no data set {name!r}; the names are {', '.join(NAMES)}.")
    if name in _SHIPPED:
        target, source = _SHIPPED[name]
        with files("bayesnb").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
            frame = pd.read_csv(file)
        return Dataset(name, frame.drop(columns=target), frame[target].to_numpy(), target, source)
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = np.asarray(bunch.target_names).astype(str)
    source = f"scikit-learn: {_SCIKIT_LEARN[name]}"
    return Dataset(name, bunch.data, labels[bunch.target.to_numpy()], "class", source)


def load_spam() -> Texts:
    """Word counts of 6,046 e-mails, "spam" or "ham", in the order of the folders; shuffle them before you split."""
    with (
        files("bayesnb").joinpath("data", "spam.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as found,
    ):
        parts = found["counts"].astype(np.int32), found["indices"].astype(np.int32), found["indptr"]
        folder, vocabulary = found["folder"], found["vocabulary"]
    X = sparse.csr_array(parts, shape=(len(folder), len(vocabulary)))
    y = np.where(np.char.startswith(folder, "spam"), "spam", "ham")
    return Texts(X, y, folder, vocabulary, "Apache SpamAssassin public corpus, the 2,000 words found in most mails")


def read_table(
    path: str | Path,
    target: str,
    *,
    drop: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    sep: str | None = None,
) -> Dataset:
    """Read features and target from your file: Parquet, or text with comma, semicolon, tab or bar between the cells.

    Labels keep the form that they have in the file, without blanks around them. They become integers or booleans if
    Python writes these in the same way (7, True). Otherwise they stay text (007, 1e30, 2.0, 9999999999999999999).

    `contract` states what each column is, see `bayesnb.describe`. Some rows and columns are left out, and `notes` lists
    them: rows without a target, columns without a value, and constants. A first column without a name is left out too,
    because it holds the row numbers of a saved data frame. So are columns that identify the row (identifiers, names,
    dates), unless `columns` asks for them.

    Parameters
    ----------
    path : the file. `.parquet` and `.pq` are read with pyarrow, any other file as text with a header row
    target : name of the column with the class labels
    drop, columns, decimal, thousands : as in `bayesnb.describe`
    encoding, sep : encoding and separator of a text file. By default the encoding is UTF-8 or UTF-16, and the header
        shows the separator

    Raises
    ------
    TableError
        if the file is missing, empty or not a table, or if it has no such target, two columns of one name or fewer than
        two classes. Also if the target is a measurement or writes one number in two ways. Also if cells are lists or
        tables, if numbers can be read in two ways, or if no feature has a value
    """
    path = Path(path)
    described = {"drop": drop, "columns": columns, "decimal": decimal, "thousands": thousands}
    frame = read_rows(path, [target], decimal=decimal, thousands=thousands, encoding=encoding, sep=sep)
    return labelled(frame, target, path, **described)


def labelled(frame: pd.DataFrame, target: str, path: str | Path, **wishes: Any) -> Dataset:
    """The rows of a table that have a label, with their features as the column contract has them."""
    path, notes = Path(path), []
    if frame.columns[0] == "Unnamed: 0":
        frame = frame.iloc[:, 1:]
        notes.append("The first column has no name, so it counts as row numbers and was left out.")
    if target not in frame.columns:
        hint = _suggestion(target, frame.columns) or f"; the columns are {listed(frame.columns)}"
        raise TableError(f"{path} has no column {target!r}{hint}.")
    known = frame[target].notna()
    labelled = frame if known.all() else frame[known].reset_index(drop=True)
    refuse_nested(labelled, path)
    y, where = labelled[target], f"{path}: column {target!r}"
    if len(y) == 0:
        raise TableError(f"{where} has no value in any of the {len(frame)} rows; choose another target.")
    if y.nunique() == 1:
        raise TableError(f"{where} holds {y.iloc[0]!s} in every row; a classifier needs at least two classes.")
    with _named(path):
        contract = describe(labelled, target, **wishes)
        y = _labels(y, path, suggestion(contract.columns), wishes)
        x = contract.apply(labelled)
        refuse_infinity(x, path)
    if dropped := len(frame) - len(labelled):
        notes.append(f"{dropped} of {len(frame)} rows have no value in {target!r} and were left out.")
    if empty := [column.name for column in contract.dropped if column.missing == 1]:
        notes.append(f"Columns without any value were left out: {listed(empty)}.")
    if not contract.used:
        if len(empty) == len(contract.columns) - 1:
            raise TableError(f"{path} has no column with values besides the target {target!r}; add the features.")
        why = "; ".join(f"{column.name!r}: {column.why}" for column in contract.dropped[:4])
        raise TableError(f"{path} has no column to learn from ({why}); ask for one with --columns NAME=ROLE.")
    if others := [f"{column.name!r} ({column.why})" for column in contract.dropped if column.missing < 1]:
        notes.append(f"Left out: {', '.join(others)}.")
    lines = np.flatnonzero(known) + 2 if str(path) not in NAMES and path.suffix not in PARQUET else None
    return Dataset(path.stem, x, y, target, str(path), tuple(notes), contract, lines=lines)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let the errors of a table name its file."""
    try:
        yield
    except TableError:
        raise
    except CellError as error:
        raise TableError(f"{path}, line {error.row + 2}: {error}.") from error
    except ValueError as error:
        raise TableError(f"{path}: {str(error).rstrip('.')}.") from error


def read_large(path: str | Path, target: str | None, **wishes: Any) -> Dataset | None:
    """Read a file above 64 MiB piece by piece, None if it is none; parameters and errors as in `read_table`.

    The file is read twice, for its labels and for its rows.
    """
    path = Path(path)
    if target is None or str(path) in NAMES or not is_large(path):
        return None
    writing = {key: wishes.pop(key, None) for key in ("encoding", "sep")}
    wishes = {"drop": (), "columns": None, "decimal": None, "thousands": None} | wishes
    if path.suffix in PARQUET:
        pieces = partial(parquet_pieces, path, None)
    else:
        file = TextFile(path, [target], decimal=wishes["decimal"], thousands=wishes["thousands"], **writing)
        pieces = partial(file.pieces, None)
    data = labelled(next(pieces()), target, path, **wishes)
    contract = data.contract
    assert contract is not None
    spelled = dict.fromkeys(cell for piece in pieces([target]) for cell in piece[target].dropna().unique().tolist())
    cells = pd.Series(list(spelled), dtype=None if path.suffix in PARQUET else object, name=target)
    labels = pd.Series(_labels(cells, path, "", wishes), list(spelled))

    def batch(piece: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
        known = piece[target].notna()
        labelled = piece if known.all() else piece[known]
        with _named(path):
            refuse_contradictions(contract, labelled)
            X = contract.apply(labelled)
            refuse_infinity(X, path)
        data.contract = widened(data.contract, X)
        return X, labels[labelled[target]].to_numpy()

    data.labels, data.batches = np.unique(labels.to_numpy()), lambda: map(batch, pieces())
    data.notes = (*data.notes, f"Read in batches; the columns are those of the first {len(data.X)} rows.")
    return data


def read_rows(path: str | Path, text: Iterable[str] = (), **given: Any) -> pd.DataFrame:
    """Read all rows and columns of your file, without a target.

    Parameters
    ----------
    path : as in `read_table`
    text : names of columns whose cells stay text, such as 007, even if they could be read as numbers
    given : `encoding`, `sep`, `decimal` and `thousands` of `read_table`

    Raises
    ------
    TableError   if the file is missing, empty or not a table, or has two columns of one name
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a CSV, TSV or Parquet file.")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path, or choose one of {', '.join(NAMES)}.")
    frame = read_parquet(path) if path.suffix in PARQUET else TextFile(path, text, **given).frame()
    if frame.empty:
        raise TableError(f"{path} has no rows below the header; add rows to learn from.")
    return frame


def refuse_infinity(table: pd.DataFrame, source: str | Path) -> None:
    """Raise a TableError that names the first column with an infinite cell."""
    for name in table.select_dtypes("number"):
        if np.isinf(table[name].to_numpy(float, na_value=np.nan)).any():
            raise TableError(f"{source}: column {name!r} holds infinity; leave the cell empty if its value is unknown.")


def refuse_nested(table: pd.DataFrame, source: str | Path) -> None:
    """Raise a TableError that names the first column with a cell that is a list or a table of its own."""
    for name in table.columns[[isinstance(kind, np.dtypes.ObjectDType) for kind in table.dtypes]]:
        found = next((cell for cell in table[name] if isinstance(cell, list | dict | set | np.ndarray)), None)
        if found is not None:
            what = "tables" if isinstance(found, dict) else "lists"
            raise TableError(
                f"{source}: column {name!r} holds {what} in its cells; leave the column out, or split it into one "
                "column for each value."
            )


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)  # as Python writes it
_YES_NO = {text: value for value in (True, False) for text in (str(value), str(value).upper(), str(value).lower())}


def _labels(y: pd.Series, path: Path, hint: str, wishes: Mapping[str, Any]) -> np.ndarray:
    """Labels of the cells of a file; a TableError where they are measurements."""
    where = f"{path}: column {y.name!r}"
    if why := measures(y, wishes["decimal"], wishes["thousands"]):
        raise TableError(f"{where} {why}; bin it or name another{hint.replace(':', ' -', 1) or '.'}")
    return _typed_labels(y, where) if path.suffix in PARQUET else _written_labels(y, where)


def _written_labels(y: pd.Series, where: str) -> np.ndarray:
    """Labels of a text file: integers and booleans where Python writes them just so, else the text of the cell."""
    codes, found = pd.factorize(y)
    spelled = np.asarray(found, object).tolist()
    stripped = [cell.strip() for cell in spelled]
    if all(cell in _YES_NO for cell in stripped):
        values: list[Any] = [_YES_NO[cell] for cell in stripped]
    elif any(_INFINITY.fullmatch(cell) for cell in stripped) and all(
        _NUMBER.fullmatch(cell) or _INFINITY.fullmatch(cell) for cell in stripped
    ):
        raise TableError(f"{where} holds infinity; leave the cell empty if its value is unknown.")
    elif all(_NUMBER.fullmatch(cell) for cell in stripped):
        values = [Decimal(cell) if len(cell.lower().partition("e")[2]) < 9 else cell for cell in stripped]
    else:
        return np.array(spelled, object)[codes]
    first: dict[Any, str] = {}
    for cell, value in zip(stripped, values, strict=True):
        other = first.setdefault(value, cell)
        if other != cell:
            raise TableError(
                f"{where} writes one value in two ways, {other!r} and {cell!r}; write it in one way, or add a letter "
                "if these are two classes."
            )
    if {*stripped} <= {"True", "False"}:
        return np.array([cell == "True" for cell in stripped])[codes]
    limits = np.iinfo(np.int64)
    if all(_INTEGER.fullmatch(one) and limits.min <= int(one) <= limits.max for one in stripped):
        return np.array([int(one) for one in stripped], np.int64)[codes]
    return np.array(stripped, object)[codes]


def _typed_labels(y: pd.Series, where: str) -> np.ndarray:
    """Labels of a file that knows types: integers, booleans and text as they are, all else as text."""
    if isinstance(y.dtype, pd.CategoricalDtype):
        y = y.astype(y.dtype.categories.dtype)
    y = y.infer_objects()
    if isinstance(y.iloc[0], bytes):
        raise TableError(f"{where} holds bytes such as {y.iloc[0][:20]!r}; save the labels as text.")
    kind = y.dtype.kind
    if kind == "f":
        values = y.to_numpy(float)
        # whole numbers that became floats beside a missing cell; above 2^53 not every integer is a float
        return values.astype(np.int64) if abs(values).max() <= 2**53 else y.map(repr).to_numpy(object)
    if kind in "iub":
        return y.to_numpy(y.dtype.numpy_dtype if isinstance(y.dtype, pd.api.extensions.ExtensionDtype) else None)
    cells = y.to_numpy(object)
    return cells if set(map(type, cells)) == {str} else y.astype(str).to_numpy(object)


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

NAMES = (*_SCIKIT_LEARN, *_SHIPPED)
"""The names that `load` knows."""


def _suggestion(name: str, names: Iterable[str]) -> str:
    """'; the closest is …', or nothing where none is near."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"; the closest is {by_lower[close[0]]!r}" if close else ""
