"""Entries of docstrings that estimators share, each written once.

A class marked with `documented` has lines such as `{class_parameters}` in its docstring. When the class is made, they
are replaced by the entries of these names, so `help` and the pages show them in full.
"""

import re
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_ENTRIES = {
    "class_parameters": """
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
""",
    "force_alpha": """
    force_alpha : bool, default True
        with False, an alpha below 1e-10 becomes 1e-10, as in scikit-learn
""",
    "estimate": """
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out. The other three are point estimates, which are
        plugged in. Changing it needs no refit.
""",
    "prior_of_columns": """
        A mapping from column (name or position) to one of these sets the prior of single columns. The other columns
        keep the default. See the guide "Which prior?"
""",
    "learnt": """
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
""",
}
"""The entries by name, with the indent that they have in a class."""


def documented(cls: _Class) -> _Class:
    """Replace the lines `{name}` in the docstring of a class by the entries that estimators share.

    Raises
    ------
    KeyError
        if there is no entry of that name
    """
    if cls.__doc__ is not None:  # it is None with `python -OO`
        cls.__doc__ = re.sub(r"^ *\{(\w+)\}$", _entry, cls.__doc__, flags=re.MULTILINE)
    return cls


def _entry(line: re.Match[str]) -> str:
    """What takes the place of a line `{name}`."""
    return _ENTRIES[line[1]].strip("\n")
