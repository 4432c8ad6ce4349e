"""ChatGPT-style exports: who said it stays who said it, and no message gets a time it has not."""

from __future__ import annotations

import json
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.importers import IMPORTERS, Skipped, UnreadableSource
from producers.importers.chatgpt import epoch_micros
from producers.importers.remember import Malformed, Remember, remember_lines
from schemas.limits import CONTENT_BYTES
from schemas.times import MAX_MICROS, MIN_MICROS
from tests.producers.importing import SCOPE, Json, contents, facts, imported

CHATGPT = IMPORTERS["chatgpt"]
T0 = 1_776_700_931.25


def message(text: object = "hello", role: object = "user", **fields: object) -> Json:
    parts = text if isinstance(text, list) else [text]
    return {"author": {"role": role}, "create_time": T0, "content": {"parts": parts}} | fields


def conversation(*messages: object, **fields: object) -> Json:
    """A chain of messages m1, m2, … under an empty root."""
    mapping: Json = {"root": {"message": None, "parent": None}}
    parent = "root"
    for number, one in enumerate(messages, start=1):
        mapping[f"m{number}"] = {"message": one, "parent": parent}
        parent = f"m{number}"
    whole = {"title": "A talk", "conversation_id": "c1", "current_node": parent}
    return whole | {"mapping": mapping} | fields


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.json"


def read(path: Path, *conversations: object) -> tuple[list[Json], list[Skipped]]:
    path.write_text(json.dumps(conversations))
    return imported(CHATGPT, path)


def test_each_message_is_its_authors(path: Path) -> None:
    """Case 78: an assistant's words are stored as an assistant's."""
    events, skipped = read(
        path,
        conversation(
            message("Which limit?"),
            message("limit=40", "assistant"),
            message("done", "tool", author={"role": "tool", "name": "search"}),
            message("be brief", "system"),
        ),
    )
    assert not skipped
    assert contents(events) == ["Which limit?", "limit=40", "done", "be brief"]
    assert [event["actor"] for event in events] == [
        {"id": "user", "role": "user"},
        {"id": "assistant", "role": "assistant"},
        {"id": "search", "role": "tool"},
        {"id": "system", "role": "system"},
    ]
    assert events[0]["occurred_at"] == "2026-04-20T16:02:11.250000Z"
    assert events[0]["scope"] == SCOPE


@pytest.mark.parametrize("encode", [
    lambda text: text.encode(),
    lambda text: text.encode("utf-8-sig"),
    lambda text: text.replace("\n", "\r\n").encode(),
])  # fmt: skip
def test_good_ones_of_a_faulty_export_come_in(path: Path, encode: Any) -> None:
    """Case 83: title null, create_time missing or null, 50 parts, in one file."""
    fifty = [f"part {number}" for number in range(50)]
    undated = message("undated")
    del undated["create_time"]
    export = [
        conversation(message("good")),
        conversation(message(fifty), title=None, create_time=None, conversation_id="c2"),
        conversation(
            undated,
            message("null", create_time=None),
            message("text", create_time="2026-04-20"),
            message("true", create_time=True),
            message("late", create_time=1e300),
            conversation_id="c3",
        ),
        None,
        {"title": "no mapping"},
    ]
    path.write_bytes(encode(json.dumps(export, indent=1)))
    events, skipped = imported(CHATGPT, path)
    assert contents(events) == ["good", "\n".join(fifty)]
    assert [item.where for item in skipped] == [
        *(f"conversation 3, message m{number}" for number in range(1, 6)),
        "conversation 4",
        "conversation 5",
    ]
    assert {item.reason for item in skipped[:5]} == {"no create_time, or not an instant"}


def test_a_fault_in_the_json_spoils_what_comes_after_it_alone(path: Path) -> None:
    good = json.dumps(conversation(message("good")))
    for broken in ("{oops", "", "[" * 100_000, '{"a": 1', "nul"):
        path.write_text(f"[{good},\n{broken}")
        events, [skipped] = imported(CHATGPT, path)
        assert contents(events) == ["good"]
        assert skipped.where == "conversation 2 and all after it"
        assert skipped.reason.startswith("not JSON at line 2")
    path.write_text(f"[{good}\n{good}]")
    assert len(imported(CHATGPT, path)[1]) == 1


