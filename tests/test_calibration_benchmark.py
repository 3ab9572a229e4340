"""The measures of the calibration benchmark: their numbers are those of the definitions."""

import math

import numpy as np
import pytest

from .benchmarks import calibration


def test_calibrated_and_overconfident_forecasts(rng: np.random.Generator) -> None:
    p = rng.uniform(0.5, 1, 100_000)
    right = rng.random(len(p)) < p
    # 15 bins of 6,667 rows: a mean |gap| of at most √(2/π) ½/√6667 = 0.005 in each
    assert calibration.calibration_error(p, right) < 0.005
    assert calibration.calibration_error(np.minimum(p + 0.2, 1), right) == pytest.approx(
        np.minimum(0.2, 1 - p).mean(), abs=0.005
    )


def test_impossible_rows_are_counted_and_shown_as_infinite() -> None:
    with np.errstate(under="ignore"):
        found = calibration.measures(np.log([[1.0, 1e-305], [0.5, 0.5]]), np.array([1, 0]))
    assert found["impossible"] == 0.5
    assert found["log loss"] == pytest.approx((305 * math.log(10) + math.log(2)) / 2)
    assert found["clipped"] == pytest.approx((-math.log(np.finfo(float).eps) + math.log(2)) / 2)
    record = {name: [value, value] for name, value in found.items()}
    assert calibration.cell({"estimate": "mle", **record}, "log loss") == "∞ (50 %)"
    assert calibration.cell({"estimate": "predictive", **record}, "log loss") == "351 ± 0"
