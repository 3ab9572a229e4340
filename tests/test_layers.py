"""Imports point down only, stay cheap, and change nothing."""

import ast
import functools
import importlib
import importlib.util
import sys
import typing
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import jax
import jaxtyping
import numpy as np
import pytest

import bayesnb
from bayesnb.numerics import arrays as _typing
from bayesnb.numerics.special import log_normalize

from .estimators_table import mostly_slow
from .sums.test_processes import result, start

ROOT = Path(bayesnb.__file__).parent
# ground floor first; a module imports from the floors below its own, or from its own package
FLOORS = "numerics < sums < families < models < posterior < check < tables io < datasets estimators"
FLOORS += " < analysis drop_in streaming < calibration < discriminative < choice < distributed plots testing"
FLOORS += " < reporting < cli < __main__"
# what families are written in, below their pages
FOUNDATIONS = "_page", "base", "conjugate", "normals"
# pages of a model in terms of another page's
BUILT_ON = {"log_normal.py": "gaussian", "complement.py": "multinomial", "known_gaussian.py": "gaussian"}
FLOOR = {name: floor for floor, names in enumerate(FLOORS.split("<")) for name in names.split()}
CORE = [name for name, floor in FLOOR.items() if floor <= FLOOR["models"]]
FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file, which several tests walk."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, for_types: bool = True) -> Iterator[str]:
    """Absolute names of all that a file imports, wherever in the file, by a call of `import_module` too."""
    package = ("bayesnb", *path.relative_to(ROOT).parent.parts)
    nodes: list[ast.AST] = [tree_of(path)]
    while nodes:
        match node := nodes.pop():
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                above = package[: len(package) + 1 - node.level] if node.level else ()
                module = [*above, *filter(None, [node.module])]
                yield from (".".join([*module, alias.name]) for alias in node.names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if "import_module" in ast.unparse(node.func):
                yield importlib.util.resolve_name(name, ".".join(package))
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if not for_types:
                nodes += node.orelse
                continue
        nodes += ast.iter_child_nodes(node)


MODULES = {".".join(("bayesnb", *path.relative_to(ROOT).with_suffix("").parts)): path for path in FILES}
MODULES = {name.removesuffix(".__init__"): path for name, path in MODULES.items()}


def table_of_names(module: Any) -> dict[str, str]:
    """The module of each name that a package looks up when asked for: of its stub, or of its own table."""
    stub = Path(module.__file__).with_suffix(".pyi")
    if not stub.exists():
        return getattr(module, "_HOME", {})
    found = (node for node in tree_of(stub).body if isinstance(node, ast.ImportFrom))
    return {one.name: node.module or one.name for node in found for one in node.names}


LOOKED_UP = {
    name: found
    for name in ("bayesnb", *(name for name, path in MODULES.items() if path.name == "__init__.py"))
    if (found := table_of_names(importlib.import_module(name)))
}


def modules_of(name: str) -> Iterator[str]:
    """The module that holds an imported name; all modules behind a package whose names are looked up when asked for."""
    package, _, last = name.rpartition(".")
    if name in MODULES:
        yield name
        for below in {*LOOKED_UP.get(name, {}).values()}:
            yield from modules_of(importlib.util.resolve_name(f".{below}", name))
    elif last in LOOKED_UP.get(package, {}):
        yield from modules_of(importlib.util.resolve_name(f".{LOOKED_UP[package][last]}", package))
    elif package in MODULES:
        yield package


def home(path: Path) -> str:
    """The module or subpackage of bayesnb that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def points_up(path: Path) -> Iterator[str]:
    """What a file imports from its own floor or from one above."""
    here = home(path)
    for name in imports(path):
        if name.startswith("bayesnb.families."):  # its contract has names of the floors below
            name = next(modules_of(name), name)
        top, _, rest = name.partition(".")
        first = rest.split(".")[0]
        if top != "bayesnb" or first in ("__version__", ""):
            continue
        there = LOOKED_UP["bayesnb"].get(first, first).split(".")[0]  # public names live in modules
        if not (FLOOR[there] < FLOOR[here] or there == here):
            yield f"{path.relative_to(ROOT)} imports {name}"
        elif there == here == "families" and path.name not in ("__init__.py", *(f"{stem}.py" for stem in FOUNDATIONS)):
            if name.split(".")[2] not in (*FOUNDATIONS, BUILT_ON.get(path.name)):
                yield f"{path.relative_to(ROOT)} imports {name}: one variant, one file"


def test_imports_point_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new module gets its floor in the table above."""
    assert [fault for path in FILES for fault in points_up(path)] == []
    monkeypatch.setitem(FLOOR, "sums", FLOOR["models"])
    assert any("imports bayesnb.sums" in fault for fault in points_up(ROOT / "models" / "naive_bayes.py"))


def private_reads(source: str) -> list[str]:
    """Attributes with an underscore that are read of something else than `self` or the class, and not defined here."""
    read = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute) and node.attr[0] == "_"]
    others = [node for node in read if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))]
    names = [ast.unparse(node) for node in others if f"def {node.attr}(" not in source]
    return [name for name in names if not name.endswith(("__", "._replace"))]  # a method of every named tuple


