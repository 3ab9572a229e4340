"""Products of small matrices are slower on several threads, and two workers have one core each."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
