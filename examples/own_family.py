"""A family of one's own, in a file of one's own: Weibull lifetimes with a known shape.

    λ_cj ~ Gamma(a_cj, rate b_cj)
    p(x_ij | y_i = c) = λ_cj k x^(k−1) exp(−λ_cj x^k)     k known; x^k is exponential with rate λ

The author writes the prior, the likelihood and the gain. Everything else is derived: evidence, prediction,
leave-one-out, intervals, draws, the NumPyro model, an estimator, comparison, prior fitting, files and the check.
"""

import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bayesnb
from bayesnb.families import AMOUNT, COUNT, Cells, Conjugate, Field, declare, log1p, log_rising, namespace, pytree
from bayesnb.testing import check_family

Array = Any


@pytree
@dataclass(frozen=True)
class GammaWeibull(Conjugate):
    """Gamma density of each λ_cj, prior or posterior: a (c, d) shape, b (c, d) rate in the unit of x^k; k the shape."""

    a: Array
    b: Array
    k: float = field(default=1.0, metadata={"static": True})

    fields_ = declare(a=Field(COUNT), b=Field(AMOUNT, per="a"))
    constants_ = declare(k=COUNT)
    cells_ = Cells("positive")
    parameters = ("log_rate",)

    def prior(self, sample: Any, dist: Any) -> None:
        """λ ~ Gamma(a, rate b)."""
        sample("rate", dist.Gamma(self.a, self.b))

    def likelihood(self, dist: Any, rate: Array) -> Any:
        """NumPyro's Weibull has the scale λ^(−1/k)."""
        return dist.Weibull(rate ** (-1 / self.k), self.k)

    def statistic(self, x: Array) -> Array:
        """x^k."""
        return x**self.k

    def log_h(self, x: Array) -> Array:
        """log k + (k − 1) log x."""
        return np.log(self.k) + (self.k - 1) * namespace(x).log(x)

    def eta(self, log_rate: Array) -> tuple[Array, Array]:
        """Level log λ and slope −λ of log p(x | λ) = level + slope x^k + log h(x)."""
        return log_rate, -namespace(log_rate).exp(log_rate)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + n, b + Σ x^k."""
        return a + s.n, b + s.total

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log Γ(a+n)/Γ(a) − (a+n) log(1 + s/b) − n log b, s = Σ x^k."""
        return log_rising(a, s.n) - (a + s.n) * log1p(s.total / b) - s.n * namespace(b).log(b)


def main() -> None:
    """Lifetimes of an old and a new make of a part, in two machines."""
    rng = np.random.default_rng(0)
    y = np.repeat(["new", "old"], 60)
    X = rng.weibull(2.0, (120, 2)) * np.where(y == "new", 3.0, 2.0)[:, None]
    check_family(GammaWeibull(1.0, 1.0, 2.0))
    nb = bayesnb.FamilyNB(GammaWeibull(1.0, 1.0, 2.0)).fit(X, y)
    print(f"evidence {nb.log_evidence_:.2f}, leave-one-out {nb.loo(X, y).elpd:.2f} nats")
    low, high = nb.predict_interval(X[:1])[0, 1]
    print(f"p(old) of a row {nb.predict_proba(X[:1])[0, 1]:.3f}, 90 % interval {low:.3f} to {high:.3f}")
    print(bayesnb.compare({"Weibull": nb, "exponential": bayesnb.ExponentialNB()}, X, y))
    print(f"prior of the largest evidence {bayesnb.fit_prior(nb, X, y).hyperparameters}")
    parts = [("lifetimes", nb, [0]), ("other", bayesnb.GaussianNB(), [1])]
    print(f"one of two parts: accuracy {bayesnb.MixedNB(parts).fit(X, y).loo(X, y).accuracy:.2f}")
    print(f"dimensions of ArviZ's draws: {nb.sample_posterior(100)['posterior']['rate'].dims}")
    with tempfile.TemporaryDirectory() as folder:
        nb.save(f"{folder}/model")
        assert (bayesnb.load(f"{folder}/model").predict(X) == nb.predict(X)).all()
    print(nb.check(X, y))


if __name__ == "__main__":
    main()
