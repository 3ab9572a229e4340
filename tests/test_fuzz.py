"""Damaged files and tables that nobody would send: a sentence or an answer, never a traceback, never nonsense.

Every example has its own seed, so that one that fails can be run alone; few of them keep the run short.
"""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.tables.readers import open_table

from .estimators_table import mostly_slow

RNG = np.random.default_rng(3)
REAL, COUNTS = RNG.normal(size=(30, 3)), RNG.poisson(2.0, (30, 3))
LABELS = np.array(["a", "b", "c"])[np.arange(30) % 3]
FRAME = pd.DataFrame({"x": REAL[:, 0], "kind": RNG.choice(["u", "v"], 30), "n": COUNTS[:, 0]})
MODELS = {
    "gaussian": (bayesnb.GaussianNB(), REAL),
    "da": (bayesnb.GaussianDA(priors=[0.2, 0.3, 0.5]), REAL),
    "kernel": (bayesnb.KernelNB(), REAL.round(0)),
    "multinomial": (bayesnb.MultinomialNB(alpha=[1.0, 2.0, 0.5]), COUNTS),
    "mixed": (bayesnb.MixedNB(), FRAME),
}


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file after an accident."""
    array, at = np.frombuffer(data, np.uint8).copy(), int(rng.integers(len(data)))
    match rng.integers(6):
        case 0 | 1:
            array[at] ^= 1 << rng.integers(8)
        case 2:
            array[at : at + rng.integers(1, 64)] = rng.integers(256)
        case 3:
            return data[:at]
        case 4:
            return data[:at] + rng.bytes(rng.integers(1, 9)) + data[at:]
        case _:
            return data[:at] + data[at + rng.integers(1, 9) :]
    return array.tobytes()


KINDS = ("BOOL", "U8", "I64", "F16", "F64", "BF16", "F8_E4M3", "F8_E5M2", "C64", "F4", "", 7)
SIZES = (-1, 0, 1, 7, 8, 64, 2**31, 2**63, 10**30, 0.5, None, "8", [])


def with_other_header(data: bytes, rng: np.random.Generator) -> bytes:
    """A file whose header of tensors was edited: types, shapes, places, names, the texts beside them, its length."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = list(header)[rng.integers(len(header))]
    match rng.integers(7):
        case 0 | 1 if name != "__metadata__":
            header[name]["dtype"] = KINDS[rng.integers(len(KINDS))]
        case 2 if name != "__metadata__":
            header[name]["shape"] = [SIZES[i] for i in rng.integers(len(SIZES), size=rng.integers(4))]
        case 3 if name != "__metadata__":
            header[name]["data_offsets"] = [SIZES[i] for i in rng.integers(len(SIZES), size=rng.integers(4))]
        case 4:
            header[str(rng.choice(["x", "", "__metadata__", "\x00"]))] = header.pop(name)
        case 5:
            inner = header["__metadata__"]["bayesnb"]
            at, depth = int(rng.integers(len(inner))), int(rng.choice([1, 90, 500, 985, 992, 2000]))
            header["__metadata__"]["bayesnb"] = inner[:at] + "[" * depth + "]" * depth + inner[at:]
        case _:
            header["__metadata__"] = [{}, None, {"bayesnb": ""}, {"bayesnb": 1}, "x"][rng.integers(5)]
    text = json.dumps(header).encode()
    told = [len(text), len(text) - 1, len(text) + 1, 0, 2**40, 2**63][rng.choice(6, p=[0.75, *[0.05] * 5])]
    return told.to_bytes(8, "little") + text + data[8 + length :]


