"""The files that a place that hosts the code reads: they cannot run here, so their form is checked."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import bayesnb

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")


def test_the_workflows_keep_their_schema(tmp_path: Path) -> None:
    """And a wrong one is found."""
    assert WORKFLOWS and FORMS
    (wrong := tmp_path / "wrong.yml").write_text(
        WORKFLOWS[0].read_text("utf-8").replace("runs-on:", "runs_on:"), "utf-8"
    )
    files = {"github-workflows": [*WORKFLOWS, wrong], "github-issue-forms": FORMS}
    for schema, paths in (files | {"citation-file-format": [ROOT / "CITATION.cff"]}).items():
        for path in paths:
            command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert (done.returncode == 0) == (path != wrong), done.stdout + done.stderr


def test_the_workflows_try_every_version_that_the_metadata_name() -> None:
    """Three systems, and each CPython of the classifiers."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    named = {line.rpartition(" ")[2] for line in metadata if "Python :: 3." in line}
    jobs = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert set(matrix["python"]) == named
    assert {one.partition("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", ["CITATION.cff", "docs/cite.md"])
def test_the_version_is_the_same_everywhere(path: str) -> None:
    assert bayesnb.__version__ in (ROOT / path).read_text("utf-8")
