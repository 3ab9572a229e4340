"""Counts up to 1e15 keep twelve digits under models that are made for long counts: against 60 digits."""

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from bayesnb import ExponentialNB, MultinomialNB, PoissonNB
from bayesnb.families import GammaExponential, GammaPoisson

from .estimators_table import WHOLE

SCALES = [1e3, 1e6, 1e9, 1e12, 1e15]


def negative_binomial(x: Any, a: Any, b: Any) -> Any:
    return (
        mp.loggamma(a + x) - mp.loggamma(a) - mp.loggamma(x + 1) - a * mp.log1p(1 / b) - x * mp.log1p(b)
    )  # log Γ(a+x)/(Γ(a) x!) (b/(b+1))^a (b+1)^−x


def lomax(x: Any, a: Any, b: Any) -> Any:
    return mp.log(a / b) - (a + 1) * mp.log1p(x / b)


def of_poisson(k: int, x: Any, a: Any, b: Any) -> Any:
    return (
        x * (mp.psi(0, a) - mp.log(b)) - a / b - mp.loggamma(x + 1),
        x**2 * mp.psi(1, a) + a / b**2 - 2 * x / b,
        x**3 * mp.psi(2, a) - 2 * a / b**3 + 3 * x / b**2,
    )[k]


def of_exponential(k: int, x: Any, a: Any, b: Any) -> Any:
    return (
        mp.psi(0, a) - mp.log(b) - x * a / b,
        mp.psi(1, a) + x**2 * a / b**2 - 2 * x / b,
        mp.psi(2, a) - 2 * a * x**3 / b**3 + 3 * x**2 / b**2,
    )[k]


MODELS = [
    (GammaPoisson, negative_binomial, of_poisson),
    (GammaExponential, lomax, of_exponential),
]
each_model = pytest.mark.parametrize(("family", "log_cell", "cumulant"), MODELS, ids=["poisson", "lomax"])


def table(f: Callable[..., Any], x: np.ndarray, block: Any) -> np.ndarray:
    """Σ_j f(x_ij, a_cj, b_cj) with 60 digits, (n, c)."""

    def cell(*values: float) -> Any:
        return f(*(mp.mpf(float(value)) for value in values))

    with mp.workdps(60):
        return np.array(
            [
                [sum(cell(*v) for v in zip(row, a, b, strict=True)) for a, b in zip(block.a, block.b, strict=True)]
                for row in x
            ]
        )


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest error, relative to max(1, |value|)."""
    pairs = zip(np.ravel(found), np.ravel(expected), strict=True)
    return max(float(abs(mp.mpf(float(f)) - e) / max(1, abs(e))) for f, e in pairs)


def rows_and_block(family: Any, scale: float) -> tuple[np.ndarray, Any]:
    """Five rows near what the first of two classes expects, of four columns, one of them with small counts."""
    rng = np.random.default_rng(int(np.log10(scale)))
    rows = np.round(10 ** rng.uniform(0, 5, (2, 4))) + 0.5
    level = np.append(scale * 10 ** rng.uniform(-1, 0, 3), 3)
    other = rows * level * [[1], [1.001]] + 0.5
    x = np.ceil(level * (1 + 0.1 * rng.normal(size=(5, 4))))
    return x, family(other, rows) if family is GammaPoisson else family(rows, other)


@each_model
@pytest.mark.parametrize("scale", SCALES)
def test_predictives_and_cumulants_keep_their_digits(family: Any, log_cell: Any, cumulant: Any, scale: float) -> None:
    check_predictive(family, log_cell, scale)
    check_cumulants(family, cumulant, scale)


def check_predictive(family: Any, log_cell: Any, scale: float) -> None:
    """Twelve digits of the table, of log odds and of sparse rows."""
    x, block = rows_and_block(family, scale)
    expected = table(log_cell, x, block)
    found = block.log_predictive(x)
    assert off(found, expected) < 1e-12
    odds, exact = found[:, 1] - found[:, 0], expected[:, 1] - expected[:, 0]
    assert off(odds / abs(expected[:, 0]).astype(float), exact / abs(expected[:, 0])) < 1e-12
    score = block.log_score(x)
    assert off(score[:, 1] - score[:, 0], exact) < 1e-11
    if family is not GammaExponential:
        np.testing.assert_allclose(block.log_predictive(sparse.csr_array(x)), found, rtol=1e-13)
    one = np.where(np.arange(5)[:, None] == np.arange(5), x[:, :1], 0)  # long rows among others
    if family is not GammaExponential:
        both = family(np.tile(block.a[:, :1], 5), np.tile(block.b[:, :1], 5))
        np.testing.assert_allclose(both.log_predictive(sparse.csr_array(one)), both.log_predictive(one), rtol=1e-12)


def check_cumulants(family: Any, cumulant: Any, scale: float) -> None:
    """Twelve digits of the mean, ten of the variance, nine of the third cumulant."""
    x, block = rows_and_block(family, scale)
    x = x[:, :3] + 256
    block = block.select(np.arange(3))
    mean, variance = block.log_moments(x)
    assert off(mean, table(lambda *v: cumulant(0, *v), x, block)) < 1e-12
    exact = table(lambda *v: cumulant(1, *v), x, block)
    assert max(float(abs(mp.mpf(f) / e - 1)) for f, e in zip(variance.ravel(), exact.ravel(), strict=True)) < 1e-10
    third, own = block.log_third_cumulant(x), table(lambda *v: cumulant(2, *v), x, block)
    size = np.maximum(abs(own), exact ** mp.mpf(1.5))
    assert max(float(abs(f - e) / s) for f, e, s in zip(third.ravel(), own.ravel(), size.ravel(), strict=True)) < 1e-9


@pytest.mark.parametrize("nb", [PoissonNB(), *WHOLE, ExponentialNB()], ids=repr)
def test_leaving_out_a_row_is_a_refit_without_it(nb: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.round(1e12 * rng.uniform(0.5, 1, (12, 3)))
    y = np.arange(12) % 2
    nb.set_params(**{name: 1.0 for name in ("alpha", "beta") if name in nb.get_params()})
    found = nb.fit(X, y).loo(X, y).log_joint
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        refit = type(nb)(**nb.get_params()).fit(X[rest], y[rest])
        np.testing.assert_allclose(found[i], refit.predict_joint_log_proba(X[[i]])[0], rtol=1e-11)
    assert np.isfinite(nb.predict_interval(X)).all()


@pytest.mark.parametrize("nb", [PoissonNB(), MultinomialNB()], ids=repr)
def test_an_evidence_that_would_be_rounding_is_refused(nb: Any) -> None:
    X = np.array([[3.0, 5.0], [4.0, 4.0], [5.0, 3.0], [2.0, 6.0]])
    assert np.isfinite(nb.fit(1e6 * X, [0, 1, 0, 1]).log_evidence_)
    assert np.isfinite(nb.fit(1e14 * X, [0, 1, 0, 1]).log_evidence_)  # -1e13 nats: these counts are far apart
    with pytest.raises(ValueError, match=r"`X` holds counts so large .* may change log_evidence_"):
        _ = nb.fit(1e14 + 1e7 * X, [0, 1, 0, 1]).log_evidence_
