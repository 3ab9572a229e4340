"""Data to try the models on: six tables by name, any CSV, TSV or Parquet file, and the word counts of e-mails."""

import csv
import difflib
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """A table with a target column.

    Fields
    ------
    name : what it was loaded as
    X : data frame (n, d)   the features, under their own names; missing cells are NaN
    y : (n,)                the class labels as they stand in the source
    target : name of the target column
    source : where the rows come from, in one line
    notes : what was left out on reading, one sentence each
    """

    name: str
    X: "pd.DataFrame"
    y: np.ndarray
    target: str
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """Word counts of labelled texts.

    Fields
    ------
    X : sparse rows (n, d)   how often each word stands in each text
    y : (n,)                 the class labels
    folder : (n,)            where each text lay in the source
    vocabulary : (d,)        the words
    source : where the texts come from, in one line
    """

    X: sparse.csr_array
    y: np.ndarray
    folder: np.ndarray
    vocabulary: np.ndarray
    source: str


class TableError(ValueError):
    """A table that cannot be used; the message is one sentence: what was found where, and what to do."""


def load(name: str) -> Dataset:
    """The data set of that name.

    Raises
    ------
    ValueError   for a name that is not in `NAMES`
    """
    if name not in _LOADERS:
        raise ValueError(f"there is no data set {name!r}; the names are {', '.join(NAMES)}.")
    return _LOADERS[name](name)


def load_spam() -> Texts:
    """Word counts of 6,046 e-mails, "spam" or "ham", folder by folder in the order of the archive: shuffle to split."""
    with (
        files("bayesnb").joinpath("data", "spam.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as found,
    ):
        parts = found["counts"].astype(np.int32), found["indices"].astype(np.int32), found["indptr"]
        folder, vocabulary = found["folder"], found["vocabulary"]
    X = sparse.csr_array(parts, shape=(len(folder), len(vocabulary)))
    y = np.where(np.char.startswith(folder, "spam"), "spam", "ham")
    return Texts(X, y, folder, vocabulary, "Apache SpamAssassin public corpus, the 2,000 words found in most mails")


def read_table(path: str | Path, target: str) -> Dataset:
    """Features and target of a user's file: comma, semicolon, tab or bar between the cells, or Parquet.

    Labels are kept as they stand in the file. They become integers or booleans where Python writes these the same way
    (7, True), and stay text elsewhere (007, 1e30, 2.0, 9999999999999999999).

    Left out, and told in `notes`: rows without a target, columns without a value, and a first column without a name,
    which holds row numbers where a data frame was saved with its index.

    Parameters
    ----------
    path : the file; `.parquet` and `.pq` are read with pyarrow, anything else as text in UTF-8 with a header row
    target : name of the column with the class labels

    Raises
    ------
    TableError   the file is missing, empty or not a table; or it has no such target, two columns of one name, fewer
                 than two classes, a target that is a measurement or writes one number in two ways, cells that are
                 lists or tables, or no feature with a value
    """
    path = Path(path)
    frame = _read(path, [target])
    notes = []
    if frame.columns[0] == "Unnamed: 0":
        frame = frame.iloc[:, 1:]
        notes.append("The first column has no name; it was taken for row numbers and left out.")
    if target not in frame.columns:
        hint = _suggestion(target, frame.columns) or f"; the columns are {_listed(frame.columns)}"
        raise TableError(f"{path} has no column {target!r}{hint}.")
    labelled = frame[frame[target].notna()]
    refuse_infinity(labelled, path)
    refuse_nested(labelled, path)
    y, where = labelled[target], f"{path}: column {target!r}"
    if len(y) == 0:
        raise TableError(f"{where} has no value in any of the {len(frame)} rows; name another target.")
    if y.nunique() == 1:
        raise TableError(f"{where} holds {y.iloc[0]!s} in every row; a classifier needs at least two classes.")
    y = _typed_labels(y, where) if path.suffix in _PARQUET else _written_labels(y, where)
    if dropped := len(frame) - len(labelled):
        notes.append(f"{dropped} of {len(frame)} rows have no value in {target!r} and were left out.")
    x = labelled.drop(columns=target).dropna(axis="columns", how="all").reset_index(drop=True)
    if x.shape[1] == 0:
        raise TableError(f"{path} has no column with values beside the target {target!r}; add the features.")
    if empty := [column for column in labelled.columns if column != target and column not in x.columns]:
        notes.append(f"Columns without a single value were left out: {_listed(empty)}.")
    return Dataset(path.stem, x, y, target, str(path), tuple(notes))


def read_rows(path: str | Path, text: Iterable[str] = ()) -> "pd.DataFrame":
    """All rows and columns of a user's file, whatever they are for.

    Parameters
    ----------
    path : as in `read_table`
    text : names of columns whose cells are text as it stands, such as 007, even where it could be read as numbers

    Raises
    ------
    TableError   the file is missing, empty or not a table, or has two columns of one name
    """
    return _read(Path(path), text)


def refuse_infinity(table: "pd.DataFrame", source: str | Path) -> None:
    """Raise a TableError that names the first column with an infinite cell."""
    for name in table.select_dtypes("number"):
        if np.isinf(table[name].to_numpy(float, na_value=np.nan)).any():
            raise TableError(f"{source}: column {name!r} holds infinity; leave the cell empty if its value is unknown.")


def refuse_nested(table: "pd.DataFrame", source: str | Path) -> None:
    """Raise a TableError that names the first column with a cell that is a list or a table of its own."""
    for name in table.columns[[kind.kind == "O" for kind in table.dtypes]]:
        found = next((cell for cell in table[name] if isinstance(cell, list | dict | set | np.ndarray)), None)
        if found is not None:
            what = "tables" if isinstance(found, dict) else "lists"
            raise TableError(
                f"{source}: column {name!r} holds {what} in its cells; leave the column out, or give each of its "
                "values a column of its own."
            )


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)  # as Python writes it
_YES_NO = {text: value for value in (True, False) for text in (str(value), str(value).upper(), str(value).lower())}


