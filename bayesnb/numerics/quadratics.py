"""log p(x | θ_c) of Gaussian classes that share their variances or their covariance: independent given what is shared.

    log p(x | θ_c) = −½ q_c + what all classes share,   q_c = Σ_j (1/κ_cj) χ′²₁(κ_cj δ_cj²/σ_j²)      pooled variances
                                                        q_c = (1/κ_c) χ′²_d(κ_c δ_cᵀΣ⁻¹δ_c)          one covariance

with δ_c = x − m_c and noncentral χ². Given the shared part, q_c has the form

    q_c = λ_c + 2 s_c z + w_c z² + w_c G,     λ_c = Σ_j δ_cj²/σ_j²  or  δ_cᵀΣ⁻¹δ_c,     z standard normal, G ~ χ²_{d−1}

exactly where all κ_cj of a class are equal, w_c = 1/κ_c and s_c² = w_c λ_c. Where cells are missing they differ from
column to column: then s_c² = Σ_j δ_cj²/(κ_cj σ_j²), w_c = Σ_j κ_cj⁻² / Σ_j κ_cj⁻¹, and the mean is kept.

1/σ_j² ~ Gamma(a_j, rate b_j). For the quadratic forms of a Wishart matrix, Σ⁻¹ ~ W_d(ν, S⁻¹): the matrix ΔᵀΣ⁻¹Δ of
c ≤ d columns is W_c(ν, ΔᵀS⁻¹Δ) (Muirhead 1982, Theorem 3.2.5); drawn by Bartlett's factors.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.special import chdtri, gammaincinv, ndtri


@dataclass(frozen=True)
class _Quadratic:
    """What both have of the form q = λ + 2 s z + w z² + w G + offset of each of n rows and c classes.

    Fields
    ------
    weight : (n, c) w
    degrees : (n, c) number of observed cells, one more than the degrees of freedom of G
    offset : (n, c) a constant, by which q has the mean that it should have
    """

    weight: np.ndarray
    degrees: np.ndarray
    offset: np.ndarray

    rows: ClassVar[tuple[str, ...]] = "weight", "degrees", "offset"
    """Names of the fields that have rows."""

    @cached_property
    def freedom(self) -> int:
        """Degrees of freedom of G for a row without missing cells."""
        return max(int(self.degrees.max(initial=1)) - 1, 0)

    def take(self, rows: np.ndarray) -> Self:
        """The forms of some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.rows})


