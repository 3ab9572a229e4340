"""Special functions that keep their digits, on NumPy and on JAX alike.

Every function looks at its arguments: NumPy arrays are answered by NumPy and SciPy in the precision they came in, JAX
arrays (and the tracers of `jit`, `vmap` and `grad`) by JAX. So the same formula runs on the host in float64 without any
compilation, and inside a compiled, differentiated program.
"""

import sys
from typing import Any, cast

import numpy as np
import scipy.special as sp

from .arrays import Array, Namespace, Scalar, Value, is_sparse

_NUMPY = cast(Namespace, np)
LOG_2PI = float(np.log(2 * np.pi))
EPS = float(np.finfo(float).eps)
_TIE = 1e-10  # of the size of a log-probability: what rounding may leave between two that are equal
_CELLS = 1 << 15  # of a table at a time, which a core's cache holds
_SHIFT = 8  # recurrence steps before Stirling's series; from there on its first seven terms reach 1e-15


def namespace(*arrays: object) -> Namespace:
    """The module whose functions fit the arrays: `jax.numpy` if any is a JAX array or tracer, else `numpy`.

    A formula is then written once, as xp.log(x) with xp = namespace(x). A tracer is an array of JAX without values,
    which a function gets while JAX compiles it.
    """
    if "jax" not in sys.modules:  # JAX was never imported, so no array is its own
        return _NUMPY
    kind = getattr(sys.modules["jax"], "Array", ())  # the class of its arrays; none while JAX is being imported
    for array in arrays:
        if isinstance(array, kind):
            import jax.numpy

            return jax.numpy
    return _NUMPY


def is_traced(*arrays: object) -> bool:
    """Whether an argument is a tracer of JAX, whose values are not known."""
    return "jax" in sys.modules and any(isinstance(array, sys.modules["jax"].core.Tracer) for array in arrays)


def is_whole(table: Any) -> bool:
    """Whether all cells that are there are whole numbers; NaN is missing, and an empty cell of sparse rows is 0."""
    cells = table.data if is_sparse(table) else np.asarray(table)
    if cells.dtype.kind != "f":  # integers and booleans
        return True
    return bool(((cells == np.floor(cells)) | (cells != cells)).all())  # NaN is not equal to itself


def _special(*arrays: object) -> Namespace:
    """The special functions that fit the arrays: `jax.scipy.special` for JAX's, else `scipy.special`."""
    if namespace(*arrays) is np:
        return sp
    import jax.scipy.special as jsp

    return jsp


def logsumexp(table: Array, axis: int) -> Array:
    """log Σ exp along an axis."""
    return _special(table).logsumexp(table, axis=axis)


def ndtr(x: Array) -> Value:
    """Φ(x), the standard normal distribution function."""
    return _special(x).ndtr(x)


def expit(x: Array | Scalar) -> Value:
    """1/(1 + e^−x), with all digits on both sides of ½."""
    return _special(x).expit(x)


def gammaln(x: Array | Scalar) -> Value:
    """log Γ(x), x > 0."""
    return _special(x).gammaln(x)


def digamma(x: Array | Scalar) -> Value:
    """ψ(x) = d log Γ(x) / dx, x > 0."""
    return _special(x).digamma(x)


def trigamma(x: Array | Scalar) -> Value:
    """ψ₁(x) = d² log Γ(x) / dx², x > 0, in the precision of x."""
    if namespace(x) is not np:
        return _special(x).polygamma(1, x)
    return sp.zeta(2, x)  # DLMF 25.11.12


def tetragamma(x: Array | Scalar) -> Value:
    """ψ₂(x) = d³ log Γ(x) / dx³, x > 0, in the precision of x."""
    if namespace(x) is not np:
        return _special(x).polygamma(2, x)
    return -2 * sp.zeta(3, x)


def polygamma(k: int, x: Array | Scalar) -> Value:
    """ψ, ψ₁ or ψ₂ at x > 0, for k = 0, 1 or 2."""
    return (digamma, trigamma, tetragamma)[k](x)


