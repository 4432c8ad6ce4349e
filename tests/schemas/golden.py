"""Golden bytes of a released version: encoded events, and a ledger with what it said then.

`golden/<n>.json` is written once, when version n of the schemas is released, by
`python -m tests.schemas.golden`; it is never written again. It holds
- `events`: of every kind, with and without its optional parts: the frame, and the event as JSON;
- `intake`, `ledger`, `keys`: one partition's intake records, the entries that answer them, and the
  record keys that are left;
- `told`: decisions, opened bodies and the public answers, as that release gave them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from projections.follower import open_body
from projections.ports import LogRecord
from schemas.avro_fields import SCHEMA_VERSION
from schemas.bodies import Body, EventBody
from schemas.codec import Codec
from schemas.entry import NO_FOLLOW_UP, parse_entry
from schemas.events import (
    Actor,
    Assertion,
    ContentRef,
    Control,
    Deletion,
    Derivation,
    Envelope,
    Event,
    Note,
    Observation,
    Premise,
    Retraction,
    Value,
    WorkingSet,
)
from schemas.kinds import Decision, Kind, Reason
from schemas.scope import Scope
from tests.core.harness import TOPICS, Core, intake, scope_of
from tests.model.histories import ADAPTERS, History
from tests.model.reference import ANY, Policy
from tests.model.saying import (
    MAIN,
    OTHER,
    TRY,
    claim,
    fact,
    forget,
    observe,
    placed,
    quote,
    retract,
    time_out,
)

FOLDER = Path(__file__).parent / "golden"
Json = dict[str, Any]

ENVELOPE = Envelope(
    "é-1", Scope("acme", "support", "alice", "main"), "crm", Actor("alice", "user"), "support",
    1_777_626_000_000_000, "k-1", ("occurred_at", "valid_from"),
)  # fmt: skip
BEFORE = msgspec.structs.replace(ENVELOPE, occurred_at=-1, filled=(), actor=Actor("t", "tool"))
PREMISES = (
    Premise("e1", "moved to Berlin", 2, 17, None),
    Premise("e2", "x", None, None, None),
    Premise(None, None, None, None, "f0"),
)
EVENTS: tuple[tuple[Kind, Event], ...] = (
    (Kind.OBSERVATION, Observation(ENVELOPE, "I moved.", None, "text/plain", "personal", 0.25)),
    (Kind.OBSERVATION, Observation(
        BEFORE, None, ContentRef("s3://b/k", "ab" * 32, 2**40), "image/png", "secret", 1.0)),
    (Kind.ASSERTION, Assertion(
        ENVELOPE, "f1", "alice", "city", Value("string", "Berlin"), -5, 2**50, 0.9,
        Derivation("direct", "crm", "1"), (PREMISES[:1], PREMISES[1:]), "f0", 2**51)),
    (Kind.ASSERTION, Assertion(
        BEFORE, "f2", "alice", "age", Value("integer", "-7"), 0, None, 1.0,
        Derivation("inferred", "m", "2"), (PREMISES[2:],), None, None)),
    (Kind.RETRACTION, Retraction(ENVELOPE, "f1", "customer corrected it")),
    (Kind.DELETION, Deletion(ENVELOPE, "observation", "e1", "asked")),
    (Kind.DELETION, Deletion(BEFORE, "subject", None, "")),
    (Kind.WORKINGSET, WorkingSet(ENVELOPE, "w1", "plan", ("e1", "f1"), 2**50)),
    (Kind.WORKINGSET, WorkingSet(BEFORE, "w2", "none", (), None)),
    (Kind.CONTROL, Control(ENVELOPE, "timeout", "fact", "f1", "late")),
    *((kind, Note(ENVELOPE, f"n-{kind.word}", '{"a":[1,2.5,"é",null]}')) for kind in (
        Kind.ASSOCIATION, Kind.PROCEDURE, Kind.OUTCOME, Kind.COMMITMENT, Kind.APPRAISAL,
        Kind.CHALLENGE, Kind.GRANT)),
)  # fmt: skip

HISTORY = (
    observe("o1"),
    observe("o2", "alice lives in Paris, says the form"),
    claim("f1", [quote("o1")]),
    claim("f2", [quote("o2", "Paris")], value="Paris"),
    claim("f3", [quote("o3", "Rome")], value="Rome", attribute="born"),
    observe("o3", "born in Rome"),
    claim("f4", [quote("o3", "born")], value="Milan", attribute="born", supersedes="f3"),
    claim("f5", [fact("f4")], attribute="home", derivation="derived"),
    claim("f6", [quote("o3", "nowhere")], attribute="lost"),
    claim("f7", [quote("never")], attribute="waiting"),
    time_out("f7"),
    retract("f2", by="alice"),
    retract("f2"),
    observe("o4", "a secret", by="alice"),
    forget({"observation": "o4"}, by="alice"),
    observe("o1"),
    observe("o5", "in another branch", scope=TRY),
    observe("o6", "of another subject", scope=OTHER),
    forget({"subject": True}, by="erp", scope=OTHER),
    observe("o7", "said afterwards", scope=OTHER),
)


def core() -> Core:
    """A core of the golden ledger's registry and policy, with nothing in it."""
    records = tuple(placed(HISTORY))
    return Core(History(0, records, Policy(0), (MAIN, TRY, OTHER), ADAPTERS))


