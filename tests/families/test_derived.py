"""A derived family can err only in its gain, `added` and `eta`: against NumPyro's densities, by quadrature."""

from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import logsumexp

from bayesnb import families
from bayesnb.families.base import to_sites

pytestmark = pytest.mark.usefixtures("x64")


def ones(*values: float) -> list[np.ndarray]:
    return [np.full((1, 1), value) for value in values]


CASES: dict[str, tuple[Any, list[float]]] = {  # a prior of one class and one feature, and three cells
    "bernoulli": (families.BetaBernoulli(*ones(1.7, 2.6)), [1.0, 0.0, 1.0]),
    "geometric": (families.BetaGeometric(*ones(2.7, 2.6)), [0.0, 3.0, 1.0]),
    "negative binomial": (families.BetaNegativeBinomial(*ones(2.7, 2.6), 2.5), [0.0, 3.0, 1.0]),
    "poisson": (families.GammaPoisson(*ones(2.7, 1.6)), [0.0, 3.0, 1.0]),
    "exponential": (families.GammaExponential(*ones(2.7, 1.6)), [0.3, 2.1, 1.0]),
    "categorical": (families.DirichletCategorical(np.array([[[1.7, 2.6]]])), [1.0, 0.0, 1.0]),
    "gaussian": (families.NormalInverseGamma(*ones(0.4, 1.3, 3.1, 2.2)), [0.3, -2.1, 1.0]),
    "log-normal": (families.LogNormal(*ones(0.4, 1.3, 3.1, 2.2)), [0.3, 2.1, 1.0]),
}
T = np.linspace(-4.2, 4.2, 301)  # double-exponential nodes


def nodes(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of a parameter in the basis in which the family holds it, and log weights of dθ."""
    u = np.sinh(T)
    if kind == "Normal":
        return 3 * u, np.log(3 * np.cosh(T))
    if kind in ("Beta", "Dirichlet"):
        return u, -np.logaddexp(0, u) - np.logaddexp(0, -u) + np.log(np.cosh(T))
    return (np.exp(u / 2) if kind == "InverseGamma" else u / 2), u / 2 + np.log(np.cosh(T) / 2)


def log_density(stated: Any, value: Any) -> np.ndarray:
    """log p of a value, of a distribution named with its arguments."""
    kind, *arguments = stated
    return np.asarray(getattr(dist, kind)(*arguments, validate_args=False).log_prob(value))


class Named:
    """The distributions of NumPyro by name."""

    def __getattr__(self, kind: str) -> Any:
        return lambda *arguments: (kind, *arguments)


def log_evidence(family: Any, cells: list[float]) -> float:
    """log ∫ p(x | θ) p(θ) dθ over a grid of one or two parameters, by NumPyro's densities alone."""
    terms: list[np.ndarray] = []

    def sample(name: str, stated: Any) -> np.ndarray:
        kind = stated[0]
        value, log_weight = nodes(kind)
        if kind == "Dirichlet":  # of two levels
            log_p, log_q = -np.logaddexp(0, -value), -np.logaddexp(0, value)
            shares = np.stack([log_p, log_q], -1)
            terms.append(log_density((kind, stated[1][0, 0]), np.exp(shares)) + log_weight)
            return shares
        natural = {"Beta": lambda v: 1 / (1 + np.exp(-v)), "Gamma": np.exp}.get(kind, lambda v: v)(value)
        if kind == "Normal":  # given the variance along the first axis
            spread = np.ravel(stated[2])[:, None]
            terms.append(log_density(("Normal", stated[1][0, 0], spread), value[None]) + log_weight)
            return value[None]
        one = log_density((kind, *(v[0, 0] for v in stated[1:])), natural) + log_weight
        terms.append(one[:, None] if kind == "InverseGamma" else one)
        return value[:, None] if kind == "InverseGamma" else value

    theta: dict[str, Any] = {}
    names = {name.removeprefix("log_").removeprefix("logit_"): name for name in family.parameters}

    def keep(name: str, stated: Any) -> Any:
        theta[names[name]] = sample(name, stated)
        return theta[names[name]]

    family.prior(keep, Named())
    axes = len(terms)
    stated = family.likelihood(Named(), **to_sites(theta))
    for cell in cells:
        terms.append(log_density(stated, int(cell) if stated[0].startswith("Categorical") else cell))
    return float(logsumexp(sum(terms))) + axes * float(np.log(T[1] - T[0]))


@pytest.mark.parametrize("name", CASES)
def test_evidence_is_the_integral(name: str) -> None:
    """Of all cells, of two and then the third (`added`), and the third left out again."""
    family, cells = CASES[name]
    x, r = np.array(cells)[:, None], np.ones((3, 1))
    want = log_evidence(family, cells)
    assert family.log_marginal(family.suffstats(x, r)).item() == pytest.approx(want, abs=1e-7)
    first = family.suffstats(x[:2], r[:2])
    last = family.update(first).log_predictive(x[2:]).item()
    assert family.log_marginal(first).item() + last == pytest.approx(want, abs=1e-7)
    assert family.update(family.suffstats(x, r)).log_loo(x, r)[2, 0] == pytest.approx(last, abs=1e-12)
