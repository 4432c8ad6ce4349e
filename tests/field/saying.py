"""How the cases of the field are said: a fact with a source of its own, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemolog.memory import AssertionReceipt, ScopedMemory
from schemas import answers
from schemas.errors import Fault, InvalidEvent

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}
Json = dict[str, Any]


def stated(
    scope: ScopedMemory, entity: str, attribute: str, value: Any, **fields: Any
) -> AssertionReceipt:
    """A fact, quoted whole from an observation made for it; it must be accepted."""
    text = str(value)
    seen = scope.observe(f"{entity} / {attribute} / {text}", actor="clerk")
    start = len(f"{entity} / {attribute} / ".encode())
    receipt = scope.assert_fact(
        entity,
        attribute,
        value,
        source=seen,
        quote=text,
        start=start,
        end=start + len(text.encode()),
        **fields,
    )
    assert receipt.state == "accepted", receipt
    return receipt


def fault_of(call: Callable[..., object], *args: Any, **fields: Any) -> Fault:
    """The fault with which a call is refused; it must say what to do."""
    with pytest.raises(InvalidEvent) as refused:
        call(*args, **fields)
    assert refused.value.fault.remedy
    return refused.value.fault


def values(scope: ScopedMemory, **filters: Any) -> list[Any]:
    """The values of the public facts, in the order of the list."""
    return [fact.value for fact in scope.facts(**filters).items]


def contested(scope: ScopedMemory, **filters: Any) -> list[list[Any]]:
    """The values of each conflict's sides, sorted."""
    return [sorted(side.value for side in c.sides) for c in scope.conflicts(**filters).items]


def found(scope: ScopedMemory, query: str, **options: Any) -> list[answers.RecallResult]:
    """What a recall finds."""
    return list(scope.recall(query, **options).results)


def facts_found(scope: ScopedMemory, query: str, **options: Any) -> list[Any]:
    """The values of the facts that a recall finds as plain answers."""
    return [hit.fact.value for hit in found(scope, query, **options) if hit.type == "fact"]


def texts(scope: ScopedMemory, query: str, **options: Any) -> list[str | None]:
    """The contents of the episodes that a recall finds."""
    return [hit.episode.content for hit in found(scope, query, **options) if hit.type == "episode"]