def log_normalize(table: Array, out: Any = None) -> Array:
    """Logarithms of numbers that sum to 1 along the last axis: log (exp(t) / Σ exp(t)), such as class probabilities.

    A table of two axes has few classes and many rows. NumPy is quick on long rows, so it is transposed for the work,
    some rows at a time.

    Parameters
    ----------
    table : (…, c) logarithms, such as log joint probabilities
    out : on the host where the result is written, if given; it may be the table itself
    """
    # log (exp(t) / Σ exp(t)) = (t − max) − log Σ exp(t − max)
    xp = namespace(table)  # numpy, or jax.numpy for JAX arrays
    if xp is np and table.ndim == 2:
        normalized = np.empty_like(table) if out is None else out
        step = max(_CELLS // max(table.shape[1], 1), 1)  # rows that a core's cache holds
        for start in range(0, len(table), step):
            # transposed, (c, rows); the largest is subtracted first, so that no exponential overflows
            by_class = table[start : start + step].T.copy()
            by_class -= by_class.max(0)
            by_class -= np.log(np.exp(by_class).sum(0))
            normalized[start : start + step] = by_class.T
        return normalized

    shifted = table - table.max(-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(-1, keepdims=True))


def most_probable(table: Array, log_prior: Array) -> Array:
    """Column of the largest entry of each row of log-probabilities, (n,); of equal ones that with the largest prior.

    Entries closer than 1e-10 of their size count as equal, as rounding keeps equal probabilities apart.
    Among equal priors the first column wins.

    Parameters
    ----------
    table : (n, c)
    log_prior : (c,) log prior probability of each column
    """
    if table.shape[1] < 2 or log_prior.min() == log_prior.max():  # the prior cannot decide between equal entries
        return table.argmax(1)

    largest = table.max(1, keepdims=True)  # (n, 1)
    is_largest = table >= largest - _TIE * (1 + np.abs(largest))  # (n, c)

    # Columns in the order of their priors, the largest first: priors 0.2, 0.5, 0.3 have the order (1, 2, 0). If the
    # columns 0 and 2 share the largest entry, they are (F, T, T) in this order. The first True, at position 1, is the
    # largest entry with the largest prior: column 2. Of truth values `argmax` gives the position of the first True.
    by_prior = np.argsort(-log_prior, kind="stable")
    position = is_largest[:, by_prior].argmax(1)  # (n,)
    return by_prior[position]


def log_floor(x: Array | Scalar) -> Value:
    """log max(x, smallest normal number): a probability of zero keeps a finite logarithm.

    If a row is impossible in every class, the prediction is the class with the fewest impossible cells, and no 0 · (−∞)
    turns into NaN. The floor is log 2.2e-308 ≈ −708 in float64 and log 1.2e-38 ≈ −87 in float32.
    """
    xp = namespace(x)  # numpy, or jax.numpy for JAX arrays
    x = xp.asarray(x)
    return xp.log(xp.maximum(x, xp.finfo(x.dtype).tiny))


def log_shares(weight: Array, otherwise: Array) -> Array:
    """Logarithms of weights over their sum along the last axis; that of 0 is the one of the smallest number.

    Parameters
    ----------
    weight : (…, k) non-negative
    otherwise : (…, k) the result where all weights are 0
    """
    xp = namespace(weight)  # numpy, or jax.numpy for JAX arrays
    total = weight.sum(-1, keepdims=True)

    # `log_floor` is log max(x, smallest number), so that a weight of 0 has a finite logarithm
    return xp.where(total > 0, log_floor(weight) - log_floor(total), otherwise)


class Jet:
    """The series a₀ + a₁t + a₂t² + a₃t³ and its arithmetic; the coefficients are arrays that broadcast.

    With it cumulants are read from a formula that is written once: log E p(x | θ)^t is the cumulant generating function
    of log p(x | θ) over θ. Its Taylor coefficients at t = 0, times 1, 2 and 6, are the mean, the variance and the third
    cumulant.
    """

    __array_ufunc__ = None  # an array times a jet is a jet

    def __init__(self, *a: Any) -> None:
        self.a = (*a, *(0.0,) * (4 - len(a)))  # the coefficients not given are 0

    def __add__(self, other: Any) -> "Jet":
        return Jet(*(x + y for x, y in zip(self.a, _as_jet(other).a, strict=True)))

    def __mul__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):
            return Jet(*(x * other for x in self.a))
        # coefficient k of a product of series is Σ_i a_i b_{k−i}
        return Jet(*(sum(self.a[i] * other.a[k - i] for i in range(k + 1)) for k in range(4)))

    def __truediv__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):  # a number or an array
            return Jet(*(x / other for x in self.a))

        # The quotient q is found from the product q · other = self. With b the coefficients of `other` and a those of
        # this series, coefficient k of it is Σ_{i≤k} q_i b_{k−i} = a_k, so q_k = (a_k − Σ_{i<k} q_i b_{k−i})/b_0.
        quotient: list[Any] = []
        for k in range(4):
            remainder = self.a[k] - sum(quotient[i] * other.a[k - i] for i in range(k))
            quotient.append(remainder / other.a[0])
        return Jet(*quotient)

    def __neg__(self) -> "Jet":
        return self * -1.0

    def __sub__(self, other: Any) -> "Jet":
        return self + -_as_jet(other)

    def __rsub__(self, other: Any) -> "Jet":
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


def _as_jet(x: Any) -> Jet:
    """A jet as it is; a number or an array as the constant series."""
    return x if isinstance(x, Jet) else Jet(x)


def log1p(v: Any) -> Any:
    """log(1 + v) of numbers v > −1, or of a jet that begins at 0."""
    if isinstance(v, Jet):
        return v - v * v * 0.5 + v * v * v * (1 / 3)  # its series up to t³, as a jet is a series in t up to t³
    xp = namespace(v)  # numpy, or jax.numpy for JAX arrays

    # a v that rounding has put at −1, where the logarithm is −∞, is moved up a little
    return xp.log1p(_inside(v, 1.0, xp))