def _written_labels(y: "pd.Series", where: str) -> np.ndarray:
    """Labels of a text file: integers and booleans where Python writes them just so, else the text of the cell."""
    y = y.astype(object)
    spelled = y.unique().tolist()
    stripped = {cell: cell.strip() for cell in spelled}
    if all(cell in _YES_NO for cell in stripped.values()):
        values: dict[str, Any] = {cell: _YES_NO[text] for cell, text in stripped.items()}
    elif all(_NUMBER.fullmatch(cell) or _INFINITY.fullmatch(cell) for cell in stripped.values()):
        if any(_INFINITY.fullmatch(cell) for cell in stripped.values()):
            raise TableError(f"{where} holds infinity; leave the cell empty if its value is unknown.")
        try:
            values = {cell: Decimal(text) for cell, text in stripped.items()}
            fractions = [cell for cell in spelled if values[cell] != values[cell].to_integral_value()]
        except InvalidOperation:  # an exponent of twenty digits
            return y.to_numpy(object)
        if fractions:
            raise TableError(f"{where} holds measurements such as {fractions[0]}, not classes; bin it or name another.")
    else:
        return y.to_numpy(object)
    first: dict[Any, str] = {}
    for cell, value in values.items():
        other = first.setdefault(value, stripped[cell])
        if other != stripped[cell]:
            raise TableError(
                f"{where} writes one value in two ways, {other!r} and {stripped[cell]!r}; write it one way, or add a "
                "letter if they are two classes."
            )
    y = y.map(stripped)
    if {*stripped.values()} <= {"True", "False"}:
        return (y == "True").to_numpy(bool)
    limits = np.iinfo(np.int64)
    if all(_INTEGER.fullmatch(one) and limits.min <= int(one) <= limits.max for one in stripped.values()):
        return np.array([int(one) for one in y], np.int64)
    return y.to_numpy(object)


def _typed_labels(y: "pd.Series", where: str) -> np.ndarray:
    """Labels of a file that knows types: integers, booleans and text as they are, all else as text."""
    import pandas as pd

    if isinstance(y.dtype, pd.CategoricalDtype):
        y = y.astype(y.dtype.categories.dtype)
    y = y.infer_objects()
    if isinstance(y.iloc[0], bytes):
        raise TableError(f"{where} holds bytes such as {y.iloc[0][:20]!r}; save the labels as text.")
    kind = y.dtype.kind
    if kind == "f":
        values = y.to_numpy(float)
        if fractions := values[values % 1 != 0].tolist():
            raise TableError(f"{where} holds measurements such as {fractions[0]}, not classes; bin it or name another.")
        # whole numbers that became floats beside a missing cell; above 2^53 not every integer is a float
        return values.astype(np.int64) if abs(values).max() <= 2**53 else y.map(repr).to_numpy(object)
    if kind in "iub":
        return y.to_numpy(y.dtype.numpy_dtype if isinstance(y.dtype, pd.api.extensions.ExtensionDtype) else None)
    return y.to_numpy(object) if all(isinstance(cell, str) for cell in y) else y.astype(str).to_numpy(object)


_PARQUET = (".parquet", ".pq")


def _read(path: Path, text: Iterable[str] = ()) -> "pd.DataFrame":
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a CSV, TSV or Parquet file.")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path, or take one of {', '.join(NAMES)}.")
    frame = _read_parquet(path) if path.suffix in _PARQUET else _read_text(path, set(text))
    if frame.empty:
        raise TableError(f"{path} has no rows below the header; add the examples to learn from.")
    return frame


