"""Signs of life: a line on a terminal after three seconds, nothing elsewhere."""

import io
import os
import select
import sys
import time
from typing import Any

import numpy as np
import pytest

import bayesnb
from bayesnb.numerics import progress as module
from bayesnb.numerics.progress import print_between, progress, quiet, tracked


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal, and lines without much delay; pytest puts back its own before each test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_DELAY", 0.02)
    monkeypatch.setattr(module, "_TICK", 0.02)
    return stream


def wait_for(stream: Terminal, text: str) -> None:
    """Until the line has the text; five seconds at most."""
    end = time.monotonic() + 5
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert text in stream.getvalue()


def test_a_line_lives_while_a_step_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with progress("check", total=13, unit="rows") as line:
        line.advance(3)
        line.begin("4 chains")
        wait_for(terminal, "check: 3/13 rows, 00:00, 4 chains")
    assert terminal.getvalue().endswith("\r")  # wiped out
    assert terminal.getvalue().rstrip("\r").split("\r")[-1].strip() == ""


@pytest.mark.parametrize(("unit", "text"), [("rows read", "table: 2 rows read, 00:00"), ("", "table, 00:00")])
def test_a_line_without_a_known_end(unit: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with progress("table", unit=unit) as line:
        line.advance(2)
        wait_for(terminal, text)


def test_quick_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(module, "_DELAY", 60.0)
    assert list(tracked("abc", "letters", 3, "letters")) == [*"abc"]
    assert terminal.getvalue().strip() == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_there_is_no_line_in_quiet_or_without_a_terminal(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_DELAY", 0.0)
    monkeypatch.setattr(module, "_TICK", 0.01)

    def work() -> None:
        with progress("work", total=2, unit="steps") as line:
            line.begin("one")
            line.advance()
            time.sleep(0.05)

    if is_terminal:
        with quiet():
            work()
    else:
        work()
    assert stream.getvalue() == ""


def test_an_error_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with pytest.raises(ValueError, match="stop"), progress("work") as line:
        wait_for(terminal, "work, 00:00")
        raise ValueError("stop")
    assert not line._clock.is_alive()  # type: ignore[attr-defined]


def test_printing_leaves_the_line_whole(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    terminal = a_terminal(monkeypatch)
    with progress("check", total=13, unit="rows"):
        wait_for(terminal, "check: 0/13 rows")
        print_between("1  Bayes' identity")
    assert capsys.readouterr().out == "1  Bayes' identity\n"


def test_batches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    waited: list[float] = []

    def batches() -> Any:
        for part in (slice(0, 30), slice(30, 60)):
            yield X[part], y[part]
            if not waited:
                wait_for(terminal, "fit: 30 rows, 00:00")
                waited.append(1)

    nb = bayesnb.fit_batches(bayesnb.GaussianNB(), batches(), classes=[0, 1])
    np.testing.assert_allclose(nb.predict_proba(X), bayesnb.GaussianNB().fit(X, y).predict_proba(X))
    tables = bayesnb.predict_batches(nb, X, batch_size=40)
    next(tables)
    wait_for(terminal, "predict: 0/60 rows")


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_terminal_that_does_not_say_its_size_shows_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    a_terminal(monkeypatch)
    master, slave = os.openpty()  # 0 × 0
    text = b""
    with os.fdopen(slave, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        with progress("check", total=13, unit="rows"):
            while b"check: 0/13 rows" not in text and select.select([master], [], [], 5)[0]:
                text += os.read(master, 1000)
    os.close(master)
    assert b"check: 0/13 rows" in text