READERS = (
    "posterior",
    "check",
    "analysis",
    "calibration",
    "discriminative",
    "plots",
    "reporting",
    "cli",
    "streaming",
    "distributed",
)


def test_what_is_read_of_an_estimator_is_public() -> None:
    """What analyses may ask of a fitted estimator is its `model_`, besides what users see."""
    found = {str(f.relative_to(ROOT)): private_reads(f.read_text("utf-8")) for f in FILES if home(f) in READERS}
    assert {name: reads for name, reads in found.items() if reads} == {}
    source = "def f(nb):\n    self._encode(X)\n    return nb.fit(X)._encode(X), nb.model_.encode(X), nb.__class__"
    assert private_reads(source) == ["nb.fit(X)._encode"]


def private_imports(names: Iterable[str]) -> list[str]:
    """Names with an underscore imported from another module, but from one that is private as a whole."""
    known = [name.split(".") for name in names if name.startswith("bayesnb.") and name not in MODULES]
    private = [name for name in known if name[-1].startswith("_") and not name[-1].endswith("__")]
    return [".".join(name) for name in private if not name[-2].startswith("_")]


def test_private_names_stay_in_their_module() -> None:
    assert {str(path.relative_to(ROOT)): found for path in FILES if (found := private_imports(imports(path)))} == {}
    own = "bayesnb.sums.rows._half"
    assert private_imports((own, "bayesnb.estimators._base", "numpy._core")) == [own]


def test_no_imports_run_in_a_circle() -> None:
    """The types alone, which are never run, may name a class above."""
    graph = {name: {m for one in imports(path, False) for m in modules_of(one)} for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()
    assert "bayesnb.io" in graph["bayesnb.estimators._fitted"]
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"bayesnb.io": {"bayesnb.estimators._fitted"}}).prepare()


def test_the_core_needs_few_packages() -> None:
    found = {name.split(".")[0] for path in FILES if home(path) in CORE for name in imports(path)}
    ours = {*"bayesnb jax jaxtyping lazy_loader numba numpy numpyro safetensors scipy threadpoolctl tqdm".split()}
    assert found - sys.stdlib_module_names <= ours


def test_shapes_are_checked_in_full_where_it_is_asked(request: pytest.FixtureRequest) -> None:
    """With --jaxtyping-packages a list is no array. Annotations say nothing where JAX was not imported before them."""
    assert {jax.Array, np.ndarray} == {*typing.get_args(_typing.Array)}
    assert _typing.Float is jaxtyping.Float
    is_asked = bool(request.config.getoption("jaxtyping_packages"))
    with pytest.raises(jaxtyping.TypeCheckError if is_asked else AttributeError):
        log_normalize([0.0])


def fresh(code: str) -> None:
    """Run statements in a new interpreter, where nothing has been imported yet."""
    assert result(start(code)) == ""


@pytest.mark.parametrize(
    ("module", "absent"),
    mostly_slow(
        [
            ("", "jax numpyro pandas sklearn"),
            (".__main__", "argparse bayesnb.cli"),  # `main` has to catch an interrupt first
            (".families.kernel_density", "pandas sklearn"),
            (".models.naive_bayes", "jax pandas sklearn"),
            (".estimators.mixed", "jax"),
            (".discriminative.model", "jax sklearn.model_selection sklearn.preprocessing"),
            (".plots", ""),
        ],
        lambda case: case[0] in ("", ".__main__", ".models.naive_bayes"),
    ),
)
def test_what_an_import_loads(module: str, absent: str) -> None:
    names = {*f"arviz dask matplotlib xarray {absent}".split()}
    fresh(f"import sys, bayesnb{module}; assert not (loaded := sys.modules.keys() & {names}), loaded")


