"""Rows of a NumPyro model: whether JAX traces them, and minibatches that stand for more rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..models.naive_bayes import Rows


def is_traced(array: Any) -> bool:
    """Whether an array is one of JAX that is being traced, so that its values cannot be looked at."""
    if not hasattr(array, "aval"):  # no array of JAX: it need not be loaded
        return False
    import jax

    return isinstance(array, jax.core.Tracer)


@contextmanager
def rows_that_stand_for(n: int | None, rows: Rows | None) -> Iterator[None]:
    """Within this context the log likelihood of the rows of a NumPyro model is multiplied by n / number of rows.

    So a minibatch of 100 of n = 5,000 rows has the log likelihood of each of its rows 50 times, an unbiased estimate of
    that of all rows. Without n, or without rows, nothing is scaled.
    """
    n_rows = None if rows is None else next(iter(rows.values())).shape[0]
    if n is None or n_rows is None or n == n_rows:
        yield
        return
    with _scaled_rows()(n / n_rows):
        yield


def _scaled_rows() -> Any:
    """NumPyro's handler that scales what lies in the plate "row", and leaves the parameters alone.

    A handler sees a message for each statement of a model. `cond_indep_stack` lists the plates (loops over independent
    entries) around the statement, and `scale` is the factor of its log density, None for 1.
    """
    from numpyro.primitives import Messenger

    class ScaledRows(Messenger):
        """Multiplies the log density of the statements in the plate "row" by a factor."""

        def __init__(self, factor: float) -> None:
            super().__init__(None)
            self.factor = factor

        def process_message(self, message: Any) -> None:
            """Scale the statement if one of the plates around it is that of the rows."""
            if any(frame.name == "row" for frame in message.get("cond_indep_stack") or ()):
                scale = message.get("scale")
                message["scale"] = self.factor if scale is None else scale * self.factor

    return ScaledRows
