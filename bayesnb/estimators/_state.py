"""The state of an estimator, and how it is replaced: what lets a model learn in one thread while others ask it.

The state of an estimator is the mapping of its attributes: hyperparameters, encoding, statistics, posterior, and what a
derived class adds. A method that learns (`all_or_nothing`) fills a new mapping and puts it in the place of the old one
by a single assignment. No mapping is changed once it is in place. A method that reads (`reads_one_state`) takes the
mapping once, at its start. So a method that fails leaves the model as it was, and a model can learn in one thread while
many others ask it: without a lock, each of them reads one state from beginning to end.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ..core.pytrees import leaves, map_leaves
from ..core.special import log_normalize, most_probable
from ..core.supports import undefined
from ..naive_bayes import Statistics

Method = TypeVar("Method", bound=Callable[..., Any])

BLOCK = "x"  # the block of an estimator that has only one


def all_or_nothing(method: Method) -> Method:
    """A method that learns and returns the estimator: it replaces the state as a whole, or leaves it as it was."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        learner = _with_state(self, dict(vars(self)))
        method(learner, *args, **kwargs)
        self.__dict__ = vars(learner)
        return self

    return _guarded(wrapped)


def reads_one_state(method: Method) -> Method:
    """A method, or function of an estimator, that reads one state of it, whatever another thread fits meanwhile."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(_with_state(self, vars(self)), *args, **kwargs)

    return _guarded(wrapped)


class Unavailable(AttributeError, ValueError):
    """An attribute that the estimator does not have with these settings and rows; the message gives the reason."""


def _of_attribute(getter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The getter of a property for which `hasattr`, and so `dir` and notebooks, see that there is no value."""

    @functools.wraps(getter)
    def wrapped(self: Any) -> Any:
        try:
            return getter(self)
        except AttributeError:
            raise
        except ValueError as error:
            raise Unavailable(*error.args) from error

    return wrapped


def _guarded(method: Any) -> Any:
    """The method, marked as one that mixes no states."""
    method.mixes_no_states = True
    return method


def _with_state(estimator: Any, state: dict[str, Any]) -> Any:
    """An estimator of the same class whose attributes are those in a mapping, which is not copied."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = state
    return twin


class JointClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that normalises a table log p(x_i, y = c).

    Public methods and properties of our classes read one state, unless they are `all_or_nothing`. A property that has
    no value raises an AttributeError, which is a ValueError too if the getter raises that.
    """

    classes_: np.ndarray
    set_params = all_or_nothing(BaseEstimator.set_params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if not cls.__name__.startswith("Abstract"):  # scikit-learn reads all signatures, derived ones too
            super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith("bayesnb."):  # a class of the user's own may learn in any of its methods
            return
        for name, member in [*vars(cls).items()]:
            method = member.fget if isinstance(member, property) else member
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            if not hasattr(method, "mixes_no_states"):
                method = reads_one_state(method)
            if isinstance(member, property):
                method = property(_of_attribute(method), member.fset, doc=member.__doc__)
            setattr(cls, name, method)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c) in nats, (n, c)."""
        raise NotImplementedError

    @reads_one_state
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): the normalised joint table.

        With estimate="predictive" this is the Bayes predictive p(y | x, data): the parameters are integrated out of the
        joint probability. The posterior mean of the class probabilities is a different number,
        `sample_proba(X).mean(0)`.
        """
        table = self._scores(X)
        return log_normalize(table, out=table)

    @reads_one_state
    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y = c | x_i), (n, c); see `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))

    @reads_one_state
    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger class prior.

        Probabilities count as equal if their difference may be rounding. With equal class priors a tie goes to the
        first label.
        """
        best = most_probable(self._scores(X), self._tie_prior())  # which says so if nothing was fitted
        return self.classes_[best]

    def _scores(self, X: Any) -> np.ndarray:
        """`predict_joint_log_proba` up to a term of the row that is the same in all classes."""
        return self.predict_joint_log_proba(X)

    def _tie_prior(self) -> np.ndarray:
        """log p(y = c), (c,): of equally probable labels that with the larger one is predicted."""
        return np.zeros(len(self.classes_))


@dataclass(frozen=True)
class LazyPosterior:
    """A prior and statistics, and the posterior when it is wanted.

    Fields
    ------
    prior : None where there are only statistics
    statistics : of all rows, None where there are none
    """

    prior: Any
    statistics: Any

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))  # at once: another thread may be about to keep a posterior here

    @functools.cached_property
    def posterior(self) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):  # of an improper prior, where `refuse_undefined` looks
            posterior = self.prior.update(self.statistics)
        return refuse_undefined(self.prior, posterior)


def laid_out(stats: Statistics) -> Statistics:
    """Statistics in one layout: the last bits of a sum depend on it, and a file or a pickle would change it."""
    for leaf in leaves(stats):
        if type(leaf) is not np.ndarray or not leaf.flags.c_contiguous:
            return map_leaves(np.ascontiguousarray, stats)
    return stats


def refuse_undefined(prior: Any, posterior: Any) -> Any:
    """The posterior, or a ValueError where an improper prior and few rows do not make it a density."""
    for name, block in prior.blocks.items():
        if block.is_improper and (why := undefined(posterior.blocks[name])):
            raise ValueError(
                f"`prior` is improper, and with the rows so far the posterior is not a density: {why}. Give more rows "
                "of every class, or a proper prior"
            )
    return posterior
