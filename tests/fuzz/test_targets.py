"""A bounded part of `make fuzz`: other cases each time, whose number is printed when one fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, prepare, run

CASES = 400


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    """The events to damage are generated before any case is."""
    prepare()


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=st.integers(0, 2**64 - 1))
def test_any_bytes_give_a_value_or_a_named_error(target: str, case: int) -> None:
    run(target, str(case))
