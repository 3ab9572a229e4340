"""Levels that a type declares count in the same way, whatever made the table; levels of a column without a cell."""

import numpy as np
import pandas as pd
import pytest

from bayesnb import CategoricalNB, MixedNB, OneDependenceNB, cli, load
from bayesnb.datasets import read_table

LEVELS = ["a", "b", "c", "d"]
CELLS = ["a", "b", "a", "b", "b", None]
LABELS = [0, 0, 1, 1, 1, 0]


def declared_by_pandas() -> pd.DataFrame:
    return pd.DataFrame({"k": pd.Categorical(CELLS, categories=LEVELS)})


def tables_of_arrow():
    arrow = pytest.importorskip("pyarrow")
    codes = [None if cell is None else LEVELS.index(cell) for cell in CELLS]
    column = arrow.DictionaryArray.from_arrays(arrow.array(codes), arrow.array(LEVELS))
    table = arrow.table({"k": column})
    yield table
    yield arrow.concat_tables([table.slice(0, 3), table.slice(3)])
    yield table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("estimator", [CategoricalNB(), MixedNB(), OneDependenceNB()], ids=repr)
def test_dictionaries_of_arrow_declare_levels(estimator):
    want = estimator.fit(declared_by_pandas(), LABELS).predict_joint_log_proba(declared_by_pandas())
    for table in tables_of_arrow():
        np.testing.assert_allclose(estimator.fit(table, LABELS).predict_joint_log_proba(table), want, rtol=1e-12)


@pytest.mark.parametrize("estimator", [CategoricalNB(), MixedNB(), OneDependenceNB()], ids=repr)
def test_an_enum_of_polars_declares_levels_and_a_categorical_does_not(estimator):
    polars = pytest.importorskip("polars")
    want = estimator.fit(declared_by_pandas(), LABELS).predict_joint_log_proba(declared_by_pandas())
    table = polars.DataFrame({"k": polars.Series(CELLS, dtype=polars.Enum(LEVELS))})
    np.testing.assert_allclose(estimator.fit(table, LABELS).predict_joint_log_proba(table), want, rtol=1e-12)
    want = estimator.fit(pd.DataFrame({"k": CELLS}), LABELS).predict_joint_log_proba(declared_by_pandas())
    table = polars.DataFrame({"k": polars.Series(CELLS, dtype=polars.Categorical)})
    np.testing.assert_allclose(estimator.fit(table, LABELS).predict_joint_log_proba(table), want, rtol=1e-12)


def test_a_parquet_file_declares_the_levels_of_its_dictionaries(tmp_path, capsys):
    """Whole or in row groups, from the command line too; a CSV file declares none."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    kinds = np.array(["x", "y"] * 20)
    cells = rng.choice(LEVELS[:2], 40)
    rows = pd.DataFrame({"k": pd.Categorical(cells, categories=LEVELS), "number": rng.normal(size=40), "kind": kinds})
    features = rows[["k", "number"]]
    declared = MixedNB().fit(features, kinds).log_evidence_
    observed = MixedNB().fit(features.astype({"k": object}), kinds).log_evidence_
    assert abs(declared - observed) > 1

    rows.to_csv(tmp_path / "observed.csv", index=False)
    rows.to_parquet(tmp_path / "whole.parquet")
    rows.to_parquet(tmp_path / "groups.parquet", row_group_size=7)
    for name, evidence in {"whole.parquet": declared, "groups.parquet": declared, "observed.csv": observed}.items():
        path, model = str(tmp_path / name), str(tmp_path / "model")
        assert cli.main(["fit", path, "--target", "kind", "--model", "plain", "-o", model]) == 0, (
            capsys.readouterr().err
        )
        assert load(model).log_evidence_ == pytest.approx(evidence, rel=1e-12)
        table = read_table(path, "kind")
        assert MixedNB().fit(table.X, table.y).log_evidence_ == pytest.approx(evidence, rel=1e-12)


def test_a_lazy_frame_is_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"`X` is a LazyFrame.*X.collect"):
        CategoricalNB().fit(polars.LazyFrame({"k": CELLS}), LABELS)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_min_categories_holds_in_a_column_without_a_cell(missing):
    """Each of 5 levels has the probability 1/5 there, in each class."""
    X = pd.DataFrame({"k": pd.Series([missing] * 6, dtype=object), "l": [0, 1, 0, 1, 1, 1]})
    nb = CategoricalNB(min_categories=5).fit(X, LABELS)
    assert nb.n_categories_.tolist() == [5, 5]
    alone = CategoricalNB(min_categories=5).fit(X[["l"]], LABELS)
    want = alone.predict_joint_log_proba(pd.DataFrame({"l": [1]})) - np.log(5)
    np.testing.assert_allclose(nb.predict_joint_log_proba(pd.DataFrame({"k": [3], "l": [1]})), want, rtol=1e-12)


@pytest.mark.parametrize("cells", [["x", "y", "x", "z", "y", "x"], [0, 7, 1, 1, 2, 0]])
@pytest.mark.parametrize("estimator", [CategoricalNB(min_categories=5), OneDependenceNB(min_categories=5)], ids=repr)
def test_a_column_without_a_cell_learns_its_levels_later(estimator, cells):
    """Batches in any order: what the levels are, the first cells say."""
    filled = pd.DataFrame({"k": pd.Series(cells, dtype=object), "l": [0, 1, 0, 1, 1, 1]})
    empty = filled.assign(k=pd.Series([None] * 6, dtype=object))
    whole = estimator.fit(pd.concat([filled, empty]), LABELS * 2)
    want = whole.predict_joint_log_proba(filled)
    first_empty = type(estimator)(min_categories=5).partial_fit(empty, LABELS, classes=[0, 1])
    np.testing.assert_allclose(
        first_empty.partial_fit(filled, LABELS).predict_joint_log_proba(filled), want, rtol=1e-12
    )
    merged = type(estimator)(min_categories=5).fit(empty, LABELS)
    merged.merge(type(estimator)(min_categories=5).fit(filled, LABELS))
    np.testing.assert_allclose(merged.predict_joint_log_proba(filled), want, rtol=1e-12)