def plain(body: Body) -> object:
    """A body as JSON tells it."""
    if isinstance(body, EventBody):
        return [msgspec.msgpack.decode(body.event), body.cutoff_ms]
    return msgspec.to_builtins(body)


def told(of: Core, entries: list[bytes]) -> Json:
    """What a core says of the ledger that it folded."""
    parsed = [parse_entry(stored) for stored in entries]
    keys = of.vault.get_many([entry.header.key_id for entry in parsed])
    return {
        "decisions": [
            f"{Decision(entry.header.decision).name} {Reason(entry.header.reason).name}"
            for entry in parsed
            if entry.header.follows == NO_FOLLOW_UP
        ],
        "bodies": [
            None if key is None else plain(open_body(0, entry, key))
            for entry, key in zip(parsed, keys, strict=True)
        ],
        "facts": {scope[3]: sorted(of.public_facts(scope_of(scope), ANY)) for scope in (MAIN, TRY)},
        "values": sorted(
            f"{member.event.fact_id}={member.event.value.text}"
            for group in of.groups(scope_of(MAIN))
            for member in group.members.values()
        ),
        "superseded": of.superseded_by(scope_of(MAIN), 1),
        "episodes": {
            "/".join(scope[2:]): sorted(of.episodes(scope_of(scope)))
            for scope in (MAIN, TRY, OTHER)
        },
    }


def made() -> Json:
    """Everything that a golden file holds, by the code of now."""
    codec = Codec()
    told_core = core()
    records = [intake(record) for record in placed(HISTORY)]
    bad = LogRecord(TOPICS.intake[Kind.GRANT], 0, 0, records[-1].append_ms, b"\x30no event", ())
    for record in (*records, bad):
        told_core.admission.admit([record])
    entries = [record.value or b"" for record in told_core.log.read(TOPICS.ledger, 0, 0, 10_000)]
    key_ids = [parse_entry(stored).header.key_id for stored in entries]
    kept = zip(key_ids, told_core.vault.get_many(key_ids), strict=True)
    return {
        "events": [
            {
                "kind": kind.word,
                "frame": codec.encode(kind, event).hex(),
                "event": msgspec.to_builtins(event),
            }
            for kind, event in EVENTS
        ],
        "intake": [
            {
                "kind": TOPICS.kind_of[record.topic].word,
                "offset": record.offset,
                "append_ms": record.append_ms,
                "frame": (record.value or b"").hex(),
                "headers": [[name, value.hex()] for name, value in record.headers],
            }
            for record in (*records, bad)
        ],
        "ledger": [stored.hex() for stored in entries],
        "keys": {key_id.hex(): key.hex() for key_id, key in kept if key is not None},
        "told": told(told_core, entries),
    }


def golden() -> dict[int, Json]:
    """The golden file of each version that has one."""
    return {int(path.stem): json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


if __name__ == "__main__":
    text = json.dumps(json.loads(msgspec.json.encode(made())), indent=1, ensure_ascii=False)
    with (FOLDER / f"{SCHEMA_VERSION}.json").open("x") as file:
        file.write(text + "\n")
