"""The class labels: Dirichlet–categorical, or fixed probabilities.

π ~ Dirichlet(α_1 … α_C)        class probabilities; or π fixed
y_i ~ Categorical(π)
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..core.arrays import Array, Float, Theta, Value
from ..core.pytrees import pytree
from ..core.random import Key, log_dirichlet
from ..core.special import digamma, gammaln, log_floor, log_rising, log_shares, namespace, tetragamma, trigamma
from ..core.supports import COUNT, SIMPLEX, Field, declare
from ..sums.rows import downdate


class AbstractClasses(abc.ABC):
    """A prior of the class labels; its statistics are the class weights N (c,)."""

    fields_: ClassVar[Mapping[str, Field]]
    """Support and axes of every field."""

    @abc.abstractmethod
    def update(self, n: Float[Array, " c"]) -> Self:
        """The posterior given class weights."""

    @abc.abstractmethod
    def log_marginal(self, n: Float[Array, " c"]) -> Float[Value, ""]:
        """log p(y), in nats."""

    @abc.abstractmethod
    def log_prob(self, theta: Theta) -> Float[Value, "*s"]:
        """Log density of π on the simplex."""

    @abc.abstractmethod
    def log_predictive(self) -> Float[Array, " c"]:
        """log p(y = c | data) of the next label."""

    @abc.abstractmethod
    def log_loo(self, r: Float[Array, "n c"]) -> Float[Array, "n c"]:
        """log p(y = c | data without label i), from a posterior that contains labels with weights r."""

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Independent draws of log π."""

    @abc.abstractmethod
    def log_cumulants(self) -> tuple[Float[Array, " c"], Float[Array, " c"], Float[Array, " c"]]:
        """Mean, variance and third cumulant of log π_c, up to terms that all classes share."""

    @abc.abstractmethod
    def mean(self) -> Theta:
        """Mean of π."""

    @abc.abstractmethod
    def mode(self) -> Theta:
        """Mode of π."""

    @abc.abstractmethod
    def mle(self, n: Float[Array, " c"]) -> Theta:
        """Maximum likelihood estimate of π."""

    @abc.abstractmethod
    def on_boundary(self) -> bool:
        """Whether the mode lies on the boundary of the simplex."""

    @abc.abstractmethod
    def marginals(self) -> dict[str, Any]:
        """Marginal distribution of each component of the site `pi`, if there is one."""

    @abc.abstractmethod
    def model(self) -> Float[Array, " c"]:
        """π as a NumPyro statement."""


