"""Formulas, written once in Unicode as they stand in the source, as LaTeX."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

_GREEK = {
    char: "\\" + unicodedata.name(char).rpartition(" ")[2].lower().replace("lamda", "lambda")
    for char in "αβγδεζηθικλμνξπρστυφχψω"
} | {"Γ": r"\Gamma", "Δ": r"\Delta", "Λ": r"\Lambda", "Σ": r"\Sigma", "Φ": r"\Phi", "Π": r"\prod", "ℓ": r"\ell"}
_HALVES = {
    "½": r"\tfrac{1}{2}", "¼": r"\tfrac{1}{4}", "⅛": r"\tfrac{1}{8}", "¾": r"\tfrac{3}{4}", "⅓": r"\tfrac{1}{3}",
    "⅜": r"\tfrac{3}{8}"}  # fmt: skip
_OPERATORS = {
    "+": "+", "−": "-", "·": r"\cdot ", "×": r"\times ", "/": "/", "=": "=", "~": r"\sim ", "∝": r"\propto ",
    "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ", "≈": r"\approx ", "<": "<", ">": ">", "∈": r"\in ", "→": r"\to ",
    "±": r"\pm ", "≅": r"\cong ",
}  # fmt: skip
_SYMBOLS = {"∞": r"\infty ", "…": r"\dots ", "∂": r"\partial ", "!": "!", "∏": r"\prod ", "∫": r"\int "}
_LONG = 24  # characters
_FUNCTIONS = "log exp max min sin cos det".split()
_NAMES = "logit ss tr diag sign erf".split()
_HATS = {"\u0304": r"\bar", "\u0302": r"\hat", "\u0303": r"\tilde"}

_RAISED_CHARS, _LOWERED_CHARS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀᵗᵏⁿ", "₀₁₂₃₄₅₆₇₈₉₋ₙᵢⱼₖₜ"
_LETTER = rf"[^\W\d_{_RAISED_CHARS}{_LOWERED_CHARS}][\u0302-\u0304]?"
_RAISED = str.maketrans(_RAISED_CHARS, "0123456789-+Ttkn")
_LOWERED = str.maketrans(_LOWERED_CHARS, "0123456789-nijkt")
_SHORT = {*"an as at be by do ed eq go he if in is it me my no of oh on or so to up us vs we".split()}
_SHORT |= {"GB", "KB", "MB", "TB", "kB"}
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<code>[A-Za-z]{{3,}}_\w+ | [a-z]{{2}}_[a-z]{{2,}}\w* | n/a\b | (?<=[^\W_])'s\b)
    | (?P<number>(?<![^\W_])(?:\d+(?:,\d{{3}})+ | \d+(?:\.\d+)?(?:e[-−]?\d+)?))
    | (?P<raised>[{_RAISED_CHARS}]+ | \^[−-]?\((?P<power>[^()]*)\) | \^(?:\d+|[^\W_]))
    | (?P<lowered>[{_LOWERED_CHARS}]+ | _{{[^{{}}]*}} | _[−·]?[^\W_{_RAISED_CHARS}]*(?:,[^\W_{_RAISED_CHARS}]+)?)
    | (?P<prime>['′]+)
    | (?P<part>[½¼⅛¾⅓⅜])
    | (?P<word>(?:{_LETTER})+)
    | (?P<digits>\d+)
    | (?P<root>√)
    | (?P<operator>[{re.escape("".join(_OPERATORS))}])
    | (?P<symbol>[{"".join(_SYMBOLS)}])
    | (?P<bar>[|∣])
    | (?P<open>[(\[{{⌊])
    | (?P<close>[)\]}}⌋])
    | (?P<comma>[,;:])
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of a text: its kind, its characters, and where it begins."""

    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[Token]:
    """The pieces of a text; a word that is a product of symbols, as `aδ` is, comes as its letters."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, piece = str(match.lastgroup if match.lastgroup != "power" else "raised"), match.group()
        if kind == "word":
            after = text[match.end() : match.end() + 1]
            letters = re.findall(_LETTER, piece)
            if piece in _FUNCTIONS or piece in _NAMES:
                kind = "name"
            elif len(letters) == 1 or any(char in _GREEK for char in piece) or (len(letters) == 2 and after == "_"):
                place = match.start()
                for letter in letters:
                    found.append(Token("symbol" if letter not in _GREEK else "greek", letter, place))
                    place += len(letter)
                continue
            elif after == "(" and piece[0].isupper():
                kind = "name"
            elif len(letters) == 2 and piece not in _SHORT and _multiplies(found):
                found += [Token("symbol", letter, match.start() + k) for k, letter in enumerate(letters)]
                continue
        if kind == "space" and len(piece) > 1:
            kind = "other"  # the gap between two columns
        found.append(Token(kind, piece, match.start()))
    return found


def _multiplies(before: list[Token]) -> bool:
    """Whether two letters stand where a factor does: behind a number or an operator."""
    behind = [token.kind for token in before[-2:] if token.kind != "space"]
    return bool(behind) and behind[-1] in ("number", "part", "operator")


_ATOMS = ("number", "symbol", "greek", "name", "part", "root", "raised", "lowered", "prime", "bar")


def _runs(tokens: list[Token]) -> list[tuple[int, int]]:
    """First and last place of each formula among the pieces of a sentence."""
    found = []
    i = 0
    while i < len(tokens):
        if not _begins(tokens, i):
            i += 1
            continue
        following = [token.kind for token in tokens[i + 1 : i + 3]]
        if (
            tokens[i].text in "aAI"
            and following[:1] == ["space"]
            and following[1:]
            and following[1] in (*_ATOMS, "open")
        ):
            i += 1  # an article
            continue
        end = _end(tokens, i)
        if end > i and _is_formula(tokens[i:end]):
            found.append((i, end))
        i = max(end, i + 1)
    return found


def _begins(tokens: list[Token], i: int) -> bool:
    """Whether a formula can begin at a place: with a symbol, a bracket that is no call of code, or a sign."""
    kind, text, _ = tokens[i]
    if kind == "operator":
        free = i == 0 or tokens[i - 1].kind in ("space", "other", "open")
        return text in "−±" and free and i + 1 < len(tokens) and tokens[i + 1].kind in (*_ATOMS, "open")
    if kind == "open":
        return i == 0 or tokens[i - 1].kind not in ("word", "code")
    return kind in _ATOMS and kind not in ("raised", "lowered", "prime")


def _end(tokens: list[Token], start: int) -> int:
    """Where the longest formula ends that begins here: behind a symbol, with no bracket left open."""
    stack: list[bool] = []
    end = start
    for i in range(start, len(tokens)):
        kind = tokens[i].kind
        called = i > start and tokens[i - 1].kind in _ATOMS
        if kind == "open":
            stack.append(called)
        elif kind == "close":
            if not stack:
                break
            stack.pop()
        elif kind in ("word", "comma", "digits", "code"):
            if not (stack and (any(stack) or kind == "comma")):
                break
        elif kind == "other":
            break
        elif kind == "bar" and not stack and _is_spaced(tokens, i) and not _conditions(tokens[start:i]):
            break
        if not stack and (kind in _ATOMS or kind in ("close", "symbol")):
            end = i + 1
    return end


def _is_spaced(tokens: list[Token], i: int) -> bool:
    return 0 < i < len(tokens) - 1 and tokens[i - 1].kind == tokens[i + 1].kind == "space"


def _conditions(tokens: list[Token]) -> bool:
    """Whether a bar may follow, as in `x_ij | y_i = c ~ Normal(…)`."""
    return not any(token.kind == "operator" for token in tokens) and any(token.kind == "lowered" for token in tokens)


def _is_formula(tokens: list[Token]) -> bool:
    kinds = [token.kind for token in tokens]
    atoms = sum(kind in ("number", "symbol", "greek", "name", "part") for kind in kinds)
    if "greek" in kinds or any(kind in ("raised", "lowered") for kind in kinds):
        return any(kind in ("symbol", "greek", "name") for kind in kinds)
    symbols = "symbol" in kinds or "name" in kinds
    return symbols and atoms > 1 and any(kind in kinds for kind in ("operator", "name", "bar"))


def to_latex(formula: str) -> str:
    """A formula as LaTeX; words in it stand as text."""
    return _latex(_tokens(formula.strip()))


def _latex(tokens: list[Token]) -> str:
    out: list[str] = []
    i = 0
    while i < len(tokens):
        if tokens[i].kind == "root":
            inner, i = _operand(tokens, i + 1)
            out.append(rf"\sqrt{{{_latex(inner)}}}")
            continue
        out.append(_piece(tokens, i))
        i += 1
    return re.sub(r" +", " ", "".join(out)).strip()


def _operand(tokens: list[Token], i: int) -> tuple[list[Token], int]:
    """What stands below a root: a bracket without its brackets, or one symbol with its indices."""
    if i < len(tokens) and tokens[i].kind == "open":
        depth, start = 0, i
        while i < len(tokens):
            depth += (tokens[i].kind == "open") - (tokens[i].kind == "close")
            i += 1
            if not depth:
                return tokens[start + 1 : i - 1], i
    start = i
    i += 1
    while i < len(tokens) and tokens[i].kind in ("lowered", "raised"):
        i += 1
    return tokens[start:i], i


def _piece(tokens: list[Token], i: int) -> str:
    kind, text, _ = tokens[i]
    if kind in ("greek", "symbol"):
        if text in ("Σ", "Π") and _sums(tokens, i):
            return {"Σ": r"\sum", "Π": r"\prod"}[text] + " " * (not _indexed(tokens, i))
        if text[-1] in _HATS:
            return f"{_HATS[text[-1]]}{{{text[0]}}}"
        if text in ("…", "∏", "∫", "∞", "∂", "!"):
            return _SYMBOLS[text]
        return f"{_GREEK[text]} " if text in _GREEK else text
    if kind == "raised":
        power = text[1:] if text[0] == "^" else text.translate(_RAISED)
        if re.fullmatch(r"\([^()]*\W[^()]*\)", power):  # a bracket about one symbol is a rising factorial's
            power = power[1:-1]
        return f"^{{{to_latex(power)}}}"
    if kind == "lowered":
        index = text[1:].strip("{}") if text[0] == "_" else text.translate(_LOWERED)
        if len(index) > 3 and index.isascii() and index.isalpha():
            return rf"_{{\mathrm{{{index}}}}}"
        return f"_{{{index if index.isascii() and index.isalnum() else to_latex(index)}}}"
    if kind == "name":
        called = i + 1 < len(tokens) and tokens[i + 1].text == "("
        function = f"\\{text} " if text in _FUNCTIONS else rf"\mathrm{{{text}}} "
        behind = tokens[i - 1].kind if i else "space"
        if behind == "space" and i > 1:
            behind = tokens[i - 2].kind
        if behind in ("symbol", "greek", "close", "raised", "lowered"):
            function = rf"\, {function}"
        return function if called or (text not in _FUNCTIONS and text[0].isupper()) else rf"{function}\, "
    if kind == "number" and "e" in text:
        factor, power = text.replace("−", "-").split("e")
        return (rf"{factor} \cdot " if factor != "1" else "") + f"10^{{{power}}}"
    if kind in ("word", "code", "digits", "other"):
        return rf"\text{{{text}}}" if kind in ("word", "code") else text
    if kind == "space":
        words = [tokens[k].kind == "word" for k in (i - 1, i + 1) if 0 <= k < len(tokens)]
        return r"\ " if any(words) else " "
    if kind == "prime":
        return "'" * len(text)
    if kind == "bar":
        return r"\mid " if _is_spaced(tokens, i) else r"\vert "
    table = {**_OPERATORS, **_SYMBOLS, **_HALVES, "⌊": r"\lfloor ", "⌋": r"\rfloor ", "{": r"\{", "}": r"\}"}
    return table.get(text, text)


def _indexed(tokens: list[Token], i: int) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].kind == "lowered"


def _sums(tokens: list[Token], i: int) -> bool:
    """Whether a capital sigma adds what follows it, rather than being a covariance."""
    if _indexed(tokens, i) and tokens[i + 1].text in ("_i", "_j", "_k"):
        return True
    i += 1 + _indexed(tokens, i)
    spaced = i < len(tokens) and tokens[i].kind == "space"
    i += spaced
    if i >= len(tokens):
        return False
    return tokens[i].kind in ("symbol", "greek", "name", "number", "part") or (tokens[i].kind == "open" and spaced)


def spans(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Where each formula of a sentence begins and ends, and its parts as LaTeX."""
    tokens = _tokens(text)
    for start, end in _runs(tokens):
        while tokens[end - 1].kind == "space":
            end -= 1
        parts = [("{} " if k else "") + _latex(part) for k, part in enumerate(_parts(tokens[start:end]))]
        yield tokens[start].at, tokens[end - 1].at + len(tokens[end - 1].text), parts


def typeset(text: str, mark: Callable[[str], str], escaped: Callable[[str], str] = str) -> str:
    """A sentence with each formula in it as `mark` makes it of the LaTeX, and the words between as `escaped` does."""
    out, done = [], 0
    for start, end, parts in spans(text):
        out += [escaped(text[done:start]), " ".join(map(mark, parts))]
        done = end
    return "".join([*out, escaped(text[done:])])


def _parts(tokens: list[Token]) -> list[list[Token]]:
    """A long formula in parts between which a line may end: browsers do not break one that is a single element."""
    if sum(len(token.text) for token in tokens) < _LONG:
        return [tokens]
    parts: list[list[Token]] = [[]]
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.kind == "open") - (token.kind == "close")
        if not depth and token.text in ("+", "−", "=", "~") and 0 < i and tokens[i - 1].kind == "space":
            parts.append([])
        parts[-1].append(token)
    return [part for part in parts if part]
