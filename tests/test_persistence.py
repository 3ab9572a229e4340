"""A file gives back what was saved, bit for bit, or one clear sentence; and it never runs code."""

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as to_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError

import bayesnb
from bayesnb import io
from bayesnb.estimators._predicting import AbstractBayes
from bayesnb.families import NormalInverseWishart
from bayesnb.numerics import pytrees

from .estimators_table import WHOLE, called

RNG = np.random.default_rng(7)
N = 60
REAL = RNG.normal(size=(N, 4)) * [1, 10, 0.1, 1e4]
COUNTS = RNG.poisson(2.0, (N, 4))
LABELS = np.array(["no", "yes", "später"])[RNG.integers(0, 3, N)]
FRAME = pd.DataFrame({"size": np.where(RNG.random(N) < 0.1, np.nan, REAL[:, 0])})
FRAME["colour"], FRAME["old"] = RNG.choice(["red", "blue", None], N), RNG.random(N) < 0.5
FRAME["grade"] = pd.Categorical(RNG.choice(["a", "b"], N), categories=["z", "b", "a"])


def identical(a: Any, b: Any) -> bool:
    """Equality of type and value, all the way down; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return all(map(identical, a.ravel(), b.ravel())) if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return identical(list(a.items()), list(b.items()))
    if isinstance(a, AbstractBayes):
        return identical(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, make_column_selector):
        return vars(a) == vars(b)
    if leaves := [leaf for leaf in jax.tree.leaves(a) if leaf is not a]:
        return jax.tree.structure(a) == jax.tree.structure(b) and identical(leaves, jax.tree.leaves(b))
    return a == b or (a != a and b != b)


def again(nb: Any, tmp_path: Path) -> Any:
    """An estimator saved and loaded, after all that it knows was compared."""
    path = tmp_path / "model.safetensors"
    nb.save(path)
    loaded = bayesnb.load(path)
    assert type(loaded) is type(nb)
    assert identical(nb.get_params(deep=False), loaded.get_params(deep=False))
    assert vars(nb).keys() == vars(loaded).keys()
    known = [name for name in vars(nb) if not name.startswith("_")]
    assert all(identical(getattr(nb, name), getattr(loaded, name)) for name in [*known, "posterior_"])
    written = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == written
    return loaded


WISHART = NormalInverseWishart(0.0, 1.0, np.full(3, 6.0), np.eye(4))
EACH = {"no": bayesnb.GaussianNB(), "yes": bayesnb.KernelNB(), "später": bayesnb.GaussianNB()}
BY_CLASS = [
    ("size", EACH, [0]),
    ("rest", bayesnb.CategoricalNB(alpha=0.5), make_column_selector("o", dtype_exclude=np.number)),
    ("grade", "drop", "grade"),
]
BY_COLUMN = [
    ("type", bayesnb.GaussianNB(), make_column_selector(dtype_include=float)),
    ("name", bayesnb.BernoulliNB(binarize=None), ["old"]),
    ("mask", bayesnb.CategoricalNB(), [False, True, False, False]),
    ("slice", bayesnb.CategoricalNB(), slice(3, None)),
]
CASES = {
    "bernoulli-clop": (bayesnb.BernoulliNB(alpha="clop", binarize=-np.inf), REAL),
    "bernoulli-sparse": (bayesnb.BernoulliNB(alpha=[1.0, 2, 0.5, 3]), sparse.csr_array(COUNTS)),
    "categorical": (bayesnb.CategoricalNB(min_categories=9, alpha=np.float32(0.3)), COUNTS),
    "categorical-frame": (bayesnb.CategoricalNB(), FRAME[["colour", "old", "grade"]]),
    "complement": (bayesnb.ComplementNB(norm=True), sparse.csc_array(COUNTS)),
    "exponential": (bayesnb.ExponentialNB(beta=(1.0, 2, 3, 4)), abs(REAL)),
    "family-covariance": (bayesnb.FamilyNB(WISHART, class_prior=[0.2, 0.3, 0.5]), REAL),
    "gaussian": (bayesnb.GaussianNB(priors=np.array([0.2, 0.3, 0.5])), REAL),
    "gaussian-pooled": (bayesnb.GaussianNB(variance="pooled", class_alpha=[1, 2, 3]), REAL),
    "da": (bayesnb.GaussianDA(), REAL),
    **{called(nb): (clone(nb).set_params(fit_prior=False), COUNTS) for nb in WHOLE},
    "kernel": (bayesnb.KernelNB(), REAL.round(2)),
    "multinomial": (bayesnb.MultinomialNB(alpha=0.1, estimate="mean"), sparse.coo_array(COUNTS)),
    "one-dependence": (bayesnb.OneDependenceNB(min_categories=9, alpha=np.float32(0.3)), COUNTS),
    "poisson": (bayesnb.PoissonNB(), COUNTS),
    "mixed-auto": (bayesnb.MixedNB(), FRAME),
    "mixed-classes": (bayesnb.MixedNB(BY_CLASS), FRAME),
    "mixed-columns": (bayesnb.MixedNB(BY_COLUMN), FRAME),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_saved_comes_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    nb, X = copy.deepcopy(CASES[name])
    nb.fit(X, LABELS)
    loaded = again(nb, tmp_path)
    few = X[:7] if not sparse.issparse(X) else sparse.csr_array(X)[:7]
    for method in ("predict", "predict_joint_log_proba", "predict_interval"):
        assert identical(getattr(nb, method)(few), getattr(loaded, method)(few)), method
    assert getattr(nb, "log_evidence_", None) == getattr(loaded, "log_evidence_", None)
    assert identical(getattr(nb, "parts_", None), getattr(loaded, "parts_", None))


@pytest.mark.parametrize("name", ["bernoulli-sparse", "categorical-frame", "da", "kernel", "mixed-classes"])
def test_learning_goes_on_where_it_was_saved(name: str, tmp_path: Path) -> None:
    nb, X = copy.deepcopy(CASES[name])
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    first, second = slice(0, 40), slice(40, None)
    nb.partial_fit(X[first], LABELS[first], classes=np.unique(LABELS))
    loaded = again(nb, tmp_path)
    for one in (nb, loaded):
        one.partial_fit(X[second], LABELS[second]).forget(X[:5], LABELS[:5])
    assert identical(nb.posterior_, loaded.posterior_)
    again(bayesnb.with_class_prior(nb, [0.2, 0.3, 0.5]), tmp_path)


def test_labels_of_any_kind(tmp_path: Path) -> None:
    kinds = np.array(["b", "a", "c"], object), np.array([1, 2, 3], "m8[25s]"), np.array([1, 2, 3], ">i4")
    kinds += (
        np.array([3.5e9, -1.0, 2.0]),
        np.array(["b", "ä\N{SNOWMAN}", 'a"\\\n']),
        pd.Series([*"uvw"], dtype="category"),
    )
    for labels in kinds:
        y = labels.repeat(20)
        nb = bayesnb.GaussianNB().fit(REAL, y)
        assert identical(again(nb, tmp_path).predict(REAL), nb.predict(REAL))


def test_levels_of_any_kind(tmp_path: Path) -> None:
    for cells in (
        ["b", None, "a"],
        [np.float64(1.5), "a", 10**30],
        pd.cut([1.0, 2, 3], [0, 1, 2, 9]),
        pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", None]).tz_localize("Europe/Berlin")),
        pd.Categorical(pd.to_timedelta(["1s", "2ns", None])),
        np.array([1.0, np.nan, 0.0]),
    ):
        X = pd.DataFrame({"x": pd.Series(cells).repeat(20).reset_index(drop=True)})
        nb = bayesnb.CategoricalNB().fit(X, LABELS)
        assert identical(again(nb, tmp_path).predict_proba(X), nb.predict_proba(X))


def test_every_estimator_can_be_saved() -> None:
    public = {getattr(bayesnb.estimators, name) for name in bayesnb.estimators.__all__}
    # of one of the others; tests/analysis saves them
    around = {bayesnb.CalibratedClassifierLOO, bayesnb.PosteriorCalibrator, bayesnb.DiscriminativeNB}
    around |= {bayesnb.ConformalClassifierLOO}
    records = [kind for kind in pytrees.CLASSES.values() if kind.__module__.startswith("bayesnb.")]
    known = {kind for kind in records if hasattr(kind, "_from_file")}
    assert known - around == public == {type(nb) for nb, _ in CASES.values()}


# --- what is refused ------------------------------------------------------------------------------------------------


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        bayesnb.GaussianNB().save(path)

    class Derived(bayesnb.GaussianNB):
        pass

    with pytest.raises(ValueError, match="Derived cannot be found by its name"):
        Derived().fit(REAL, LABELS).save(path)
    nb = bayesnb.MixedNB([("all", bayesnb.GaussianNB(), lambda X: [0, 1, 2, 3])]).fit(REAL, LABELS)
    with pytest.raises(ValueError, match=r"`parts.0.2` is <function .* cannot hold code"):
        nb.save(path)
    again(nb.set_params(parts=[("all", bayesnb.GaussianNB(), [0, 1, 2, 3])]), tmp_path)
    with pytest.raises(ValueError, match=r"`priors` holds a pandas.* use a NumPy type"):
        bayesnb.GaussianNB(priors=pd.Series([0.2, 0.3, 0.5])).fit(REAL, LABELS).save(path)
    with pytest.raises(ValueError, match=r"`class_alpha` is an array of \|?(longdouble|float128)"):
        bayesnb.GaussianNB(class_alpha=np.array([1, 2, 3], np.longdouble)).fit(REAL, LABELS).save(path)
    assert not path.exists()


def test_hyperparameters_set_after_the_fit_are_refused(tmp_path: Path) -> None:
    nb = bayesnb.BernoulliNB().fit(COUNTS, LABELS)
    again(nb.set_params(estimate="mean"), tmp_path)  # needs no new fit
    with pytest.raises(ValueError, match=r"`prior_` is not the result of `fit` .* set after the fit"):
        nb.set_params(alpha=2.0).save(tmp_path / "m")
    with pytest.raises(ValueError, match="`alpha` is -1"):
        nb.set_params(alpha=-1.0).save(tmp_path / "m")


class _Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("went-off"),)


HEADERS = {
    "{": "header is not JSON",
    "[" * 10**5: "header is not JSON",
    '{"format": "1"}': "header is not JSON",
    '{"format": 2, "version": "9.1"}': "format 2 of bayesnb 9.1, but bayesnb",
    '{"format": 1, "sha256": ""}': "do not have the SHA-256",
    '{"format": 9, "version": "%s"}' % ("9" * 5000): "of bayesnb 9{300}, but",
}


def test_other_files_are_told_apart(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for content, message in (
        *((other, "is damaged, or was not written") for other in (b"", bytes(range(256)) * 9, pickle.dumps(_Bomb()))),
        (to_bytes({"weight": np.zeros(3)}), "but bayesnb did not write it"),
        *((to_bytes({}, metadata={"bayesnb": header}), message) for header, message in HEADERS.items()),
    ):
        Path("file.txt").write_bytes(content)
        with pytest.raises(ValueError, match=message) as error:
            bayesnb.load("file.txt")
        assert str(error.value).startswith("file.txt ") and len(str(error.value)) < 1000
        assert os.listdir() == ["file.txt"]
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing; check the path"):
        bayesnb.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="is a folder"):
        bayesnb.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        bayesnb.GaussianNB().fit(REAL, LABELS).save(tmp_path / "nowhere" / "model")


def forged(nb: Any, change: Any) -> bytes:
    """A file with a right digest, after its header and tensors were changed."""
    text, tensors = io._document(nb)
    header = json.loads(text)
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    ((_, model),) = header["model"].items()
    change(header, model, tensors)
    header["sha256"] = io._digest(header, tensors)
    return to_bytes(tensors, metadata={"bayesnb": json.dumps(header)})


def learn(name: str, value: Any) -> Any:
    """A change of what was learnt."""
    return lambda header, model, tensors: model["learnt"].__setitem__(name, value)


FORGERIES = [
    (lambda header, model, tensors: model["parameters"].update(mystery=1), "mystery"),
    (lambda header, model, tensors: model["parameters"].update(var_smoothing=-1), "var_smoothing"),
    (lambda header, model, tensors: tensors.update({"_state.statistics.n": np.ones(2)}), "describes no model"),
    (lambda header, *_: header.update(model={"PoissonNB": header["model"]["GaussianNB"]}), "unexpected"),
    (learn("__class__", {"type": "int"}), "'__class__' that cannot be learnt"),
    (learn("_state", {"os.system": "true"}), "unknown type 'os.system'"),
    (learn("_state", {"type": "eval"}), "'eval'"),
    (learn("_state", {"array": ["_state.statistics.n", "|O8", "C"]}), "describes no model"),
]


def test_a_file_builds_what_is_listed_and_nothing_else(tmp_path: Path) -> None:
    """A hyperparameter that an older release did not have takes its default."""
    nb = bayesnb.GaussianNB(var_smoothing=0.5).fit(REAL, LABELS)
    for change, message in FORGERIES:
        (tmp_path / "m").write_bytes(forged(nb, change))
        with pytest.raises(ValueError, match=message) as error:
            bayesnb.load(tmp_path / "m")
        assert str(error.value).startswith(f"{tmp_path / 'm'} describes no model")
    (tmp_path / "m").write_bytes(forged(nb, lambda header, model, tensors: model["parameters"].pop("var_smoothing")))
    assert bayesnb.load(tmp_path / "m").var_smoothing == bayesnb.GaussianNB().var_smoothing


def test_numbers_of_a_file_are_finite(tmp_path: Path) -> None:
    """But for the missing cells of a kernel density."""
    X, name = np.where(np.eye(*REAL.shape) == 1, np.nan, REAL), "_state.statistics.blocks.x."
    for nb, at, bad in (
        (bayesnb.KernelNB(), f"{name}value.1", np.inf),
        (bayesnb.KernelNB(), f"{name}weight.0", np.nan),
        (bayesnb.GaussianNB(), f"{name}mean", np.nan),
        (bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()), "maps_.1.mode", -np.inf),
    ):
        made = forged(nb.fit(X, LABELS), lambda header, model, tensors, at=at, bad=bad: tensors[at].put(0, bad))
        (tmp_path / "m").write_bytes(made)
        with pytest.raises(ValueError, match=f"is damaged: .*{at} has numbers that are not finite"):
            bayesnb.load(tmp_path / "m")
    nb = bayesnb.KernelNB().fit(X, LABELS)
    (tmp_path / "m").write_bytes(forged(nb, lambda *_: None))
    np.testing.assert_array_equal(bayesnb.load(tmp_path / "m").predict_proba(X), nb.predict_proba(X))


# --- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("failing", "error"), [("fsync", OSError), ("replace", KeyboardInterrupt), ("chmod", OSError)])
def test_a_save_that_fails_leaves_the_old_file(failing: str, error: type, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "model"
    bayesnb.GaussianNB().fit(REAL, LABELS).save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise error("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(io.os, failing, fail)
        with pytest.raises(error, match="no space left"):
            bayesnb.PoissonNB().fit(COUNTS, LABELS).save(path)
    assert os.listdir(tmp_path) == ["model"]
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="pipes")
def test_what_is_no_file_is_written_to_or_refused_and_stays_what_it_is(tmp_path: Path) -> None:
    nb = bayesnb.GaussianNB().fit(REAL, LABELS)
    nb.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()

    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        nb.save(tmp_path / "pipe")
        assert reader.communicate()[0] == whole
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)

    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder is a directory; name a file in it"):
        nb.save(tmp_path / "folder")

    assert set(os.listdir(tmp_path)) == {"model", "pipe", "folder"}


@pytest.mark.skipif(os.name != "posix", reason="permission bits and links")
def test_permissions_are_those_of_any_file(tmp_path: Path) -> None:
    nb, path = bayesnb.GaussianNB().fit(REAL, LABELS), tmp_path / "model"
    before = os.umask(0o027)
    try:
        nb.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    nb.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    link = tmp_path / "link"
    link.symlink_to(path)
    nb.set_params(estimate="mean").save(link)
    assert link.is_symlink()
    assert bayesnb.load(path).estimate == "mean"
