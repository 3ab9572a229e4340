"""What these pages need of Sphinx beyond its own: our docstrings, signatures as written, pages made from the source."""

import ast
import inspect
import re
from textwrap import dedent
from typing import Any

import pages
from docstrings import to_rst
from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

_LATEX = (  # what docutils does not read, or reads in another way
    (r"\\dots\b", r"\\ldots"),
    (r"\\vert\b *", "|"),
    (r"(frac)(\d)(\d)", r"\1{\2}{\3}"),
    (r"(\\(?:hat|bar|tilde) ?(?:\\?[A-Za-z]+|{[^{}]*}))_", r"\1{}_"),  # an index goes beside a hat, not below it
    (r"\\(log|exp|det)\b\s*+(?!\\?[,;()\[\]{}^_]|\\left)", r"\\\1\\, "),  # a space between log and what it is taken of
)


def docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring, in place, as reStructuredText."""
    lines[:] = to_rst("\n".join(lines)).splitlines()


def signature(app: Any, what: str, name: str, obj: Any, options: Any, args: str, returns: str) -> Any:
    """A signature as it stands in the source, with the shapes of the arrays."""
    function = getattr(obj, "__init__", None) if what == "class" else obj
    if what not in ("class", "function", "method") or not inspect.isfunction(inspect.unwrap(function)):
        return None
    try:
        (node,) = ast.parse(dedent(inspect.getsource(function))).body
    except OSError:  # made by a dataclass
        return None
    assert isinstance(node, ast.FunctionDef)
    own = node.args.args
    if own and own[0].arg in ("self", "cls"):
        del own[0]
    for arg in [*own, *node.args.kwonlyargs]:
        arg.annotation = _unquoted(arg.annotation)
    returns = _unquoted(node.returns) if what != "class" else None
    return f"({ast.unparse(node.args)})", ast.unparse(returns) if returns else ""


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation that stands in quotes because it is imported late, without them."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what nobody wrote: scikit-learn's methods for metadata routing, the fields of a named tuple."""
    routing = name.startswith("set_") and name.endswith("_request")
    return True if routing or (obj.__doc__ or "").startswith("Alias for field number") else None


def mathml(latex: str, as_block: bool = False) -> str:
    """LaTeX as MathML, which browsers show by themselves: no script is fetched."""
    for pattern, replacement in _LATEX:
        latex = re.sub(pattern, replacement, latex)
    bar = '<mo stretchy="false">|</mo>'  # of a determinant: neither an operator nor as tall as what stands beside it
    return tex2mathml(latex, as_block=as_block).replace(bar, bar.replace(">|", ' lspace="0" rspace="0">|'))


def formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """A formula of a page."""
    block = isinstance(node, nodes.math_block)
    try:
        said = mathml(node.astext(), block)
        translator.body.append(f'<div class="display">{said}</div>' if block else said)
    except (MathError, IndexError) as error:
        getLogger(__name__).warning("no MathML for %r: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it to the build."""
    app.connect("builder-inited", pages.write)
    app.add_config_value("navigation", {}, "env")
    app.connect("source-read", pages.links)
    app.connect("source-read", pages.formulas)
    app.connect("source-read", pages.built)
    app.connect("build-finished", pages.live_page)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    return {"parallel_read_safe": True}
