"""How many functions of the package a small table goes through."""

import pytest

from ..sums.test_processes import result, start


@pytest.mark.slow
def test_a_small_fit_and_prediction_stay_short():
    """In a process of its own: here types are checked, which takes calls as well."""
    code = "from tests.benchmarks.path_of_x import ways; print([(a, len(b), c) for a, b, c in ways().values()])"
    found = result(start(code))
    for (calls, files, deep), most in zip(eval(found), [(73, 11, 11), (49, 11, 12)], strict=True):
        assert calls <= most[0] and files <= most[1] and deep <= most[2], found