def _inside(n: Any, a: Any, xp: Any) -> Any:
    """A change n of a positive number a, moved so that a + n is positive where it would be 0 but for rounding.

    The logarithm of a + n is taken afterwards. If n = −a is a row that carries all of a hyperparameter a, rounding may
    make a + n 0 or slightly negative. It becomes 4 ε a then, ε the machine epsilon.

    Parameters
    ----------
    n : a change of a, above −a but for rounding
    a : positive
    xp : `numpy` or `jax.numpy`
    """
    rounding = 4 * xp.finfo(xp.result_type(a, n)).eps  # relative to a
    smallest = (rounding - 1) * a  # just above −a
    if xp is np and np.all(n > smallest):  # nothing to move
        return n

    # An n that is clearly below −a stays: it is an error, which shall show as NaN.
    is_rounding = abs(n + a) < smallest + a
    return xp.where(is_rounding, smallest, n)


def _stirling_rest(x: Array | Scalar) -> Array | Scalar:
    """log Γ(x) − [(x − ½) log x − x + ½ log 2π] for x ≥ 8, DLMF 5.11.1: error below 1e-15."""
    w = (1 / x) ** 2  # x² would overflow above √max
    return (
        1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156)))))
    ) / x


def log_rising(a: Any, n: Any) -> Any:
    """Logarithm of the rising factorial, log Γ(a + n) − log Γ(a), without the cancellation.

    With s = a + 8, and n any real number,

        log Γ(a+n)/Γ(a) = (s−½) log1p(n/s) + n (log(s+n) − 1) + δ(s+n) − δ(s) − Σ_{i<8} log1p(n/(a+i)).

    The first four terms are log Γ(s+n)/Γ(s) by Stirling's series log Γ(x) = (x−½) log x − x + ½ log 2π + δ(x), which is
    accurate from 8 on. The sum leads down from there by eight steps of the recurrence Γ(x+1) = x Γ(x), of which each
    changes the logarithm by log (a+n+i)/(a+i). No term is a difference of large numbers.

    Parameters
    ----------
    a : positive; accurate from 1e-100 to 1e100 in float64, and from 1e-30 to 1e30 in float32
    n : above −a; n/a must not overflow. Or a `Jet` that begins at 0

    Returns
    -------
    The logarithm, in the common shape and precision of the arguments.

    Notes
    -----
    `gammaln(a + n) - gammaln(a)` loses ten digits at a = 1e10. Here the error stays below 4 ε (|result| + n + 0.01),
    ε the machine epsilon: 2.2e-16 in float64, 1.2e-7 in float32.

    References
    ----------
    DLMF 5.5.1 (recurrence), 5.11.1 (series).
    """
    # A `Jet` is a series in t up to t³. Taylor's series of log Γ at a: ψ n + ½ ψ₁ n² + ⅙ ψ₂ n³
    if isinstance(n, Jet):
        return digamma(a) * n + trigamma(a) / 2 * (n * n) + tetragamma(a) / 6 * (n * n * n)

    xp = namespace(a, n)  # numpy, or jax.numpy for JAX arrays
    n = _inside(n, a, xp)  # above −a, also where rounding has lost the difference
    s = a + _SHIFT

    # log Γ(s + n)/Γ(s), then the steps of the recurrence down to log Γ(a + n)/Γ(a)
    log_ratio = (s - 0.5) * xp.log1p(n / s) + n * (xp.log(s + n) - 1) + _stirling_rest(s + n) - _stirling_rest(s)
    for i in range(_SHIFT):
        log_ratio = log_ratio - xp.log1p(n / (a + i))
    return log_ratio


def log_beta(a: Array | Scalar, b: Array | Scalar) -> Value:
    """log B(a, b) = log Γ(a) + log Γ(b) − log Γ(a+b), a, b > 0.

    It is computed as log Γ(min) − log [Γ(max + min)/Γ(max)], the rising factorial, so large arguments lose no digits.
    `jax.scipy.special.betaln` errs by 1.3e-6 at (2, 8) in float64 (jax 0.10.2). With ε the machine epsilon, the error
    here stays below 16 ε (1 + |result|) for arguments from 1e-3 to 1e3. It stays below 100 ε (1 + |result|) from 1e-100
    to 1e100 in float64 and 1e-30 to 1e30 in float32.
    """
    xp = namespace(a, b)  # numpy, or jax.numpy for JAX arrays
    smaller = xp.minimum(a, b)
    larger = xp.maximum(a, b)
    return gammaln(smaller) - log_rising(larger, smaller)


def log_normal(x: Array, mu: Array, sd: Array) -> Array:
    """Log density of Normal(μ, s²) in nats."""
    return -0.5 * (LOG_2PI + ((x - mu) / sd) ** 2) - namespace(sd).log(sd)
