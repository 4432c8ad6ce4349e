"""Event files: what is well formed passes as it stands, what is not is named by its line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.importers import IMPORTERS, Skipped
from producers.importers.jsonl import LINE_BYTES
from tests.producers.importing import SCOPE, Json, passed_on

JSONL = IMPORTERS["jsonl"]
OTHER = {"tenant": "acme", "namespace": "sales", "subject": "bob", "branch": "draft"}
FULL = {
    "kind": "observation",
    "event_id": "e1",
    "scope": OTHER,
    "occurred_at": "2026-05-01T09:00:00+02:00",
    "idempotency_key": "k1",
    "content": "明日は港町で 🛶",
}


def read(path: Path, content: bytes) -> tuple[list[Json], list[Skipped]]:
    path.write_bytes(content)
    return passed_on(JSONL, path)[:2]


def line(event: object) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\r\n\r\n  \n"])
def test_encodings_and_line_ends_do_not_matter(
    path: Path, start: bytes, end: bytes, last: bytes
) -> None:
    assert read(path, start + line(FULL) + end + end + line(FULL) + last) == ([FULL, FULL], [])


def test_an_empty_file_is_nothing(path: Path) -> None:
    assert read(path, b"") == ([], [])


def test_a_complete_event_is_not_touched(path: Path) -> None:
    unknown = FULL | {"colour": "blue", "salience": 0.25, "valid_to": None, "nested": [{"a": 1}]}
    assert read(path, line(unknown)) == ([unknown], [])


def test_missing_ids_are_made_of_the_content(path: Path) -> None:
    bare = {"kind": "assertion", "entity": "alice", "attribute": "city", "value": "Berlin"}
    events, skipped = read(path, line(bare) + b"\n" + line(bare | {"value": "Bern"}))
    assert not skipped
    first, second = events
    assert first["scope"] == SCOPE
    assert first["event_id"] == first["idempotency_key"]
    assert len({first["event_id"], first["fact_id"], second["event_id"], second["fact_id"]}) == 4
    reordered = dict(reversed(list(bare.items())))
    assert read(path, b"\n\n" + line(reordered))[0] == [first]


def test_a_missing_time_stays_missing(path: Path) -> None:
    """It means the time of publishing (INTERFACE, defaults); a made-up one would be content."""
    [event], _ = read(path, line({"kind": "observation", "content": "x"}))
    assert "occurred_at" not in event


def test_a_scope_of_its_own_wins_and_is_never_mixed_with_the_callers(path: Path) -> None:
    half = FULL | {"scope": {"tenant": "acme"}}
    assert read(path, line(half))[0] == [half]


def test_no_scope_anywhere_is_skipped(path: Path) -> None:
    path.write_bytes(line({"kind": "observation", "content": "x"}))
    [item] = JSONL.read(path, {})
    assert isinstance(item, Skipped)
    assert (item.where, item.reason) == ("line 1", "no scope")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"kind": ', "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"kind": "observation", "kind": "deletion"}', "the object says it twice"),
        (b"null", "not a JSON object"),
        (b'{"salience": NaN}', "NaN is not JSON"),
        (b'{"n": ' + b"9" * 5000 + b"}", "a number of thousands"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"content": "\xff"}', "byte 13 is not UTF-8"),
        (b'{"content": "\xed\xa0\xbd"}', "byte 13 is not UTF-8"),
        (b'{"content": "ok\\u0000"}', "NUL at character 2"),
        (b'{"content": "ok\\ud83d"}', "half of a surrogate pair at character 2"),
        (b'{"a": [{"\\ud83d": 1}]}', "half of a surrogate pair at character 0"),
    ],
)
def test_a_bad_line_is_named_and_the_next_goes_on(path: Path, bad: bytes, reason: str) -> None:
    events, [skipped] = read(path, line(FULL) + b"\n\n" + bad + b"\r\n" + line(FULL))
    assert events == [FULL, FULL]
    assert skipped.where.startswith("line 3")
    assert skipped.reason.startswith(reason)
    assert skipped.remedy


def test_the_field_of_a_bad_character_is_named(path: Path) -> None:
    _, [skipped] = read(path, b'{"scope": {"tenant": "a"}, "premises": [{}, {"quote": "\\u0000"}]}')
    assert skipped.where == "line 1, premises[1].quote"


def test_a_whole_emoji_as_an_escaped_pair_is_fine(path: Path) -> None:
    [event], _ = read(path, b'{"scope": {}, "event_id": "e", "content": "\\ud83d\\udef6"}')
    assert event["content"] == "🛶"


def test_a_line_past_the_limit_is_skipped_and_one_at_the_limit_is_not(path: Path) -> None:
    frame = len(line(FULL | {"content": ""}))
    fits = line(FULL | {"content": "x" * (LINE_BYTES - frame)})
    assert len(fits) == LINE_BYTES
    longer = fits[:-1] + b" }"
    events, skipped = read(path, b"\r\n".join([fits, longer, longer * 2, line(FULL), longer]))
    assert len(events) == 2
    assert [item.where for item in skipped] == ["line 2", "line 3", "line 5"]
    assert str(LINE_BYTES) in skipped[0].reason


@pytest.mark.parametrize(
    "name", ["検査_é.jsonl", "検査_e\u0301.jsonl", os.fsdecode(b"bad\xff.jsonl")]
)
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "港"
    folder.mkdir()
    assert read(folder / name, line(FULL)) == ([FULL], [])


@given(
    content=st.binary(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                line(FULL),
                b"\n",
                b"\r\n",
                b"{",
                b"}",
                b'"\\ud800"',
                b"\xef\xbb\xbf",
                b"\x00",
                b" ",
                b"[]",
            ]
        )
    ).map(b"".join)
)
def test_any_bytes_are_counted_and_nothing_is_raised(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    first = read(path, content)
    assert first == read(path, content)
    filled = [part for part in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if part.strip()]
    assert len(first[0]) + len(first[1]) == len(filled)
