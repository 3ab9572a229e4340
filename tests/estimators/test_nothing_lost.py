"""A method that fails, wherever it fails, leaves the model as it was; rows never fitted cannot be forgotten."""

import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB

from ..estimators_table import ONE_OF_EACH, mostly_slow, these

MIXED = MixedNB(
    [
        ("counts", PoissonNB(), [0]),
        ("levels", CategoricalNB(), [1]),
        ("classes", {"ant": GaussianNB(), "bee": BernoulliNB(binarize=1), "cow": GaussianNB()}, [2, 3]),
    ]
)
EVERY = [*ONE_OF_EACH, MIXED]


def name_of(nb: Any) -> str:
    return "MixedNB" if isinstance(nb, MixedNB) else repr(nb)


every = pytest.mark.parametrize("nb", EVERY, ids=name_of)
# the guard is one for all estimators: one with levels to learn, one without
two = pytest.mark.parametrize("nb", mostly_slow(EVERY, these("CategoricalNB()", "GaussianNB()")), ids=name_of)
METHODS = ["fit", "partial_fit", "forget"]
method = pytest.mark.parametrize("method", METHODS)


class Fault(Exception):
    """What is thrown; nothing else in the library is of this type."""


def steps(call: Callable[[], Any]) -> list[str]:
    """Names of the functions of bayesnb that a call enters, each one once, in order."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "/bayesnb/" in frame.f_code.co_filename and "<" not in frame.f_code.co_name:
            found[frame.f_code.co_qualname] = None

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found)


@contextmanager
def failing(name: str, fault: type[BaseException], moment: str) -> Iterator[None]:
    """The function of that name throws, on being entered or just before it returns."""

    def strike(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == moment and code.co_qualname == name and "/bayesnb/" in code.co_filename:
            sys.setprofile(None)
            raise fault(name)

    sys.setprofile(strike)
    try:
        yield
    finally:
        sys.setprofile(None)


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, (24, 4)).astype(float), np.array(["ant", "bee", "cow"])[np.arange(24) % 3]


@pytest.mark.parametrize(
    ("nb", "method"),
    mostly_slow(itertools.product(EVERY, METHODS), lambda case: (repr(case[0]), case[1]) == ("CategoricalNB()", "fit")),
    ids=lambda one: one if isinstance(one, str) else name_of(one),
)
def test_a_fault_in_any_step_leaves_the_model_as_it_was(nb, method):
    """Every function of the library that takes part throws once, as it begins or as it ends: errors and Ctrl-C."""
    X, y = table()
    fitted = clone(nb).fit(X, y)
    _ = fitted.statistics_  # what waits is counted once, however many calls fail
    before, held = dict(vars(fitted)), pickle.dumps(fitted)
    expected = fitted.predict_log_proba(X)

    def call(model: Any) -> None:
        # more levels than there were: what is learnt about the encoding has to be lost too
        getattr(model, method)(np.where(X[:9] > 2, 6, X[:9]) if method == "partial_fit" else X[:9], y[:9])

    names = steps(lambda: call(pickle.loads(held)))
    names = [name for name in names if name != f"AbstractFitted.{method}"]  # which ends with the assignment
    assert len(names) > 8
    struck = 0
    for i, name in enumerate(names):
        fault, moment = (Fault, KeyboardInterrupt, MemoryError)[i % 3], ("call", "return")[i % 2]
        try:
            with failing(name, fault, moment):
                call(fitted)
        except fault as error:
            struck += error.args == (name,)
        assert vars(fitted).keys() == before.keys(), name
        assert all(vars(fitted)[key] is before[key] for key in before), name
    assert struck == len(names)
    np.testing.assert_array_equal(fitted.predict_log_proba(X), expected)  # and nothing was changed in place
    assert pickle.dumps(fitted) == held or np.array_equal(pickle.loads(held).predict_log_proba(X), expected)
    call(fitted)  # it still learns
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(fitted.predict_log_proba(X), expected)


@two
def test_a_first_fit_that_fails_leaves_nothing_behind(nb):
    X, y = table()
    clone(nb).fit(X, y)  # what is computed once a process is there
    for first in ("fit", "partial_fit"):
        more = {"classes": np.unique(y)} if first == "partial_fit" else {}
        names = steps(partial(getattr(clone(nb), first), X, y, **more))
        for name in [name for name in names if name != f"AbstractFitted.{first}"][::5]:
            fresh = clone(nb)
            before = set(vars(fresh))
            with pytest.raises(Fault), failing(name, Fault, "return"):
                getattr(fresh, first)(X, y, **more)
            assert set(vars(fresh)) == before, name


@method
def test_bad_input_leaves_the_model_as_it_was(method):
    for nb in EVERY:
        X, y = table()
        fitted = clone(nb).fit(X, y)
        before, expected = dict(vars(fitted)), fitted.predict_log_proba(X)
        bad: list[tuple[Any, ...]] = [
            (X[:9], y[:8]),
            (X[:0], y[:0]),
            (X[0], y[:1]),
            (X[:9], y[:9], -np.ones(9)),
            (X[:9], y[:9], np.full(9, np.nan)),
            (X[:9], y[:9], np.ones(8)),
            (np.full((9, 4), np.inf), y[:9]),
            (np.full((9, 4), 1 + 1j), y[:9]),
            (X[:9], np.full(9, None)),
            ([[[1, 2]] * 4], ["ant"]),
        ]
        if method != "fit":
            bad += [(X[:9, :3], y[:9]), (X[:9], np.full(9, "dog")), (pd.DataFrame(X[:9, :2]), y[:9])]
        if method == "forget":
            bad += [(X, y, np.full(24, 2.0))]
        for arguments in bad:
            with pytest.raises((ValueError, TypeError)):
                getattr(fitted, method)(*arguments)
            assert vars(fitted).keys() == before.keys()
            assert all(vars(fitted)[key] is before[key] for key in before)
        np.testing.assert_array_equal(fitted.predict_log_proba(X), expected)


# --- forgetting what was never there --------------------------------------------------------------------------------


def test_more_rows_of_a_class_than_there_are():
    for nb in EVERY:
        X, y = table()
        fitted = clone(nb).fit(X, y)
        with pytest.raises(ValueError, match="never fitted"):
            fitted.forget(np.vstack([X, X[:1]]), np.append(y, y[0]))
        with pytest.raises(ValueError, match="never fitted"):
            fitted.forget(X, y, np.full(len(y), 1 + 1e-6))


@pytest.mark.parametrize(
    "nb", [MultinomialNB(), PoissonNB(), CategoricalNB(), BernoulliNB(), MIXED], ids=lambda nb: type(nb).__name__
)
def test_more_events_than_were_counted(nb):
    """Two rows of a class of many, but with events that this class never had."""
    X, y = table()
    X[y == "ant"] = np.minimum(X[y == "ant"], 1)
    X[y == "ant", 0] = 0
    fitted = clone(nb).fit(X, y)
    with pytest.raises(ValueError, match="never fitted"):
        fitted.forget(np.full((2, 4), 3.0), ["ant", "ant"])
    if nb.__sklearn_tags__().input_tags.sparse:
        with pytest.raises(ValueError, match="never fitted"):
            fitted.forget(sparse.csr_array(np.full((2, 4), 3.0)), ["ant", "ant"])


@pytest.mark.parametrize(
    "nb",
    [nb for nb in EVERY if "Gaussian" in repr(nb)],
    ids=name_of,
)
def test_squares_that_would_turn_negative(nb):
    """Rows further out than all the squares of their class: no row of that class can have been there."""
    X, y = table()
    fitted = clone(nb).fit(X, y)
    far = np.where(np.arange(4) < 2, X[:2], 1e4) if isinstance(nb, MixedNB) else X[:2] + 1e4
    with pytest.raises(ValueError, match="never fitted"):
        fitted.forget(far, y[:2])
    fitted.forget(X[:12], y[:12])  # what was there can go
    assert np.isfinite(fitted.predict_log_proba(X)).all()
