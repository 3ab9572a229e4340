"""A family of one's own, in a file of one's own: Weibull lifetimes with a known shape.

    λ_cj ~ Gamma(a_cj, rate b_cj)
    p(x_ij | y_i = c) = λ_cj k x^(k−1) exp(−λ_cj x^k)     k known; x^k is exponential with rate λ

The author writes one cell. Everything after the class is bayesnb's: the laws, an estimator, leave-one-out, intervals,
evidence, comparison, prior fitting, parts of MixedNB, ArviZ, files and the check against NumPyro.
"""

import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import bayesnb

# isort: off
from bayesnb.families import AMOUNT, COUNT, AbstractIndependent, Cells, Field, declare, n_rows, observed, pytree
from bayesnb.families import digamma, gammaln, log_floor, log_gamma, log_rising, namespace, trigamma

# isort: on
from bayesnb.testing import check_family

Array = Any


@pytree
@dataclass(frozen=True)
class GammaWeibull(AbstractIndependent):
    """Gamma density of each λ_cj, prior or posterior: a (c, d) shape, b (c, d) rate in the unit of x^k; k the shape."""

    a: Array
    b: Array
    k: float = field(default=1.0, metadata={"static": True})

    fields_ = declare(a=Field(COUNT, ("class", "feature")), b=Field(AMOUNT, ("class", "feature"), per="a"))
    constants_ = declare(k=COUNT)
    cells_ = Cells("positive")
    parameters = ("log_rate",)

    def statistic(self, x: Array) -> Array:
        """x^k."""
        return x**self.k

    def log_base(self, x: Array) -> Array:
        """log k + (k − 1) log x."""
        return np.log(self.k) + (self.k - 1) * namespace(x).log(x)

    def updated(self, data: Any, a: Array, b: Array) -> tuple[Array, Array]:
        """a + n, b + Σ x^k."""
        return a + data.n, b + data.total

    def log_normalizer(self) -> Array:
        """log Γ(a) − a log b."""
        return gammaln(self.a) - self.a * namespace(self.b).log(self.b)

    def log_marginal(self, data: Any) -> Array:
        """log Γ(a+n)/Γ(a) − a log(1 + s/b) − n log(b+s) + log base measure, s = Σ x^k."""
        xp, s = namespace(self.a, data.n), data.total
        ratio = log_rising(self.a, data.n) - self.a * xp.log1p(s / self.b)
        return ratio - data.n * xp.log(self.b + s) + data.log_h

    def log_prob(self, theta: dict[str, Array]) -> Array:
        """(a − 1) log λ − bλ − log Γ(a) + a log b."""
        log_rate = theta["log_rate"]
        return (self.a - 1) * log_rate - self.b * namespace(log_rate).exp(log_rate) - self.log_normalizer()

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """log a/b − (a+1) log(1 + x^k/b) + log base measure."""
        xp = namespace(x, a)
        return xp.log(a) - xp.log(b) - (a + 1) * xp.log1p(self.statistic(x) / b) + self.log_base(x)

    def cell_likelihood(self, x: Array, log_rate: Array) -> Array:
        """log λ − λ x^k + log base measure."""
        return log_rate - namespace(log_rate).exp(log_rate) * self.statistic(x) + self.log_base(x)

    def cell_moments(self, x: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """ψ(a) − log b − ta/b + log base measure and ψ₁(a) + t²a/b² − 2t/b, t = x^k."""
        t = self.statistic(x)
        mean = digamma(a) - namespace(b).log(b) - t * a / b + self.log_base(x)
        return mean, trigamma(a) + t * t * a / b / b - 2 * t / b

    def sample(self, key: Any, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """log λ = log G(a) − log b."""
        return {"log_rate": log_gamma(key, self.a, shape) - namespace(self.b).log(self.b)}

    def mean(self) -> dict[str, Array]:
        """a / b."""
        return {"log_rate": log_floor(self.a / self.b)}

    def mode(self) -> dict[str, Array]:
        """(a − 1) / b; 0 where a ≤ 1."""
        return {"log_rate": log_floor(namespace(self.a).maximum(self.a - 1, 0) / self.b)}

    def mle(self, data: Any) -> dict[str, Array]:
        """n / Σ x^k; the prior's mean where a class has no cell."""
        found = log_floor(data.n) - log_floor(data.total)
        return {"log_rate": namespace(data.n).where(data.n > 0, found, self.mean()["log_rate"])}

    def on_boundary(self) -> bool:
        """Whether some a is at most 1."""
        return bool((self.a <= 1).any())

    def marginals(self) -> dict[str, Any]:
        """Gamma(a, rate b) for `rate`."""
        return {"rate": stats.gamma(self.a, scale=1 / self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """(E / λ)^(1/k), E a standard exponential, with λ drawn afresh for every cell."""
        log_rate = log_gamma(rng, self.a[y]) - np.log(self.b[y])
        return (rng.standard_exponential(log_rate.shape) * np.exp(-log_rate)) ** (1 / self.k)

    def model(self, x: Array, y: Array) -> None:
        """The same model in NumPyro, whose Weibull has the scale λ^(−1/k)."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            rate = numpyro.sample("rate", dist.Gamma(self.a, self.b))
        seen, x = observed(x, fill=1.0)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Weibull(rate[y] ** (-1 / self.k), self.k).mask(seen).to_event(1), obs=x)


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
    print(bayesnb.fit_prior(nb, X, y))
    parts = [("lifetimes", nb, [0]), ("other", bayesnb.GaussianNB(), [1])]
    print(f"one of two parts: accuracy {bayesnb.MixedNB(parts).fit(X, y).loo(X, y).accuracy:.2f}")
    print(f"dimensions of ArviZ's draws: {nb.sample_posterior(100)['posterior']['rate'].dims}")
    with tempfile.TemporaryDirectory() as folder:
        nb.save(f"{folder}/model")
        assert (bayesnb.load(f"{folder}/model").predict(X) == nb.predict(X)).all()
    print(nb.check(X, y))


if __name__ == "__main__":
    main()
