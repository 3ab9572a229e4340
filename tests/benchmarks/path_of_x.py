"""The path of X from `GaussianNB.fit` to `predict_proba`: calls of bayesnb's functions, and files touched."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bayesnb

ROOT = str(Path(bayesnb.__file__).parent)


def path_of(call: Callable[[], Any]) -> list[str]:
    """The file of every function of bayesnb that a call enters, in order."""
    files: list[str] = []

    def enter(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            files.append(frame.f_code.co_filename[len(ROOT) + 1 :])

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


if __name__ == "__main__":
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 3
    nb = bayesnb.GaussianNB().fit(X, y)
    nb.predict_proba(X)  # what is made at the first call only is there now
    for name, call in (("fit", lambda: nb.fit(X, y)), ("predict_proba", lambda: nb.predict_proba(X))):
        found = path_of(call)
        print(f"{name}: {len(found)} calls, {len({*found})} files: {', '.join(sorted({*found}))}")
