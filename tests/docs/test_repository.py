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


def checked(schema: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_workflows_keep_their_schema() -> None:
    assert WORKFLOWS and FORMS
    citation = [ROOT / "CITATION.cff"]
    files = {"github-workflows": WORKFLOWS, "github-issue-forms": FORMS, "citation-file-format": citation}
    for schema, paths in files.items():
        done = checked(schema, *paths)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_workflow_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text("utf-8").replace("runs-on:", "runs_on:"), "utf-8")
    assert checked("github-workflows", wrong).returncode != 0


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
