"""The report of an import: everything read is counted once, and printable."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.importers import IMPORTERS, Event, ImportReport, Item, Skipped, UnreadableSource
from producers.importers.build import derived_id
from producers.importers.report import shown
from tests.producers.importing import SCOPE

EVENTS: st.SearchStrategy[Event] = st.sampled_from(
    [{"kind": "observation"}, {"kind": "assertion"}, {"kind": 7}, {}]
)
ITEMS: st.SearchStrategy[Item] = st.one_of(
    EVENTS, st.builds(Skipped, where=st.text(), reason=st.sampled_from("ab"), remedy=st.text())
)


@given(st.lists(ITEMS))
def test_the_counts_add_up(items: list[Item]) -> None:
    report = ImportReport()
    events = list(report.sift(items))
    assert events == [item for item in items if not isinstance(item, Skipped)]
    assert report.read == len(items) == report.events.total() + len(report.skipped)
    assert report.reasons().total() == len(report.skipped)


def test_the_report_as_json() -> None:
    report = ImportReport()
    list(report.sift([{"kind": "observation"}, Skipped("line 2", "not JSON", "write JSON")]))
    assert report.as_json() == {
        "read": 2,
        "events": {"observation": 1},
        "skipped": [{"where": "line 2", "reason": "not JSON", "remedy": "write JSON"}],
    }


@given(st.text(st.characters()))
def test_what_is_shown_is_printable(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(text).encode().decode() == shown(text)


def test_a_terminal_escape_is_not_shown() -> None:
    assert shown("a\x1b[2Jb") == "a\\x1b[2Jb"


@given(st.lists(st.text(st.characters())), st.lists(st.text(st.characters())))
def test_ids_are_injective(left: list[str], right: list[str]) -> None:
    assert (derived_id("x", *left) == derived_id("x", *right)) == (left == right)


def test_ids_are_pinned() -> None:
    digest = "8a778c04554331c0bcb8e80926720b6703c2fca0e5cb29d734319d5d36dcf328"
    assert derived_id("chatgpt", "conversation", "message") == f"chatgpt-{digest}"


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_missing_source_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    importer = IMPORTERS[name]
    missing = tmp_path / "検査_é"
    for attempt in (importer.measure, lambda path: list(importer.read(path, SCOPE))):
        with pytest.raises(UnreadableSource) as caught:
            attempt(missing)
        assert caught.value.remedy
        assert "検査_é" in str(caught.value)


@pytest.mark.parametrize("name", ["jsonl", "chatgpt", "mbox"])
def test_a_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource):
        list(IMPORTERS[name].read(tmp_path, SCOPE))
