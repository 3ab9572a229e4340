"""The command line as a process: interrupts, streams that are full, encodings, a home folder without room."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import bayesnb
from bayesnb import cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and streams of POSIX")

COMMAND = [sys.executable, "-m", "bayesnb"]
# what pip writes to bin/bayesnb
SCRIPT = [sys.executable, "-c", "import sys; from bayesnb.__main__ import main; sys.exit(main())"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(bayesnb.__file__).parents[1])}


def run(*arguments: Any, command: list[str] = COMMAND, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command line to its end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {**pipes, "env": ENVIRONMENT, "encoding": "utf-8", **options}
    return subprocess.run([*command, *map(str, arguments)], **options)


# --- interrupts -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", [COMMAND, SCRIPT], ids=["module", "script"])
def test_an_interrupt_at_any_time_ends_the_process(command: list[str]) -> None:
    """While it imports, compiles, and samples: 130 and one line. A late one may find the work done."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import runpy, bayesnb.__main__"], env=ENVIRONMENT, check=True)
    start = 1.5 * (time.monotonic() - begun)  # what Python itself takes to start, and prints a traceback in
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    for delay in [*(0.1 + 0.04 * i for i in range(8)), 1.0, 2.0, 3.0, 4.5]:
        with subprocess.Popen([*command, "check", "iris"], **pipes) as process:
            time.sleep(start + delay)
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=20)[1]
        assert process.returncode in (0, 130, -signal.SIGINT), (delay, err)
        assert process.returncode == 0 or err.endswith(("bayesnb: interrupted\n", "KeyboardInterrupt\n")), (delay, err)


def test_an_interrupt_while_a_file_is_written_leaves_nothing(tmp_path: Path) -> None:
    """The old file stays as it was, and nothing lies beside it."""
    (tmp_path / "model").write_text("old")
    code = "import os, signal; os.fsync = lambda _: signal.raise_signal(signal.SIGINT); " + SCRIPT[-1]
    done = run("fit", "iris", "--model", "plain", "-o", tmp_path / "model", command=[sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (130, "bayesnb: interrupted\n")
    assert os.listdir(tmp_path) == ["model"] and (tmp_path / "model").read_text() == "old"


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = run("select", "votes", "--max", "1", stdout=full)
    assert (done.returncode, done.stderr) == (2, "bayesnb: [Errno 28] No space left on device\n")


def test_help_that_nobody_reads() -> None:
    read, write = os.pipe()
    os.close(read)
    done = run("--help", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_an_encoding_without_the_letters(tmp_path: Path) -> None:
    table, path = tmp_path / "tähti.csv", tmp_path / "modèle"
    table.write_text("sörte,x\nä,1\nß☃,20\nä,2\nß☃,21\n", encoding="utf-8")
    environment = ENVIRONMENT | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"}
    done = run("fit", table, "--target", "sörte", "--model", "plain", "-o", path, env=environment, encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "") and "2 'ß\\u2603', 2 'ä'" in done.stdout
    assert bayesnb.load(path).classes_.tolist() == ["ß☃", "ä"]
    done = run("predict", path, table, env=environment)  # as in a file: labels as they stand, in UTF-8
    assert done.returncode == 0
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["predicted", "ä", "ß☃", "ä", "ß☃"]


# --- the last line of defence ---------------------------------------------------------------------------------------


def test_an_interrupt_and_a_defect_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted(_: Any) -> int:
        raise KeyboardInterrupt

    def broken(_: Any) -> int:
        raise KeyError("nowhere\nto be found")

    monkeypatch.setattr(cli, "select", interrupted)
    assert cli.main(["select", "iris"]) == 130
    assert capsys.readouterr().err == "bayesnb: interrupted\n"
    monkeypatch.setattr(cli, "select", broken)
    assert cli.main(["select", "iris"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "unexpected KeyError" in err
    assert "Please report it" in err
    monkeypatch.setenv("BAYESNB_DEBUG", "1")
    with pytest.raises(KeyError, match="nowhere"):
        cli.main(["select", "iris"])


# --- start-up -------------------------------------------------------------------------------------------------------

LOADED = """
import sys
sys.argv[1:] = {!r}
from bayesnb.__main__ import main
try:
    main()
except SystemExit:
    pass
names = {{name for name in sys.modules if name in {!r}.split()}}
print("loaded", *sorted(names), file=sys.stderr)
"""


def test_a_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    """No JAX, no models of scikit-learn and no SciPy.stats for a saved model; nothing at all for --help."""
    heavy = "jax numba matplotlib arviz sklearn.linear_model sklearn.compose._column_transformer scipy.stats._stats_py"
    heavy += " sklearn.model_selection"
    model, rows = str(tmp_path / "m"), str(Path(bayesnb.__file__).parent / "data" / "penguins.csv")
    assert cli.main(["fit", "penguins", "--model", "plain", "-o", model]) == 0
    for arguments, modules in (
        (["--help"], "numpy pandas sklearn scipy"),
        (["describe", rows, "--target", "species"], "sklearn jax"),
        (["predict", model, rows, "-o", str(tmp_path / "out.csv")], heavy),
    ):
        done = run(command=[sys.executable, "-c", LOADED.format(arguments, modules)])
        assert done.stderr.splitlines()[-1].split() == ["loaded"], (arguments, done.stderr)