def _read_text(path: Path, as_text: set[str]) -> "pd.DataFrame":
    import pandas as pd

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} is not text in UTF-8 (byte {error.start} is in no character); save it as CSV in UTF-8, or Parquet."
        ) from error
    if not text.strip():
        raise TableError(f"{path} is empty; a header and rows are needed.")
    delimiter = max(",;\t|", key=text.lstrip().partition("\n")[0].count)  # the header decides: cells may hold commas
    try:
        rows = (row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
        header, first = [name.strip() for name in next(rows)], next(rows, [])
        names = pd.read_csv(io.StringIO(text), sep=delimiter, skipinitialspace=True, nrows=0).columns
        types = {name: str for name in names if name.strip() in as_text}
        # in one go: in pieces, a column could hold numbers in one and text in the next
        frame = pd.read_csv(io.StringIO(text), sep=delimiter, skipinitialspace=True, dtype=types, low_memory=False)
        for name in [name for name in frame if _is_rounded(frame[name])]:
            column = {"usecols": [name], "dtype": {name: str}}
            written = pd.read_csv(io.StringIO(text), sep=delimiter, skipinitialspace=True, **column)[name].str.strip()
            if written.dropna().str.fullmatch(r"[+-]?\d+").all():  # else the file has floats, too
                frame[name] = pd.array([int(cell) if cell == cell else None for cell in written], dtype="Int64")
        frame = frame.rename(columns=str.strip)
    except (csv.Error, ValueError) as error:
        found = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise TableError(f"{path} is not a table ({found}); every row needs the cells of the header.") from error
    if len(first) > len(header):  # pandas would take the surplus for row names
        raise TableError(
            f"{path} has {len(header)} cells in the header and {len(first)} in the first row; name them all."
        )
    if doubled := sorted({name for name in header if header.count(name) > 1}):
        raise TableError(f"{path} has more than one column named {_listed(doubled)}; give each a name of its own.")
    return frame


def _is_rounded(cells: "pd.Series") -> bool:
    """Whether whole numbers became floats beside a missing cell, although floats do not hold all of them."""
    if cells.dtype.kind != "f" or cells.notna().all():
        return False
    known = cells.dropna().to_numpy()
    return bool(known.size and (known % 1 == 0).all() and 2**53 <= abs(known).max() < 2**63)


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise TableError(
            f"{path} is a Parquet file and pyarrow is not installed; `pip install pyarrow`, or save it as CSV."
        ) from error
    exact = {getattr(pyarrow, name.lower())(): getattr(pd, f"{name}Dtype")() for name in ("Int64", "UInt64")}
    try:
        named = parquet.read_schema(path).names
        if doubled := sorted({name for name in named if named.count(name) > 1}):
            raise TableError(f"{path} has more than one column named {_listed(doubled)}; give each a name of its own.")
        frame = parquet.read_table(path).to_pandas(types_mapper=exact.get)
    except TableError:
        raise
    except Exception as error:  # of pyarrow, or of what it makes of damaged metadata
        raise TableError(f"{path} is not a Parquet file that can be read; save it again, or as CSV.") from error
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)  # as the file names them
    plain = {}
    for name in frame.columns[[isinstance(kind, (pd.Int64Dtype, pd.UInt64Dtype)) for kind in frame.dtypes]]:
        cells = frame[name]
        if cells.notna().all():
            plain[name] = cells.astype(cells.dtype.numpy_dtype)
        elif cells.dropna().between(-(2**53), 2**53).all():  # as pandas reads them
            plain[name] = cells.astype(float)
    return frame.assign(**plain)


def _shipped(target: str, source: str) -> Callable[[str], Dataset]:
    def loader(name: str) -> Dataset:
        import pandas as pd

        with files("bayesnb").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
            frame = pd.read_csv(file)
        return Dataset(name, frame.drop(columns=target), frame[target].to_numpy(), target, source)

    return loader


def _scikit_learn(source: str) -> Callable[[str], Dataset]:
    def loader(name: str) -> Dataset:
        from sklearn import datasets

        bunch: Any = getattr(datasets, f"load_{name}")(as_frame=True)
        labels = np.asarray(bunch.target_names).astype(str)
        return Dataset(name, bunch.data, labels[bunch.target.to_numpy()], "class", f"scikit-learn: {source}")

    return loader


_LOADERS = {
    "iris": _scikit_learn("Fisher (1936), 3 species of iris, 4 measurements in cm"),
    "wine": _scikit_learn("Forina et al. (1991), 3 cultivars, 13 chemical measurements"),
    "breast_cancer": _scikit_learn("Street, Wolberg & Mangasarian (1993), 30 measurements of cell nuclei"),
    "digits": _scikit_learn("Alpaydin & Kaynak (1998), handwritten digits, 8 x 8 grey values from 0 to 16"),
    "votes": _shipped("party", "UCI: 16 votes of the United States House of Representatives in 1984"),
    "penguins": _shipped("species", "Gorman, Williams & Fraser (2014), 3 species of penguin at Palmer Station"),
}

NAMES = tuple(_LOADERS)
"""The names that `load` knows."""


def _suggestion(name: str, names: Iterable[str]) -> str:
    """'; the closest is …', or nothing where none is near."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"; the closest is {by_lower[close[0]]!r}" if close else ""


def _listed(names: Iterable[str], most: int = 8) -> str:
    """The names in quotes, the first few of many."""
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")
