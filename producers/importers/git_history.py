"""Which statements a commit brings, and whose place they take: pure, parents before children.

- A commit *brings* a statement when its file says it and its first parent's did not say the same.
  What another parent said already is taken over from there: a merge states nothing new.
- It takes the place of what its file said along the first-parent line, or, where the file is new to
  the attribute, of what another file said until this commit and says no more.
- What vanished without a successor is remembered, for a file that takes it up again.
So the state of a commit is a function of its ancestors alone, and importing a longer history later
says the same of the older commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from producers.importers.project_lines import Statement

Key = tuple[str, str]  # path, attribute


@dataclass(frozen=True, slots=True)
class Held:
    """What a file states as far as known, and the fact that says so."""

    value: str
    fact_id: str


State = Mapping[Key, Held]


@dataclass(frozen=True, slots=True)
class Brought:
    """A statement that a commit brought, its fact id, and the fact whose place it takes."""

    path: str
    statement: Statement
    fact_id: str
    supersedes: str | None


def settle(
    stated: Mapping[Key, Statement], parents: Sequence[State], fact_id: Callable[[Key], str]
) -> tuple[State, list[Brought]]:
    """The state of a commit whose files state `stated`, and what it brought.

    `parents` are the parents' states, the first parent's first; `fact_id` names the fact of a key.
    """
    before = parents[0] if parents else {}
    state = dict(before)
    brought = []
    for key, statement in stated.items():
        held = before.get(key)
        if held is not None and held.value == statement.value:
            continue
        known = (other[key] for other in parents[1:] if key in other)
        taken = next((there for there in known if there.value == statement.value), None)
        if taken is not None:
            state[key] = taken
            continue
        predecessor = held or _moved(key, stated, state)
        state[key] = Held(statement.value, fact_id(key))
        supersedes = predecessor.fact_id if predecessor else None
        brought.append(Brought(key[0], statement, state[key].fact_id, supersedes))
    return (before if state == before else state), brought


def _moved(key: Key, stated: Mapping[Key, Statement], state: dict[Key, Held]) -> Held | None:
    """What another file said of the attribute and says no more, taken out of `state`."""
    for other in state:
        if other[1] == key[1] and other != key and other not in stated:
            return state.pop(other)
    return None