def test_the_path_to_the_current_node_is_read(path: Path) -> None:
    talk = conversation(message("question"), message("second answer", "assistant"))
    talk["mapping"]["old"] = {"message": message("first answer", "assistant"), "parent": "m1"}
    events, [skipped] = read(path, talk)
    assert contents(events) == ["question", "second answer"]
    assert skipped.where == "conversation 1, message old"


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_without_a_current_node_all_are_read_by_time(path: Path, current: object) -> None:
    talk = conversation(
        message("third", create_time=30), message("first", create_time=10), current_node=current
    )
    talk["mapping"]["other"] = {"message": message("second", create_time=20)}
    assert contents(read(path, talk)[0]) == ["first", "second", "third"]


def test_a_circle_of_parents_ends(path: Path) -> None:
    talk = conversation(message("one"), message("two"))
    talk["mapping"]["root"]["parent"] = "m2"
    assert contents(read(path, talk)[0]) == ["one", "two"]


def test_parts_that_are_not_text_are_named(path: Path) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    events, skipped = read(
        path, conversation(message(["look: ", image, 7, "nice"]), message(image))
    )
    assert contents(events) == ["look: \nnice"]
    assert [item.reason for item in skipped] == [
        "a part that is not text: image_asset_pointer",
        "a part that is not text: unknown",
        "a part that is not text: image_asset_pointer",
        "no text",
    ]


def test_code_has_text_instead_of_parts(path: Path) -> None:
    code = message(content={"content_type": "code", "text": "print(1)"})
    assert contents(read(path, conversation(code))[0]) == ["print(1)"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message(""), "no text"),
        (message(" \n"), "no text"),
        (message(content=None), "no text"),
        (message(author=None), "author.role is none of the known ones"),
        (message(role="oracle"), "author.role is none of the known ones"),
        (message(role=["user"]), "author.role is none of the known ones"),
        (message("ok\0"), "NUL at character 2"),
        (message("ok\ud83d"), "half of a surrogate pair at character 2"),
        (message("é" * (CONTENT_BYTES // 2 + 1)), f"{CONTENT_BYTES + 2} bytes of UTF-8"),
        (message(author={"role": "tool", "name": "x" * 300}), "300 bytes of UTF-8"),
        ("text", "not a message"),
    ],
)
def test_a_message_that_cannot_come_in_is_named(path: Path, bad: object, reason: str) -> None:
    events, [skipped] = read(path, conversation(message("before"), bad, message("after")))
    assert contents(events) == ["before", "after"]
    assert skipped.where.startswith("conversation 1, message m2")
    assert skipped.reason == reason


def test_ids_are_the_exports_own_and_survive_growth(path: Path) -> None:
    first = read(path, conversation(message("one", id="a")))[0]
    grown = conversation(message("one", id="a"), message("two", id="b"), title="renamed")
    events = read(path, conversation(message("other"), conversation_id="c0"), grown)[0]
    assert events[1] == first[0]
    assert len({event["event_id"] for event in events}) == 3


def test_equal_message_ids_of_nameless_conversations_do_not_meet(path: Path) -> None:
    talks = [
        conversation(message(text), title=None, conversation_id=None) for text in ("one", "two")
    ]
    events = read(path, *talks)[0]
    assert len({event["event_id"] for event in events}) == 2


def test_the_zip_of_an_export_is_read(path: Path, tmp_path: Path) -> None:
    plain = read(path, conversation(message("zipped")))
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<p>")
        archive.write(path, "export/conversations.json")
    assert imported(CHATGPT, packed) == plain


def test_a_zip_without_conversations_or_damaged_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<p>")
    with pytest.raises(UnreadableSource, match=r"no conversations\.json"):
        list(CHATGPT.read(packed, SCOPE))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation(message("spoiled"))]))
    packed.write_bytes(packed.read_bytes().replace(b"spoiled", b"changed"))
    with pytest.raises(UnreadableSource, match="damaged"):
        list(CHATGPT.read(packed, SCOPE))


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b"\xff\xfe[\x00]\x00", b"PK\x03\x04"])
def test_what_is_no_export_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnreadableSource):
        list(CHATGPT.read(path, SCOPE))


def test_an_empty_export_is_nothing(path: Path) -> None:
    assert read(path) == ([], [])


def test_the_users_remember_lines_are_facts_and_nobody_elses(path: Path) -> None:
    events, skipped = read(
        path,
        conversation(
            message("Ahoj 🛶!\nremember: alice | city | São Paulo \nremember: a | b | c|d\nbye"),
            message("remember: alice | city | Rome", "assistant"),
            message("remember: alice | city | Oslo", "system"),
            message("I remember: alice | city | Lima"),
        ),
    )
    assert not skipped
    assert facts(events) == [("alice", "city", "São Paulo"), ("a", "b", "c|d")]
    [_, city, _, *_] = events
    [justification] = city["justifications"]
    [premise] = justification["premises"]
    assert premise["quote"] == "São Paulo"
    assert city["actor"] == {"id": "user", "role": "user"}
    assert city["derivation"] == {"kind": "direct", "method": "chatgpt-import", "version": "1"}
    assert city["supersedes"] is None