def test_the_host_needs_no_jax() -> None:
    """Fitting, predicting and what estimators tell of it; scikit-learn itself brings pandas and scipy.stats."""
    fresh("""
import sys
import numpy as np
import bayesnb, bayesnb.estimators

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (40, 3)) + 1.0, np.repeat([0, 1], 20)
for name in {*bayesnb.estimators.__all__} - {"FamilyNB", "KernelNB"}:  # one needs a family, one draws bandwidths
    nb = getattr(bayesnb, name)()
    if isinstance(nb, bayesnb.BernoulliNB):
        nb.set_params(binarize=1.5)
    nb.fit(X, y).partial_fit(X, y).forget(X, y)
    for method in (nb.predict, nb.predict_proba, nb.decision_function, nb.novelty_score):
        method(X)
    if "estimate" in nb.get_params():
        nb.set_params(estimate="mean").predict(X)
    nb.class_count_
    for name in ("log_evidence_", "intercept_"):
        hasattr(nb, name)
assert not (loaded := sys.modules.keys() & {"jax", "jaxlib", "numpyro"}), loaded
""")


@pytest.mark.parametrize(
    "model", mostly_slow(["plain", "calibrated", "discriminative"], lambda m: m == "discriminative")
)
def test_a_saved_model_loads_little(model: str, tmp_path: Path) -> None:
    """`bayesnb predict` of a few rows takes the time of its imports: no JAX, and no models of scikit-learn."""
    fresh(f"""
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
frame = pd.DataFrame({{"size": rng.normal(size=60), "kind": rng.choice(list("abc"), 60), "y": np.arange(60) % 2}})
frame["size"] += frame["y"]
frame.to_csv("{tmp_path}/rows.csv", index=False)
import contextlib, io
from bayesnb.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["fit", "{tmp_path}/rows.csv", "--target", "y", "--model", "{model}", "-o", "{tmp_path}/m", "--quiet"])
""")
    absent = "jax numpyro arviz matplotlib scipy.optimize scipy.stats._stats_py"
    absent += " sklearn.model_selection sklearn.linear_model sklearn.preprocessing sklearn.metrics"
    names = {*absent.split()}
    fresh(f"""
import contextlib, io, sys
sys.argv = ["bayesnb", "predict", "{tmp_path}/m", "{tmp_path}/rows.csv"]
from bayesnb.__main__ import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main()
assert not (loaded := sys.modules.keys() & {names}), loaded
""")


@pytest.mark.slow
def test_imports_start_no_device_and_change_nothing() -> None:
    """Every module, after the packages below have done to the interpreter what they do."""
    fresh("""
import importlib, logging, os, pkgutil, random, warnings
import arviz, jax, numpy, numpyro, pandas, scipy.stats, sklearn, xarray
import sklearn.datasets, numpyro.infer
from jax._src import xla_bridge

def state():
    return (
        dict(jax.config.values), list(warnings.filters), logging.root.level, list(logging.root.handlers),
        dict(os.environ), numpy.geterr(), numpy.get_printoptions(), repr(numpy.random.get_state()), random.getstate(),
        xla_bridge.backends_are_initialized(),
    )

before = state()
import bayesnb
modules = [info.name for info in pkgutil.walk_packages(bayesnb.__path__, "bayesnb.")]
assert "bayesnb.families.gaussian" in modules
for name in modules:
    importlib.import_module(name)
for then, now in zip(before, state()):
    assert then == now, (then, now)
assert not xla_bridge.backends_are_initialized()
""")


def test_lazy_names_are_all_there() -> None:
    assert {name for name in bayesnb.__all__ if getattr(bayesnb, name) is None} == set()
    assert set(bayesnb.__all__) <= set(dir(bayesnb))
    with pytest.raises(AttributeError, match="No bayesnb attribute Gaussian"):
        bayesnb.Gaussian  # noqa: B018