@dataclass(frozen=True)
class PooledQuadratic(_Quadratic):
    """Variances of d features that the classes share.

    Fields
    ------
    square : (n, c, d)     δ², 0 where a cell is missing
    slope : (n, c, d)      δ²/κ, 0 where a cell is missing
    a, b : (d,)            of 1/σ_j² ~ Gamma(a_j, rate b_j)
    """

    square: np.ndarray
    slope: np.ndarray
    a: np.ndarray
    b: np.ndarray

    rows = *_Quadratic.rows, "square", "slope"

    @classmethod
    def of(cls, x: np.ndarray, m: np.ndarray, kappa: np.ndarray, a: np.ndarray, b: np.ndarray) -> "PooledQuadratic":
        """The squared distances q of rows to the random means of classes, prepared for drawing.

        q = Σ_j (x_j − μ_cj)²/σ_j². Given σ, the means are random: μ_cj = m_cj + σ_j e_j/√κ_cj with e_j standard normal.
        With δ = x − m this is

            q = Σ_j δ_j²/σ_j² − 2 Σ_j δ_j e_j/(σ_j √κ_j) + Σ_j e_j²/κ_j.

        It would take d normal numbers for each row and class. Two are enough:

        - the second term is normal, so it is 2 s z with z standard normal and s² = Σ_j δ_j²/(κ_j σ_j²);
        - the third one is nearly w (z² + G) + offset, where G has χ² with one degree of freedom less than the row has
          observed cells. If all κ_j are equal, that is exact with w = 1/κ: z is the part of e along the direction of
          the row, and G the squared length of the rest. Otherwise w = Σ κ⁻²/Σ κ⁻¹, and the offset corrects the mean.

        Only σ, z and G are drawn later. What depends on the rows is computed here: δ², δ²/κ, w, the degrees of freedom
        and the offset.

        Parameters
        ----------
        x : (n, d) rows, NaN where a cell is missing
        m, kappa : (c, d) posterior centres of the means, and pseudo-rows behind them
        a, b : (d,) of the precisions, which the classes share: 1/σ_j² ~ Gamma(a_j, rate b_j)
        """
        is_observed = ~np.isnan(x)[:, None]  # (n, 1, d)
        delta = np.where(is_observed, x[:, None] - m, 0)  # δ, (n, c, d); 0 where a cell is missing
        square = np.square(delta)

        # w, over the observed cells of each row and class, (n, c)
        inverse_kappa = np.where(is_observed, 1 / kappa, 0)  # (n, c, d)
        total = inverse_kappa.sum(-1)  # Σ κ⁻¹, (n, c)
        weight = np.square(inverse_kappa).sum(-1) / np.where(total > 0, total, 1)

        # the third term has the mean Σ κ⁻¹, and w (z² + G) the mean w · number of cells: the offset is the difference
        degrees = np.broadcast_to(is_observed.sum(-1), total.shape)  # number of observed cells, (n, c)
        offset = total - degrees * weight
        return cls(weight, degrees, offset, square, slope=square * inverse_kappa, a=a, b=b)

    @property
    def dimensions(self) -> int:
        """How many uniform numbers a draw of the shared part takes: one for each feature."""
        return len(self.a)

    def shared(self, u: np.ndarray) -> np.ndarray:
        """The shared part at uniform numbers u (d, s): precisions 1/σ², (d, s), by inverse distribution functions."""
        return gammaincinv(self.a[:, None], u) / self.b[:, None]

    def terms(self, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """λ = Σ_j δ²/σ_j² and s² = Σ_j δ²/(κσ_j²), (n, c, s), at s draws of the precisions 1/σ², (d, s)."""
        return self.square @ shared, self.slope @ shared


@dataclass(frozen=True)
class TiedQuadratic(_Quadratic):
    """A covariance that the classes share.

    Fields
    ------
    vectors : (n, c, k)    v_c of each row, so that λ_c = ‖Aᵀ v_c‖² with Bartlett's factor A, k × k
    order : k, the smaller of the numbers of classes and features
    nu : degrees of freedom of the k × k Wishart matrix AAᵀ
    """

    vectors: np.ndarray
    order: int
    nu: float

    rows = *_Quadratic.rows, "vectors"

    @classmethod
    def of(cls, x: np.ndarray, m: np.ndarray, kappa: np.ndarray, nu: float, scale: np.ndarray) -> "TiedQuadratic":
        """The squared distances q of rows to the random means of classes, prepared for drawing.

        q = (x − μ_c)ᵀΣ⁻¹(x − μ_c). Given Σ, the means are random, μ_c ~ Normal(m_c, Σ/κ_c). With δ = x − m_c, standard
        normal z and G ~ χ² with d − 1 degrees of freedom, q has the distribution of

            λ + 2 z √(λ/κ_c) + z²/κ_c + G/κ_c,    λ = δᵀΣ⁻¹δ.

        z is the deviation of the mean along the direction of the row, and G the squared length of the rest.

        Σ comes in by λ alone. With S = LLᵀ it is ‖Aᵀ L⁻¹δ‖², where A is a random triangular matrix, the same for all
        rows and classes. So Σ, z and G are drawn later, and the vectors L⁻¹δ are made here.

        Parameters
        ----------
        x : (n, d) complete rows
        m, kappa : (c, d) posterior centres of the means, and (c,) pseudo-rows behind them
        nu, scale : of the covariance, which the classes share: Σ ~ InverseWishart(ν, S)
        """
        n, d = x.shape
        c = len(m)
        root = np.linalg.cholesky(scale)  # L

        # v = L⁻¹ δ of each row and class, (n, c, d): one system of equations with n·c right-hand sides
        delta = (x[:, None] - m).reshape(-1, d)  # (n·c, d)
        vectors = np.linalg.solve(root, delta.T).T.reshape(n, c, d)

        # With fewer classes than features, c numbers for each v are enough, as the distribution of λ depends on the
        # products vᵀv′ of a row's c vectors only. If V = QR has them as its columns, VᵀV = RᵀR: the columns of R have
        # the same products.
        if c < d:
            by_column = vectors.swapaxes(-1, -2)  # V of each row, (n, d, c)
            r = np.asarray(np.linalg.qr(by_column, mode="r"))  # R, (n, c, c)
            vectors = r.swapaxes(-1, -2)  # its columns as rows again

        # w = 1/κ_c, and all d cells of a row are there, so that no constant is needed
        weight = np.broadcast_to(1 / kappa, (n, c))
        degrees = np.full((n, c), d)
        offset = np.zeros((n, c))
        return cls(weight, degrees, offset, vectors, order=min(c, d), nu=float(nu))

    @property
    def dimensions(self) -> int:
        """How many uniform numbers a draw of the shared part takes: one for each number of a triangular matrix."""
        return self.order * (self.order + 1) // 2

    def shared(self, u: np.ndarray) -> np.ndarray:
        """Draws of the shared covariance at uniform numbers u (dimensions, s): Bartlett's factors A, (k, k, s).

        AAᵀ of a lower triangular factor A is a draw of a Wishart matrix: A_ii² ~ χ²_{ν−i}, from the first k numbers,
        and the entries below the diagonal are standard normal.
        """
        k = self.order
        factors = np.zeros((k, k, u.shape[1]))
        for i in range(k):
            factors[i, i] = np.sqrt(2 * gammaincinv((self.nu - i) / 2, u[i]))  # χ² is twice a gamma variable
        factors[np.tril_indices(k, -1)] = ndtri(u[k:])  # Φ⁻¹ of the other numbers, row by row below the diagonal
        return factors

    def terms(self, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """λ = δᵀΣ⁻¹δ and s² = λ/κ, (n, c, s), at s draws of triangular factors A, (k, k, s), as of `shared`.

        λ is ‖Aᵀ v‖², the sum over the columns a_j of A of (a_jᵀ v)². A is lower triangular, so column j has entries
        from row j on.
        """
        square: Any = 0.0
        for j in range(self.order):  # (n, c, k − j) times (k − j, s)
            product = self.vectors[..., j:] @ shared[j:, j]
            product *= product  # in place, as the table may be large
            square = np.add(square, product, out=product)
        return square, square * self.weight[..., None]


SharedQuadratic: TypeAlias = PooledQuadratic | TiedQuadratic


def quadratic_points(form: SharedQuadratic, u: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws of what is random in the squared distances of rows to means: a shared scale, and z and G of each class.

    A squared distance q of a row to a class is λ + 2 s z + w z² + w G + offset. The means are random: z is how far the
    mean of the class deviates along the direction of the row, in standard deviations, and G the squared length of its
    deviation in all other directions. λ and s² follow from the row and the scale, which is the covariance, or the
    variances, that c classes share. All rows have the same draws.

    Parameters
    ----------
    form : the quadratic forms of rows and classes
    u : (dimensions + 2c, s) uniform numbers, each of which is turned into a draw by an inverse distribution function

    Returns
    -------
    shared : s draws of the scale, as of the method `shared` of the form
    z : (c, s) standard normal
    g : (c, s) χ² with one degree of freedom less than a row without missing cells has cells
    """
    # The uniform numbers: first those of the scale, then one for each class that becomes z, and one that becomes G.
    k = form.dimensions
    for_scale = u[:k]
    for_z = u[k : k + c]
    for_g = u[k + c :]

    scale = form.shared(for_scale)
    z = ndtri(for_z)  # Φ⁻¹

    # χ² with 0 degrees of freedom is 0. `chdtri` inverts the probability above a value, which is as good here.
    g = chdtri(form.freedom, for_g) if form.freedom else np.zeros((c, u.shape[1]))
    return scale, z, g


def random_quadratic_points(
    form: SharedQuadratic, seed: int, c: int, n_points: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`quadratic_points` at plain random numbers: quicker, where c classes have too many coordinates to fill evenly.

    Parameters
    ----------
    form, c : as there
    seed : where the numbers start
    n_points : s
    """
    uniform = np.random.default_rng(seed).random((form.dimensions, n_points))
    z = normal_numbers(c, n_points, seed + 1)
    g = _chi_squares(form.freedom, c, n_points, seed + 2)
    return form.shared(uniform), z, g


@lru_cache(maxsize=2)
def normal_numbers(c: int, n_points: int, seed: int) -> np.ndarray:
    """Standard normal draws (c, s). The last ones are kept, because all rows have the same; they are not written to."""
    return np.random.default_rng(seed).standard_normal((c, n_points))


@lru_cache(maxsize=1)
def _chi_squares(freedom: int, c: int, n_points: int, seed: int) -> np.ndarray:
    """Draws (c, s) of χ² with so many degrees of freedom, which are 0 if there are none; kept as `normal_numbers`."""
    if not freedom:
        return np.zeros((c, n_points))
    return np.random.default_rng(seed).chisquare(freedom, (c, n_points))


def quadratic_table(form: SharedQuadratic, points: tuple[np.ndarray, np.ndarray, np.ndarray], at: Any) -> np.ndarray:
    """−½ times the squared distance q of rows to the random means of classes, at several draws, (n, c, draws).

    It is the log density of a row but for what all classes share. q is λ + 2 s z + w z² + w G + offset: λ and s² depend
    on the row and on the scale that the classes share, z and G are random, and w and the offset are numbers of the row.

    Parameters
    ----------
    form : what q is made of, for all rows
    points : draws of the scale, z and G, as of `quadratic_points`
    at : which rows
    """
    scale, z, g = points  # z and G: (c, draws) each
    rows = form.take(at)  # the same for these rows
    q, s_squared = rows.terms(scale)  # λ and s², (n, c, draws)

    # the terms of q are added to λ in place, as the tables may be large: first 2 s z
    term = np.sqrt(s_squared, out=s_squared)
    term *= 2
    term *= z
    q += term

    # The draws of G are those of a row without missing cells. A row with some has fewer degrees of freedom: its G is
    # taken as that share of the draw which has the right mean, for example 3/4 with 3 degrees of freedom instead of 4.
    share = np.maximum(rows.degrees - 1, 0) / max(form.freedom, 1)  # (n, c)
    spread = g * share[..., None]  # becomes w z² + w G, (n, c, draws)
    spread += np.square(z)
    spread *= rows.weight[..., None]
    q += spread
    q += rows.offset[..., None]
    q *= -0.5
    return q
