"""Every script of examples/ runs to its end, with small settings."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(ROOT.glob("examples/*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_example(path: Path, tmp_path: Path) -> None:
    # a script that takes longer than seconds offers --quick for small settings
    quick = ["--quick"] if "--quick" in path.read_text("utf-8") else []
    done = subprocess.run([sys.executable, path, *quick], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"


def test_there_is_an_example() -> None:
    assert SCRIPTS
