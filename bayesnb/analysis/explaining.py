"""`explain` of any model that has it, and of a pipeline that ends in one."""

from typing import Any

import pandas as pd

from ..estimators._named import last_step
from ..estimators._suited import check_own


def explain(estimator: Any, X: Any, *, feature_names: Any = None, **settings: Any) -> pd.DataFrame:
    """What each feature of each row adds to the log odds of each class, in nats: by the method `explain` of the model.

    Of a pipeline the last step does the work. The other steps transform the rows and name the features, so that
    contributions of words have the words beside them.

    Parameters
    ----------
    estimator : a fitted estimator with a method `explain`, or a fitted pipeline that ends in one
    X : rows as `estimator.predict` takes them, such as texts
    feature_names : (d,) names of the features; by default those of the pipeline, or of the columns
    settings : those of the method, such as `against` and `n`

    Returns
    -------
    pandas.DataFrame
        as the method returns it, with the columns row, class_, feature and contribution, and mostly value, low and high

    Raises
    ------
    TypeError
        if the estimator explains nothing
    ValueError
        if a setting is out of range, or if there is not one name for each feature

    Examples
    --------
    >>> import bayesnb
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["win money now", "money for free", "lunch at noon", "notes of the lunch"], [1, 1, 0, 0]
    >>> spam = make_pipeline(CountVectorizer(), bayesnb.MultinomialNB()).fit(texts, labels)
    >>> table = bayesnb.explain(spam, ["money for lunch"], against=0)
    >>> table[["feature", "value", "contribution"]].round(2).to_string(index=False).split()[3:]
    ['(class', 'prior)', '0.00', 'money', '1', '1.15', 'lunch', '1', '-1.04', 'for', '1', '0.75']
    """
    step = last_step(estimator, X, feature_names)
    if not hasattr(step.estimator, "explain"):
        check_own(step.estimator, "explain")  # a TypeError with advice
    return step.estimator.explain(step.X, feature_names=step.feature_names, **settings)
