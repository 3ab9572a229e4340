"""Formulas are written once, in Unicode; the pages show them typeset."""

from docutils.utils.math.latex2mathml import tex2mathml
from formulas import to_latex, typeset


def marked(text: str) -> str:
    return typeset(text, lambda latex: f"<{latex}>")


LATEX = (
    ("Σ_i r_ic x_ij²", r"\sum_{i} r_{ic} x_{ij}^{2}"),
    ("y_i = c ~ Normal(μ_cj, σ²_cj)", r"y_{i} = c \sim \mathrm{Normal} (\mu _{cj}, \sigma ^{2}_{cj})"),
    ("λ ~ Gamma(a, rate b)", r"\lambda \sim \mathrm{Gamma} (a,\ \text{rate}\ b)"),
    ("(x − μ)ᵀΣ⁻¹(x − μ)", r"(x - \mu )^{T}\Sigma ^{-1}(x - \mu )"),
    ("t √(b(κ+1)/(aκ))", r"t \sqrt{b(\kappa +1)/(a\kappa )}"),
    ("½ψ₁(a) − 1e-15", r"\tfrac{1}{2}\psi _{1}(a) - 10^{-15}"),
    ("Σ_{k≠c} α_j^(x_j)", r"\sum_{k\neq c} \alpha _{j}^{(x_{j})}"),  # a rising factorial is no power
    ("5^14 (1 − θ)^(n+1)", r"5^{14} (1 - \theta )^{n+1}"),
    ("m + n(x̄ − m)", r"m + n(\bar{x} - m)"),
)
SENTENCES = (
    ("A share θ of a class with weight N_c.", r"A share <\theta> of a class with weight <N_{c}>."),
    ("Murphy (2007), (85)–(89).", "Murphy (2007), (85)–(89)."),
    ("With a κ of 2 the row's log odds are 0.97.", r"With a <\kappa> of 2 the row's log odds are 0.97."),
    ("log_predictive of p(y | x, data)", r"log_predictive of <p(y \mid x,\ \text{data})>"),
    ("0.46 GB/s, n/a and x-axis", "0.46 GB/s, n/a and x-axis"),
    ("(not a call) and f(a", "(not a call) and f(a"),
    ("Plain words, 3 numbers (or 4), `x` and 1,000 rows.", "Plain words, 3 numbers (or 4), `x` and 1,000 rows."),
    ("a + n, b + Σ_i x_i.", r"<a + n>, <b + \sum_{i} x_{i}>."),
)


def test_formulas_as_latex() -> None:
    """A long one may be broken before an operator."""
    for written, latex in LATEX:
        assert to_latex(written) == latex
        assert "<math" in tex2mathml(latex)
    for sentence, shown in SENTENCES:
        assert marked(sentence) == shown
    parts = marked("log Γ(a+n/2)/Γ(a) − a log(bₙ/b) + ½ log κ/κₙ")
    assert parts.count("<") == 3 and parts.count("> <") == 2
