"""Lists of large scopes: in turns, page by page, each item once whatever is written meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway import listing, paging
from projections.state import Reader, StoreReader
from tests.limits.conftest import Held, Json

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}
FACTS = 60
NAMES: dict[str, Callable[[Json], Any]] = {
    "facts": lambda item: item["fact_id"],
    "history": lambda item: item["fact_id"],
    "conflicts": lambda item: item["entity"],
    "episodes": lambda item: item["event_id"],
    "audit/facts": lambda item: item["fact_id"],
    "audit/entries": lambda item: item["hash"],
}


def observation(n: int) -> Json:
    """The n-th observation."""
    return {"kind": "observation", "event_id": f"e{n}", "scope": SCOPE, "content": f"it is {n}"}


def assertion(n: int, name: str, entity: str, value: str) -> Json:
    """A fact that rests on the n-th observation."""
    premise = {"observation": f"e{n}", "quote": f"is {n}"}
    return {
        "kind": "assertion",
        "event_id": name,
        "fact_id": name,
        "scope": SCOPE,
        "entity": entity,
        "attribute": "number",
        "value": value,
        "justifications": [{"premises": [premise]}],
    }


def tell(roomy: Held, events: list[Json]) -> None:
    """Publish and decide."""
    assert roomy.publish(events).status_code == 202
    roomy.decide()


def filled(roomy: Held) -> None:
    """Facts of their own keys, conflicts of two, and at the end entries that move no head."""
    tell(roomy, [observation(n) for n in range(FACTS)])
    tell(roomy, [assertion(n, f"f{n}", f"thing {n}", str(n)) for n in range(FACTS)])
    for side in ("a", "b"):
        tell(roomy, [assertion(n, f"{side}{n}", f"pair {n}", side) for n in range(FACTS)])
    tell(roomy, [observation(n) for n in range(7)])  # duplicates
    tell(roomy, [assertion(1000 + n, f"late{n}", f"late {n}", "x") for n in range(7)])  # parked


def page(roomy: Held, name: str, **params: Any) -> Json:
    """One page over HTTP."""
    answer = roomy.client.get(f"/v1/{name}", params={**SCOPE, **params})
    assert answer.status_code == 200, answer.text
    said: Json = answer.json()
    return said


def pages(roomy: Held, name: str, limit: int, between: Callable[[int], None]) -> Iterator[Json]:
    """Every page; `between` runs after each but the last, with its number."""
    params: Json = {"limit": limit}
    for number in range(1000):
        found = page(roomy, name, **params)
        yield found
        assert len(found["items"]) <= limit
        if found["next_cursor"] is None:
            return
        assert len(found["items"]) == limit
        params["cursor"] = found["next_cursor"]
        between(number)


@pytest.mark.parametrize("name", NAMES)
def test_each_item_is_on_one_page_whatever_the_limit(roomy: Held, name: str) -> None:
    filled(roomy)
    (whole,) = pages(roomy, name, 1000, lambda _: None)
    several = {"history": 3 * FACTS, "audit/facts": 3 * FACTS + 7, "audit/entries": roomy.entries()}
    assert len(whole["items"]) == several.get(name, FACTS)
    for limit in (3, 60, len(whole["items"])):
        parts = list(pages(roomy, name, limit, lambda _: None))
        assert [item for part in parts for item in part["items"]] == whole["items"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_between_pages_makes_no_item_skipped_or_repeated(
    roomy: Held, name: str
) -> None:
    filled(roomy)
    id_of = NAMES[name]
    (whole,) = pages(roomy, name, 1000, lambda _: None)
    gone: set[str] = set()

    def between(number: int) -> None:
        target = 5 * number + 2  # some before the cursor, some behind it
        if target < FACTS:
            gone.update({f"e{target}", f"f{target}", f"a{target}", f"b{target}", f"pair {target}"})
            forget = {"observation": f"e{target}"}
            tell(
                roomy,
                [
                    observation(2000 + number),
                    assertion(2000 + number, f"new{number}", f"thing {number}", "new"),
                    {
                        "kind": "deletion",
                        "event_id": f"d{number}",
                        "scope": SCOPE,
                        "target": forget,
                    },
                ],
            )

    parts = list(pages(roomy, name, 7, between))
    seen = Counter(id_of(item) for part in parts for item in part["items"])
    before = Counter(id_of(item) for item in whole["items"])
    audit = name.startswith("audit")
    assert gone
    for identity, count in before.items():
        if audit or identity not in gone:
            shown = seen[identity] if identity is not None else count
            assert shown == count or (audit and identity in gone), identity
    assert set(seen) <= set(before) | {None}
    assert max(count for identity, count in seen.items() if identity is not None) == 1


def test_a_list_gives_way_after_every_few_rows(
    roomy: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "CHUNK", 10)
    monkeypatch.setattr(listing, "GROUPS", 2)
    monkeypatch.setattr(paging, "SHOWN", 5)
    filled(roomy)
    looked: list[int] = []
    reading = roomy.backend.reading

    @contextmanager
    def counted(partition: int) -> Iterator[Reader]:
        with reading(partition) as reader:
            assert isinstance(reader, StoreReader)
            looked.append(0)
            yield Counting(reader, looked)

    monkeypatch.setattr(roomy.backend, "reading", counted)
    for name in NAMES:
        looked.clear()
        assert len(page(roomy, name, limit=1000)["items"]) >= FACTS
        assert max(looked) <= 200, name
        assert len(looked) >= FACTS // 10, name


class Counting(StoreReader):
    """A reader that counts what is looked up while its turn lasts."""

    def __init__(self, reader: StoreReader, looked: list[int]) -> None:
        super().__init__(reader.store)
        self._looked = looked

    def row(self, key: bytes) -> Any:
        """A row, counted."""
        self._looked[-1] += 1
        return super().row(key)

    def raw(self, wanted: Any) -> list[bytes | None]:
        """Bytes of rows, counted."""
        self._looked[-1] += len(wanted)
        return super().raw(wanted)


def test_a_page_of_large_contents_ends_by_its_size_and_says_that_there_is_more(
    roomy: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_BYTES", 10_000)
    tell(roomy, [{**observation(n), "content": "x" * 3_000} for n in range(10)])
    first = page(roomy, "episodes", limit=1000)
    assert [item["event_id"] for item in first["items"]] == ["e0", "e1", "e2", "e3"]
    names = [item["event_id"] for item in first["items"]]
    cursor = first["next_cursor"]
    while cursor is not None:
        found = page(roomy, "episodes", limit=1000, cursor=cursor)
        names += [item["event_id"] for item in found["items"]]
        cursor = found["next_cursor"]
    assert names == [f"e{n}" for n in range(10)]
