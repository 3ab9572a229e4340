"""The path of X from `GaussianNB.fit` to `predict_proba`: calls of bayesnb's functions, files touched, and depth."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bayesnb

ROOT = str(Path(bayesnb.__file__).parent)


class Way(NamedTuple):
    """What a call goes through."""

    calls: int
    files: set[str]
    deep: int


def path_of(call: Callable[[], Any]) -> Way:
    """The functions of bayesnb that a call enters."""
    files: list[str] = []
    depth = [0]

    def enter(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_filename.startswith(ROOT):
            depth.append(depth[-1] + {"call": 1, "return": -1}.get(event, 0))
            if event == "call":
                files.append(frame.f_code.co_filename[len(ROOT) + 1 :])

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Way(len(files), {*files}, max(depth))


def ways() -> dict[str, Way]:
    """Those of `fit` and of `predict_proba`, on 200 rows of 5 columns."""
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 3
    nb = bayesnb.GaussianNB().fit(X, y)
    nb.predict_proba(X)  # what is imported at the first call only is there now
    return {"fit": path_of(lambda: nb.fit(X, y)), "predict_proba": path_of(lambda: nb.predict_proba(X))}


if __name__ == "__main__":
    for name, way in ways().items():
        print(f"{name}: {way.calls} calls, {len(way.files)} files, {way.deep} deep: {', '.join(sorted(way.files))}")