def test_replaces_previous_supersedes_the_latest_of_its_key(path: Path) -> None:
    talk = conversation(
        message("remember: Alice | city | Lisbon"),
        message("remember: alice | city | Faro"),
        message(
            "remember: alice | CITY | Porto (replaces previous)\r\nremember: bob | city | Rome"
        ),
        message("remember: alice | city | Braga (replaces previous)"),
        message("remember: alice | pet | cat (replaces previous)"),
    )
    events, _ = read(path, talk, conversation(*[
        message("remember: alice | city | Oslo (replaces previous)")
    ], conversation_id="c2"))  # fmt: skip
    made = {e["value"]: e for e in events if e["kind"] == "assertion"}
    assert {value: made[value]["supersedes"] for value in made} == {
        "Lisbon": None,
        "Faro": None,
        "Porto": made["Faro"]["fact_id"],
        "Rome": None,
        "Braga": made["Porto"]["fact_id"],
        "cat": None,
        "Oslo": None,
    }


def test_a_remember_line_without_three_fields_is_named(path: Path) -> None:
    text = "hi\nremember: alice | city\nremember: | a | b\nremember: a | b | (replaces previous)"
    events, skipped = read(path, conversation(message(text)))
    assert contents(events) == [text]
    assert not facts(events)
    assert [item.where for item in skipped] == [
        f"conversation 1, message m1, line {number}" for number in (2, 3, 4)
    ]


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["remember:", "remember: é | b | 🛶 c", " | ", "\n", "\r\n", "(replaces previous)", "|"]
)).map("".join)  # fmt: skip


@given(LINES)
def test_a_remembered_value_is_at_its_span(content: str) -> None:
    for line in remember_lines(content):
        if isinstance(line, Remember):
            assert content.encode()[line.start : line.end] == line.value.encode()
            assert line.value.strip() == line.value != ""
        else:
            assert isinstance(line, Malformed)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=None))
def test_epoch_seconds_become_microseconds_exactly(seconds: Decimal) -> None:
    exact = Fraction(seconds) * 1_000_000 if abs(seconds.adjusted()) < 100 else None
    micros = epoch_micros(seconds)
    if exact is not None and MIN_MICROS <= exact < MAX_MICROS + 1:
        assert micros == exact.numerator // exact.denominator
    elif micros is not None:
        assert micros in (0, -1)  # closer to 1970 than a microsecond


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("8614944000.064", 8_614_944_000_064_000),
        ("-0.000001", -1),
        ("1776700931.2500009", 1_776_700_931_250_000),
        ("1776700931", 1_776_700_931_000_000),
        ("1.776700931e9", 1_776_700_931_000_000),
        ("1e99999999999999999999", None),
        ("-62135596800.000001", None),
        ("NaN", None),
        ("Infinity", None),
    ],
)
def test_a_time_never_passes_through_a_float(path: Path, text: str, micros: int | None) -> None:
    """Case 11, from the bytes of the file on."""
    export = json.dumps([conversation(message("x", create_time=12345))]).replace("12345", text)
    path.write_text(export)
    events, skipped = imported(CHATGPT, path)
    assert len(events) + len(skipped) == 1
    assert bool(events) == (micros is not None)
    if "e999" not in text:
        assert epoch_micros(Decimal(text)) == micros


def test_a_far_time_keeps_its_milliseconds(path: Path) -> None:
    events, _ = read(path, conversation(message("x", create_time=8615030400.064)))
    assert events[0]["occurred_at"] == "2243-01-01T00:00:00.064000Z"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["mapping", "message", "parent", "content", "parts", "author", "role",
                         "create_time", "current_node", "id", "m1", "m2"]), inner, max_size=4),
)  # fmt: skip


@given(JSON, JSON)
def test_any_json_is_counted_and_nothing_is_raised(
    tmp_path_factory: pytest.TempPathFactory, inner: object, extra: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    read(
        path,
        inner,
        conversation(inner, message(extra), current_node=extra),
        conversation(message([extra]), mapping={"m1": inner, "m2": {"message": extra}}),
    )