@pytest.mark.parametrize("harm", [damaged, with_other_header])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("many", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_damaged_file_is_refused(name: str, many: int, harm: Any, tmp_path: Path) -> None:
    """By a `ValueError` that names the file, with little memory; else it predicts what the saved model does."""
    nb, X = MODELS[name]
    path = tmp_path / "model"
    nb.fit(X, LABELS).save(path)
    whole, before = path.read_bytes(), nb.predict_log_proba(X)
    for seed in range(many):
        path.write_bytes(harm(whole, np.random.default_rng(seed)))
        tracemalloc.start()
        try:
            loaded = bayesnb.load(path)
        except ValueError as error:
            assert str(error).startswith(f"{path} ") and "\n" not in str(error) and len(str(error)) < 1000, seed
        else:
            assert np.array_equal(loaded.predict_log_proba(X), before), seed
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert most < 64 << 20, seed


CELLS = (
    *"1 0 -1 2.5 7 1e300 -1e300 1e-320 1e400 inf -inf nan NaN NA null 9223372036854775808 0x10 1_000 ١٢ 1,5".split(),
    *"True FALSE 2020-01-01 a b ä \U0001f600 a;b ' # =1+1 1/0 \\ None é e\u0301".split(),
    *("", " ", "1" * 400, "a" * 300, '"', '""', '"a\nb"', "\x00", "\ufeff"),
)


def table(rng: np.random.Generator) -> bytes:
    """A table, or what claims to be one."""
    if rng.random() < 0.08:
        return rng.bytes(rng.integers(0, 200))
    rows, columns = int(rng.choice([0, 1, 3, 6, 9, 14, 14, 14])), int(rng.integers(1, 5))
    names = [f"c{j}" for j in range(columns)] + ["y"]
    if rng.random() < 0.15:
        names[rng.integers(columns)] = CELLS[rng.integers(len(CELLS))]
    if rng.random() < 0.05:
        names[0] = names[-1 if rng.random() < 0.5 else len(names) // 2]
    odd = rng.choice([0, 0, 0.1, 1.0])
    kinds = rng.integers(0, 4, columns)
    lines = [names]
    for _ in range(rows):
        made = [
            [f"{rng.normal():.3g}", str(rng.poisson(1)), rng.choice(["u", "v"]), str(rng.integers(2))][k] for k in kinds
        ]
        line = [*made, str(rng.choice(["p", "q"]))]
        line = [CELLS[rng.integers(len(CELLS))] if rng.random() < odd / 2 else cell for cell in line]
        if rng.random() < 0.01:
            line = line[:-1] if rng.random() < 0.5 else [*line, "extra"]
        lines.append(line)
    end, mark = ["\n", "\r\n", "\r"][rng.choice(3, p=[0.8, 0.1, 0.1])], ",;\t|"[rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
    encoding = ["utf-8", "utf-8-sig", "utf-16", "latin-1"][rng.choice(4, p=[0.8, 0.14, 0.03, 0.03])]
    data = end.join(mark.join(line) for line in lines).encode(encoding, "replace")
    if rng.random() < 0.05 and data:
        at = rng.integers(len(data))
        data = data[:at] + rng.bytes(1) + data[at + 1 :]
    return data


def run(arguments: list[str], capsys: Any) -> tuple[int, str]:
    """Exit code and standard output; one line of standard error, beside notes, where the input cannot be used."""
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("note: "))
    assert code in (0, 2), arguments
    assert err.count("\n") == (code == 2), err
    assert code == 0 or err.startswith("bayesnb: ")
    return code, out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chunk", mostly_slow(range(20), lambda chunk: chunk == 0))
def test_all_commands_agree_on_malformed_tables(chunk: int, tmp_path: Path, capsys: Any) -> None:
    """300 files: an exit code and one line, and one role for each column in `describe`, `fit` and `MixedNB.fit`."""
    data, other, model, page = (str(tmp_path / name) for name in ("data.csv", "other.csv", "model", "page.html"))
    for seed in range(chunk, 300, 20):
        rng = np.random.default_rng([7, seed])
        Path(data).write_bytes(table(rng))
        Path(other).write_bytes(table(rng))
        Path(model).unlink(missing_ok=True)
        asked = [data, "--target", "y"]
        described, _ = run(["describe", *asked], capsys)
        fitted, told = run(["fit", *asked, "-o", model], capsys)
        assert Path(model).exists() == (fitted == 0), seed
        run(["fit", *asked, "--model", str(rng.choice(cli.MODELS)), "-o", str(tmp_path / "variant")], capsys)
        run(["select", *asked, "--max", "2"], capsys)
        run(["compare", *asked, "--models", "categorical,mixed"], capsys)
        if seed == 19:
            run(["report", *asked, "-o", page], capsys)
        assert fitted == 2 or described == 0, seed
        if fitted:
            continue
        for rows in (data, other):
            interval = ["--interval", "0.9"] if seed % 5 == 0 else []
            code, out = run(["predict", model, rows, *interval], capsys)
            assert code == 0 or rows == other or "left out" in told, seed  # rows that were fitted can be predicted
            if code == 0:
                found = pd.read_csv(io.StringIO(out), keep_default_na=False)
                assert np.isfinite(found.filter(regex=r"^p\(|^probability").to_numpy(float)).all(), seed
                assert np.allclose(found.filter(regex=r"^p\(").sum(axis=1), 1), seed
        roles = {column.name: column.role for column in bayesnb.load(model).contract_.columns}
        frame = open_table(data).first
        frame = frame[frame["y"].notna()].reset_index(drop=True)
        assert {column.name: column.role for column in bayesnb.describe(frame, "y").columns} == roles, seed
        mixed = bayesnb.MixedNB().fit(frame.drop(columns="y"), frame["y"])
        assert {column.name: column.role for column in mixed.contract_.columns} | {"y": "target"} == roles, seed