@pytree
@dataclass(frozen=True)
class DirichletClasses(AbstractClasses):
    """Dirichlet density of the class probabilities.

    Fields
    ------
    alpha : (c,)   pseudo-rows of the classes, positive
    """

    alpha: Float[Array, " c"]

    fields_ = declare(alpha=Field(COUNT, ("class",)))

    def update(self, n: Float[Array, " c"]) -> Self:
        """α + N."""
        return type(self)(self.alpha + n)

    def log_marginal(self, n: Float[Array, " c"]) -> Float[Value, ""]:
        """log B(α + N) / B(α)."""
        return log_rising(self.alpha, n).sum() - log_rising(self.alpha.sum(), n.sum())

    def log_prob(self, theta: Theta) -> Float[Value, "*s"]:
        """Σ_c (α_c − 1) log π_c − log B(α)."""
        log_normalizer = gammaln(self.alpha).sum() - gammaln(self.alpha.sum())
        return ((self.alpha - 1) * theta["log_pi"]).sum(-1) - log_normalizer

    def log_predictive(self) -> Float[Array, " c"]:
        """log α / Σα: the mean."""
        return self.mean()["log_pi"]

    def log_loo(self, r: Float[Array, "n c"]) -> Float[Array, "n c"]:
        """log (α_c − r_ic) / (Σα − Σ_c r_ic)."""
        xp = namespace(self.alpha, r)
        return xp.log(downdate(self.alpha, r)) - xp.log(downdate(self.alpha.sum(), r.sum(1, keepdims=True)))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log π by normalised log-gammas."""
        return {"log_pi": log_dirichlet(key, self.alpha, shape)}

    def log_cumulants(self) -> tuple[Float[Array, " c"], Float[Array, " c"], Float[Array, " c"]]:
        """ψ(α) − ψ(A), ψ₁(α) and ψ₂(α), A = Σα.

        log π_c = log G_c − log ΣG with independent gammas G. The last term is equal in all classes. It adds −ψ₁(A) to
        every entry of the covariance and −ψ₂(A) to the third cumulants. It cancels in class probabilities, and without
        it the classes are independent.
        """
        return digamma(self.alpha) - digamma(self.alpha.sum()), trigamma(self.alpha), tetragamma(self.alpha)

    def mean(self) -> Theta:
        """α / Σα; (N_c + α_c)/(N + Σα) in a posterior."""
        xp = namespace(self.alpha)
        return {"log_pi": xp.log(self.alpha) - xp.log(self.alpha.sum())}

    def mode(self) -> Theta:
        """(α − 1) / Σ(α − 1); 0 if α_c ≤ 1; the mean if all are."""
        return {"log_pi": log_shares(namespace(self.alpha).maximum(self.alpha - 1, 0), self.mean()["log_pi"])}

    def mle(self, n: Float[Array, " c"]) -> Theta:
        """N_c / N."""
        return {"log_pi": log_shares(n, self.mean()["log_pi"])}

    def on_boundary(self) -> bool:
        """Whether some α is at most 1."""
        return bool((self.alpha <= 1).any())

    def marginals(self) -> dict[str, Any]:
        """Beta(α_c, Σα − α_c) for each component of `pi`; a single class has nothing to learn."""
        from scipy import stats

        return {"pi": stats.beta(self.alpha, self.alpha.sum() - self.alpha)} if len(self.alpha) > 1 else {}

    def model(self) -> Float[Array, " c"]:
        """π ~ Dirichlet(α)."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        return numpyro.sample("pi", dist.Dirichlet(self.alpha)) if len(self.alpha) > 1 else jnp.ones(1)


@pytree
@dataclass(frozen=True)
class FixedClasses(AbstractClasses):
    """Fixed class probabilities: nothing is learnt from the labels.

    Fields
    ------
    pi : (c,)   probabilities, summing to one
    """

    pi: Float[Array, " c"]

    fields_ = declare(pi=Field(SIMPLEX, ("class",)))

    def update(self, n: Float[Array, " c"]) -> Self:
        """Itself."""
        return self

    def log_marginal(self, n: Float[Array, " c"]) -> Float[Value, ""]:
        """Σ_c N_c log π_c."""
        return (n * log_floor(self.pi)).sum()

    def log_prob(self, theta: Theta) -> Float[Value, "*s"]:
        """0: there is no parameter."""
        return 0 * self.pi.sum()

    def log_predictive(self) -> Float[Array, " c"]:
        """log π."""
        return log_floor(self.pi)

    def log_loo(self, r: Float[Array, "n c"]) -> Float[Array, "n c"]:
        """log π."""
        return namespace(self.pi, r).broadcast_to(log_floor(self.pi), r.shape)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """log π, repeated."""
        xp = namespace(self.pi)
        return {"log_pi": xp.broadcast_to(log_floor(self.pi), (*shape, *self.pi.shape))}

    def log_cumulants(self) -> tuple[Float[Array, " c"], Float[Array, " c"], Float[Array, " c"]]:
        """log π, 0 and 0."""
        return log_floor(self.pi), 0 * self.pi, 0 * self.pi

    def mean(self) -> Theta:
        """π."""
        return {"log_pi": log_floor(self.pi)}

    def mode(self) -> Theta:
        """π."""
        return {"log_pi": log_floor(self.pi)}

    def mle(self, n: Float[Array, " c"]) -> Theta:
        """π."""
        return {"log_pi": log_floor(self.pi)}

    def on_boundary(self) -> bool:
        """Never: π is not estimated."""
        return False

    def marginals(self) -> dict[str, Any]:
        """None: π is not random."""
        return {}

    def model(self) -> Float[Array, " c"]:
        """π, no statement."""
        import jax.numpy as jnp

        return jnp.asarray(self.pi)
