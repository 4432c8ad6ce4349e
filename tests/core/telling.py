"""Hand-written histories on the real core, said in the words of `tests.model.saying`."""

from __future__ import annotations

from tests.core.harness import Core, scope_of
from tests.model.histories import ADAPTERS, History
from tests.model.reference import Policy
from tests.model.rules import Record
from tests.model.saying import MAIN, OTHER, TRY, placed

SCOPE = scope_of(MAIN)


def core_told(*steps: Record) -> Core:
    """The core after the steps in the order in which they stand."""
    records = placed(steps)
    history = History(0, tuple(records), Policy(0), (MAIN, TRY, OTHER), ADAPTERS)
    return Core(history).consume(records)
