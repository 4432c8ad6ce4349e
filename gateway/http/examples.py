"""One small story, told by every call's example: Alice moved to Berlin.

A test sends the requests as they stand, and holds each answer here to its model.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SCOPE: Json = {"tenant": "acme", "namespace": "support", "subject": "alice"}
PARAMETERS: dict[str, str] = {
    **SCOPE,
    "branch": "main",
    "kind": "assertion",
    "entity": "alice",
    "attribute": "city",
    "valid_at": "2026-06-01T00:00:00Z",
    "recorded_at": "2026-06-01T00:00:00Z",
}

OBSERVATION: Json = {
    "kind": "observation",
    "event_id": "e1",
    "scope": SCOPE,
    "occurred_at": "2026-05-01T09:00:00Z",
    "actor": {"id": "alice", "role": "user"},
    "content": "I moved to Berlin in May.",
}
ASSERTION: Json = {
    "kind": "assertion",
    "event_id": "e2",
    "scope": SCOPE,
    "fact_id": "f1",
    "entity": "alice",
    "attribute": "city",
    "value": "Berlin",
    "valid_from": "2026-05-01T00:00:00Z",
    "justifications": [
        {"premises": [{"observation": "e1", "quote": "moved to Berlin", "start": 2, "end": 17}]}
    ],
}
EVENTS: dict[str, Json] = {
    "one event": {"value": OBSERVATION},
    "several, in order": {"value": [OBSERVATION, ASSERTION]},
    "a retraction": {
        "value": {"kind": "retraction", "scope": SCOPE, "fact_id": "f1", "reason": "it was a visit"}
    },
    "a deletion": {"value": {"kind": "deletion", "scope": SCOPE, "target": {"observation": "e1"}}},
}
CLAIM: Json = {"entity": "alice", "attribute": "city", "value": "Berlin", "facts": ["f1"]}
RECALL: Json = {"scope": SCOPE, "query": "where does alice live?"}
RELEASE: Json = {**RECALL, "claims": [CLAIM]}

_TOKEN = "kq3vJ0yTtR0nB7cQ"
_HASH = "9f" * 32
_NOON = "2026-05-02T12:00:00.000000Z"
_ENTRY = {"scope_sequence": 2, "hash": _HASH, "recorded_at": _NOON}

RECEIPT_ANSWER: Json = {
    "event_id": "e2",
    "kind": "assertion",
    "token": _TOKEN,
    "state": "accepted",
    "reason": None,
    "entry": _ENTRY,
}
RECEIPTS_ANSWER: Json = {"receipts": [RECEIPT_ANSWER]}
SNAPSHOT: Json = {
    "valid_at": _NOON,
    "recorded_at": None,
    "scope_sequence": 2,
    "scope_hash": _HASH,
    "historical": False,
    "token": _TOKEN,
}
FACT: Json = {
    "fact_id": "f1",
    "entity": "alice",
    "attribute": "city",
    "value": "Berlin",
    "type": "string",
    "valid_from": "2026-05-01T00:00:00.000000Z",
    "valid_to": None,
    "recorded_at": _NOON,
    "status": "active",
    "confidence": 1.0,
    "asserted_by": {
        "adapter": "crm",
        "tier": "service",
        "actor": "crm",
        "role": "system",
        "derivation": "direct",
    },
    "evidence": [
        {
            "observation": "e1",
            "quote": "moved to Berlin",
            "start": 2,
            "end": 17,
            "occurred_at": "2026-05-01T09:00:00.000000Z",
            "actor": "alice",
        }
    ],
    "supersedes": None,
    "superseded_by": None,
}
EPISODE: Json = {
    "event_id": "e1",
    "content": "I moved to Berlin in May.",
    "content_ref": None,
    "media_type": "text/plain",
    "occurred_at": "2026-05-01T09:00:00.000000Z",
    "recorded_at": _NOON,
    "actor": "alice",
    "role": "user",
    "sensitivity": "normal",
}
CONFLICT: Json = {
    "conflict_id": "c1",
    "entity": "alice",
    "attribute": "city",
    "sides": [
        {**FACT, "status": "disputed"},
        {**FACT, "fact_id": "f2", "value": "Bonn", "status": "disputed"},
    ],
    "overlap": {"from": "2026-05-01T00:00:00.000000Z", "to": None},
}
AUDIT_FACT: Json = {**FACT, "cause": None}
AUDIT_ENTRY: Json = {
    "scope_sequence": 2,
    "hash": _HASH,
    "recorded_at": _NOON,
    "kind": "assertion",
    "decision": "accepted",
    "reason": None,
    "event_id": "e2",
    "record_id": "f1",
    "adapter": "crm",
    "topic": "mnemolog.assertions",
    "appended_at": _NOON,
    "policy_version": "37f6b222d48474c5",
    "schema_version": "1",
    "normaliser_version": 270,
}
RECALL_ANSWER: Json = {
    "snapshot": SNAPSHOT,
    "status": "complete",
    "results": [
        {
            "type": "fact",
            "id": "f1",
            "score": 0.18,
            "legs": ["exact", "lexical"],
            "text": "alice city Berlin",
            "releasable": True,
            "complete": True,
            "fact": FACT,
        }
    ],
    "budget": {"limit": 10, "token_budget": None, "results": 1, "tokens": 5},
    "missing": [],
    "trace_id": "t-1417ecc606820bab0882552f40ebc44f",
}
RELEASE_ANSWER: Json = {
    "snapshot": SNAPSHOT,
    "decision": "release",
    "claims": [{**CLAIM, "type": "string", "ok": True, "reason": None}],
    "record": {
        "version": 1,
        "decision": "release",
        "user": "crm",
        "scope": ["acme", "support", "alice", "main"],
        "query": _HASH,
        "claims": _HASH,
        "valid_at": _NOON,
        "recorded_at": None,
        "scope_sequence": 2,
        "scope_hash": _HASH,
        "policy": "37f6b222d48474c5",
        "normaliser": 270,
        "mac": _HASH,
    },
}
VERIFY_RELEASE: Json = {
    "record": RELEASE_ANSWER["record"],
    "query": RELEASE["query"],
    "claims": RELEASE["claims"],
}
CHECK_ANSWER: Json = {"valid": True, "reason": None}
HEAD_ANSWER: Json = {"scope_sequence": 2, "scope_hash": _HASH, "token": _TOKEN}
VERIFICATION_ANSWER: Json = {
    "ok": True,
    "partitions": [{"partition": 0, "entries": 2, "head": _HASH}],
    "damage": [],
    "notices": [],
}
CHECKPOINT_ANSWER: Json = {
    "version": 1,
    "log": "0b5f7f3c52c14ab2a4e0f2f0c6c0d7b1",
    "made_at": "2026-05-01T09:00:00.000000Z",
    "partitions": [{"partition": 0, "entries": 2, "head": _HASH}],
    "public_key": "d7" * 32,
    "signature": "a0" * 64,
}
REPLAY_ANSWER: Json = {"0": 2}


def _page(item: Json) -> Json:
    return {"snapshot": SNAPSHOT, "items": [item], "next_cursor": None}


REQUESTS: dict[str, Json] = {
    "recall": RECALL,
    "release": RELEASE,
    "verify_release": VERIFY_RELEASE,
    "verify": {"against": CHECKPOINT_ANSWER},
}
ANSWERS: dict[str, Json | str] = {
    "publish": RECEIPTS_ANSWER,
    "receipt": RECEIPT_ANSWER,
    "recall": RECALL_ANSWER,
    "release": RELEASE_ANSWER,
    "verify_release": CHECK_ANSWER,
    "facts": _page(FACT),
    "history": _page(FACT),
    "conflicts": _page(CONFLICT),
    "episodes": _page(EPISODE),
    "audit_entries": _page(AUDIT_ENTRY),
    "audit_facts": _page(AUDIT_FACT),
    "head": HEAD_ANSWER,
    "verify": VERIFICATION_ANSWER,
    "checkpoint": CHECKPOINT_ANSWER,
    "replay": REPLAY_ANSWER,
    "healthz": "ok\n",
    "readyz": "ready\n",
    "metrics": 'mnemolog_receipts_total{kind="observation",state="accepted"} 1.0\n',
}
