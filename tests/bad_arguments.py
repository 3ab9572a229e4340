"""Calls every public method with bad values of each argument, and prints those that do not name it: see the test."""

import copy
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_iris

from bayesnb import (
    CalibratedClassifierLOO,
    CategoricalNB,
    ConformalClassifierLOO,
    CostClassifier,
    DiscriminativeNB,
    EvidenceBinner,
    FeatureAverage,
    ForwardSelection,
    GaussianDA,
    GaussianNB,
    HalfLabelledClassifier,
    KernelNB,
    MixedNB,
    MultinomialNB,
    OneDependenceNB,
    SPSSNaiveBayes,
    compare,
    decide,
    fit_prior,
    importance,
    most_informative,
    rank_features,
    with_class_prior,
)

X, Y = load_iris(return_X_y=True)
X, Y = np.round(X[::15]), Y[::15]
BAD = {
    "a word": "x",
    "None": None,
    "a mapping": {},
    "beyond any float": 10**400,
    "negative": -1,
    "a fraction": 2.5,
    "an object": object(),
    "lists of several lengths": [[1], [1, 2]],
    "NaN": float("nan"),
    "a list of None": [None] * len(Y),
}
ESTIMATORS = [
    GaussianNB(),
    GaussianDA(),
    CategoricalNB(),
    MultinomialNB(),
    KernelNB(bandwidth=0.5),
    OneDependenceNB(),
    MixedNB([("a", GaussianNB(), [0, 1]), ("b", CategoricalNB(), [2, 3])]),
    CalibratedClassifierLOO(GaussianNB()),
    DiscriminativeNB([("a", GaussianNB(), [0]), ("b", "drop", [1, 2, 3])]),
    ConformalClassifierLOO(GaussianNB()),
    FeatureAverage(GaussianNB()),
    HalfLabelledClassifier(GaussianNB()),
    CostClassifier(GaussianNB(), costs=1 - np.eye(3)),
    EvidenceBinner(),
    ForwardSelection(),
    SPSSNaiveBayes(),
]
FUNCTIONS = {
    compare: {"estimators": {"a": GaussianNB()}, "X": X, "y": Y},
    importance: {"estimator": GaussianNB().fit(X, Y), "X": X, "y": Y},
    rank_features: {"estimator": MultinomialNB().fit(X, Y)},
    with_class_prior: {"estimator": GaussianNB().fit(X, Y), "class_prior": {0: 0.2, 1: 0.3, 2: 0.5}},
    fit_prior: {"estimator": GaussianNB(), "X": X, "y": Y},
    most_informative: {"estimator": GaussianNB().fit(X, Y), "X": X},
    decide: {"p": GaussianNB().fit(X, Y).predict_proba(X)},
}
# scikit-learn's own, which name theirs; files; chains; and what a model is asked inside the package
LEFT_OUT = set("score get_params get_metadata_routing save load check numpyro_model sample_posterior merge".split())
# one number for all rows is a weight
ONE_WEIGHT = {"a fraction"}


class Call(NamedTuple):
    """A call that does not fail, and what to change in it."""

    name: str
    run: Callable[..., Any]
    arguments: dict[str, Any]
    parameters: list[inspect.Parameter]


def methods() -> Iterator[Call]:
    """Every public method once, by the class that defines it, on an estimator that is fitted."""
    seen = set()
    for estimator in ESTIMATORS:
        fitted = copy.deepcopy(estimator).fit(X, Y)
        for name, method in inspect.getmembers(type(estimator), inspect.isfunction):
            is_public = not name.startswith(("_", "set_")) and name not in LEFT_OUT
            is_own = method.__module__.startswith("bayesnb")
            if not (is_public and is_own) or "Provisional" in (method.__doc__ or "") or method.__qualname__ in seen:
                continue
            seen.add(method.__qualname__)
            parameters = [*inspect.signature(method).parameters.values()][1:]
            if not parameters:
                continue
            arguments = {key: value for key, value in (("X", X), ("y", Y)) if key in [p.name for p in parameters]}
            yield Call(f"{type(estimator).__name__}.{name}", partial(on_a_copy, method, fitted), arguments, parameters)


def on_a_copy(function: Callable[..., Any], fitted: Any, /, **arguments: Any) -> None:
    """Call a method of a copy, as some change the estimator."""
    function(copy.deepcopy(fitted), **arguments)


def functions() -> Iterator[Call]:
    """The public functions that take rows or estimators."""
    for function, arguments in FUNCTIONS.items():
        yield Call(function.__name__, function, arguments, [*inspect.signature(function).parameters.values()])


def faults(call: Call) -> Iterator[str]:
    """Bad values that raise another error, or one that does not name the argument."""
    for parameter in call.parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        for kind, value in BAD.items():
            if parameter.default is value or (parameter.name == "sample_weight" and kind in ONE_WEIGHT):
                continue
            try:
                call.run(**call.arguments | {parameter.name: value})
            except Exception as error:
                is_named = re.search(rf"\b{parameter.name}\b", str(error))
                if not isinstance(error, TypeError | ValueError) or not is_named:
                    yield f"{call.name}({parameter.name}={kind}): {type(error).__name__}: {error}"


def main() -> None:
    """Exit with 1 where there is a fault."""
    warnings.simplefilter("ignore")
    found = []
    for call in [*methods(), *functions()]:
        try:
            call.run(**call.arguments)
        except Exception as error:
            found.append(f"{call.name} fails without a bad value: {error}")
            continue
        found += faults(call)
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
