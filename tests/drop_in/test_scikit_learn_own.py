"""scikit-learn's own tests of its naive Bayes, taken from the installed wheel, run against `bayesnb.drop_in`.

The tests become tests of this module, under their own names, with one line changed: where the classes come from.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from bayesnb import drop_in

VERSION = parse_version(sklearn.__version__)
ARRAY_API = "array-API namespaces: whatever holds X, NumPy computes in float64"
EXCUSED = {"test_gnb_array_api_compliance": ARRAY_API} if VERSION >= parse_version("1.8") else {}

THEIRS, OURS = "from sklearn.naive_bayes import", "from bayesnb.drop_in import"


def source() -> tuple[str, str]:
    """Text of scikit-learn's tests with the import redirected, and where they lie."""
    spec = find_spec("sklearn.tests.test_naive_bayes")
    assert spec is not None and spec.origin, "this scikit-learn comes without its tests"
    text = Path(spec.origin).read_text("utf-8")
    assert text.count(THEIRS) == text.count("sklearn.naive_bayes") == 1, "naive Bayes is imported in some new way"
    return text.replace(THEIRS, OURS), spec.origin


def excuse(reason: str) -> Any:
    """A test that is skipped for a reason."""

    @pytest.mark.skip(reason=reason)
    def test() -> None: ...

    return test


theirs: dict[str, Any] = {"__name__": __name__}
exec(compile(*source(), "exec"), theirs)
COLLECTED = {name: test for name, test in theirs.items() if name.startswith("test_")}
globals().update(COLLECTED, **{name: excuse(reason) for name, reason in EXCUSED.items()})

# scikit-learn does not make errors of warnings; where this one is the point, `pytest.warns` asks for it
pytestmark = pytest.mark.filterwarnings("ignore:alpha too small:UserWarning")


@pytest.fixture(params=range(3))
def global_random_seed(request: pytest.FixtureRequest) -> int:
    """In the place of the fixture of scikit-learn's conftest."""
    return request.param


@pytest.fixture
def global_dtype() -> type:
    """In the place of the fixture of scikit-learn's conftest."""
    return np.float64


def test_they_test_our_classes() -> None:
    """And an excuse names a test."""
    assert len(COLLECTED) >= 30 and EXCUSED.keys() <= COLLECTED.keys()
    for name in drop_in.__all__:
        assert theirs[name] is getattr(drop_in, name)
