"""Modes, evidence and draws of posteriors with few parameters: Newton's method and Laplace's approximation.

With f(θ) = −log p(y, θ), its mode θ̂ and its Hessian H there,

    log p(y) ≈ −f(θ̂) + ½ p log 2π − ½ log det H,    θ given y ≈ Normal(θ̂, H⁻¹)

Models of the same rows are averaged by their evidence. A mode can be flat with a cliff beside it. A draw is therefore
moved towards the mode until f has risen by no more than |s|²/2, as it does under the Gaussian.

References
----------
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Float

Value = Callable[[np.ndarray], float]
Derivatives = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]  # value, gradient, Hessian

_STEPS, _LONGEST, _SMALL_GAIN = 100, 2.0, 1e-7  # of Newton's method: steps, longest step, nats of gain
_LEAST = 0.1  # curvature at the mode: a prior's precision is larger, but the likelihood may take some away


@dataclass(frozen=True)
class Laplace:
    """A posterior about its mode.

    Fields
    ------
    mode : (p,) θ̂
    root : (p, p) symmetric root of H⁻¹
    height : f(θ̂)
    log_evidence : −f(θ̂) − ½ log det H: without ½ p log 2π, which the normaliser of a Gaussian prior cancels
    """

    mode: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]
    height: float
    log_evidence: float

    @classmethod
    def fitted(cls, value: Value, derivatives: Derivatives, start: Float[np.ndarray, " p"]) -> "Laplace":
        """Newton's method from a start, for f that need not be convex."""
        theta, damping = start, 0.0
        height, gradient, hessian = derivatives(theta)
        for _ in range(_STEPS):
            values, vectors = np.linalg.eigh(hessian)
            curve = np.maximum(abs(values), 1e-3) + damping
            step = -vectors @ ((vectors.T @ gradient) / curve)
            step *= min(1.0, _LONGEST / abs(step).max(initial=1e-300))
            if -(gradient @ step) < _SMALL_GAIN:
                break
            if value(theta + step) < height:
                theta, damping = theta + step, damping / 10
                height, gradient, hessian = derivatives(theta)
            else:
                damping = max(10 * damping, 0.1 * curve.max())
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, _LEAST)
        root = (vectors / np.sqrt(values)) @ vectors.T  # symmetric: a vector's sign would change all draws
        return cls(theta, root, height, float(-height - 0.5 * np.log(values).sum()))

    def draw(self, value: Value, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The draw of standard normal numbers s."""
        step, due = self.root @ s, 0.5 * s @ s
        for _ in range(8):
            rise = value(self.mode + step) - self.height
            if rise <= 1.1 * due:
                break
            step *= max(np.sqrt(due / rise), 0.3)
        return self.mode + step
