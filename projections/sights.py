"""What is seen of a scope at an instant, as search needs it (SPEC §8, I3); plain values.

A sight is a document that may be seen. What a search finds is a candidate: a conflict is one,
however many sides it has, so it is ranked once and never taken apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from schemas.events import Value
from schemas.intervals import Bound, holds
from schemas.values import json_value


class Said(msgspec.Struct, frozen=True, gc=False):
    """What a fact says."""

    record: bytes
    fact_id: str
    entity: str
    attribute: str
    value: Value

    @property
    def text(self) -> str:
        """What a fact is found by."""
        return f"{self.entity} {self.attribute} {json_value(self.value)}"


class Candidate(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What a search may find: an `episode`, a `fact`, or a `conflict` with all its sides.

    `name` breaks ties: the record's own id, of a conflict the least fact id. `said` is what its
    facts say, `keys` are their normalised entities, attributes and values, `overlap` is the widest
    interval on which they are in just this conflict.
    """

    kind: str
    name: str
    said: tuple[Said, ...]
    keys: tuple[str, ...]
    overlap: tuple[int, Bound] | None


class Sight(msgspec.Struct, frozen=True, gc=False):
    """A document that may be seen, and the candidate that it is (a part of)."""

    ordinal: int
    record: bytes
    text: str
    candidate: Candidate


class Standing(NamedTuple):
    """How the facts of one (entity, attribute) stand at every instant of [since, until).

    `sights` are the unsuperseded ones that are eligible and hold. All of them are public, or all of
    them are one conflict's sides: two values of a single-valued attribute are unequal (I3).
    `certain` if this follows from the glances alone.
    """

    sights: Mapping[bytes, Sight]
    since: int | None
    until: Bound
    certain: bool


def lasts(since: int | None, until: Bound, t: int) -> bool:
    """Whether what stands from `since` (None: ever) to `until` stands at `t`."""
    return holds(t if since is None else since, until, t)


def stretch(groups: Iterable[Standing]) -> tuple[int | None, Bound]:
    """The interval of instants at each of which all the groups stand as they do."""
    groups = list(groups)
    since = max((one.since for one in groups if one.since is not None), default=None)
    return since, min((one.until for one in groups if one.until is not None), default=None)
