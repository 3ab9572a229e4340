"""What a report warns of: few rows, a column that has the answer, features counted twice."""

import numpy as np
import pytest

import bayesnb

pytestmark = pytest.mark.slow


def said_of(X: np.ndarray, y: np.ndarray, nb: bayesnb.GaussianNB | None = None) -> str:
    page = bayesnb.report((nb or bayesnb.GaussianNB()).fit(X, y), X, y)
    return " ".join(str(page.html if hasattr(page, "html") else page).split())


@pytest.fixture
def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = np.repeat(["no", "yes"], [45, 15])
    return rng.normal(size=(60, 5)), y


def test_chance(rows: tuple[np.ndarray, np.ndarray]) -> None:
    said = said_of(*rows)
    assert "Few rows in the class yes (15): their results are uncertain." in said
    assert "There are only 60 rows." in said
    assert "is no better than that of the class frequencies" in said


def test_an_answer_among_the_columns(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    X[:, 2] = 20.0 * (y == "yes") + 0.1 * X[:, 2]
    said = said_of(X, y)
    assert "Almost every row is predicted correctly." in said
    assert "alone determines the label almost completely" in said


def test_features_counted_twice(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    X[:] = X[:, :1] + 1.0 * (y == "yes")[:, None]
    X[::7, 4] = np.nan
    assert "The model is too sure of itself" in said_of(X, y)


def test_a_setting_that_leave_one_out_ignores(rows: tuple[np.ndarray, np.ndarray]) -> None:
    assert "which leave-one-out ignores" not in said_of(*rows)
    said = said_of(*rows, bayesnb.GaussianNB(estimate="mle"))
    assert "The model predicts with estimate=&#x27;mle&#x27;, which leave-one-out ignores." in said
