"""ChatGPT-style exports: every message with text is an observation (SPEC §2; cases 78, 83).

- The path from the conversation's `current_node` up to the root is read, oldest first; without one,
  every node by `create_time`. Messages off the path (answers that were generated again) are skipped
  by name.
- A message without a usable `create_time` is skipped: it has no time, and today is not one. Epoch
  seconds are decimals and become microseconds exactly; what is finer is cut off.
- The actor is the message's author, so that an assistant's words stay an assistant's. The
  content is the message's text parts joined by a newline, byte-exact otherwise; other parts are
  skipped by name.
- Facts come from `remember:` lines of the role `user` alone (`remember.py`). `(replaces previous)`
  supersedes the latest earlier line with the same entity and attribute in that conversation;
  without it both stand and contradict each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

from producers.importers.build import assertion, derived_id, observation
from producers.importers.chatgpt_file import Broken, read_conversations
from producers.importers.remember import Malformed, remember_lines
from producers.importers.report import (
    Event,
    Item,
    Progress,
    ScopeJson,
    Skipped,
    measure_bytes,
    no_progress,
    shown,
)
from schemas.errors import InvalidEvent
from schemas.kinds import ACTOR_ROLES
from schemas.normalise import normalise_key
from schemas.times import MAX_MICROS, MICROS, MIN_MICROS

METHOD = "chatgpt-import"

_MICRO = Decimal("0.000001")
_WIDE = Context(prec=40, rounding=ROUND_FLOOR)
_DAMAGED = "ask for the export again"

Json = dict[str, Any]


def read_chatgpt(
    path: Path, scope: ScopeJson, *, progress: Progress = no_progress
) -> Iterator[Item]:
    """Events of a `conversations.json` or of the .zip that holds it. Position: bytes of the file.

    Raises `UnreadableSource`.
    """
    total = measure_bytes(path)
    for number, found in enumerate(read_conversations(path), start=1):
        where = f"conversation {number}"
        if isinstance(found, Broken):
            detail = f"not JSON at line {found.line}: {shown(found.detail)}"
            within = f" in {shown(found.part)}" if found.part else ""
            yield Skipped(f"{where} and all after it{within}", detail, _DAMAGED)
            continue
        if isinstance(found.value, dict) and isinstance(found.value.get("mapping"), dict):
            yield from _conversation(found.value, where, scope)
        else:
            yield Skipped(where, "no messages: `mapping` is missing", _DAMAGED)
        progress(int(total * found.share))
    progress(total)


def epoch_micros(seconds: object) -> int | None:
    """Microseconds of epoch seconds, or None if they are no `Decimal` or no storable instant."""
    if not isinstance(seconds, Decimal) or not seconds.is_finite():
        return None
    low, high = Decimal(MIN_MICROS) / MICROS, Decimal(MAX_MICROS + 1) / MICROS
    if not low <= seconds < high:
        return None
    return int(seconds.quantize(_MICRO, context=_WIDE).scaleb(6, context=_WIDE))


def _conversation(conversation: Json, where: str, scope: ScopeJson) -> Iterator[Item]:
    """The items of one conversation, each fact after the message that states it."""
    known: dict[tuple[str, str], str] = {}  # the latest remembered fact of each key
    read, unread = _order(conversation)
    for node_id, message in read:
        place = f"{where}, message {shown(node_id)}"
        for item in _message(conversation, node_id, message, place, scope):
            yield item
            if isinstance(item, dict) and item["kind"] == "observation":
                yield from _remembered(item, place, known)
    for node_id, node in conversation["mapping"].items():
        if not isinstance(node, dict):
            yield Skipped(f"{where}, node {shown(node_id)}", "not a node", _DAMAGED)
    for node_id, _ in unread:
        yield Skipped(
            f"{where}, message {shown(node_id)}",
            "not on the way to the conversation's current message",
            "none: it was generated again or edited",
        )


def _order(conversation: Json) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """(node id, message) of the messages to read, oldest first, and of those left aside."""
    mapping: Json = conversation["mapping"]
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    messages = {key: node["message"] for key, node in nodes.items() if node.get("message")}
    current = conversation.get("current_node")
    if not isinstance(current, str) or current not in nodes:
        dated = sorted(messages.items(), key=lambda item: _created(item[1]) or 0)
        return dated, []
    path: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in path:
        path[current] = None
        current = nodes[current].get("parent")
    read = [(key, messages[key]) for key in reversed(path) if key in messages]
    return read, [item for item in messages.items() if item[0] not in path]


def _created(message: object) -> int | None:
    return epoch_micros(message.get("create_time")) if isinstance(message, dict) else None


def _message(
    conversation: Json, node_id: str, message: object, where: str, scope: ScopeJson
) -> Iterator[Item]:
    """The observation of a message and what was left out of it, or the reason why there is none."""
    if not isinstance(message, dict):
        yield Skipped(where, "not a message", _DAMAGED)
        return
    text, others = _text(message)
    created = _created(message)
    actor = _actor(message)
    for kind in others:
        yield Skipped(where, f"a part that is not text: {shown(kind)}", "none: text alone is read")
    if not text.strip():
        yield Skipped(where, "no text", "none: there is nothing to remember")
    elif created is None:
        yield Skipped(
            where, "no create_time, or not an instant", "set create_time, in seconds since 1970"
        )
    elif actor is None:
        yield Skipped(
            where, "author.role is none of the known ones", f"use one of {', '.join(ACTOR_ROLES)}"
        )
    else:
        event_id = derived_id("chatgpt", *_identity(conversation, node_id, message, text))
        try:
            yield observation(scope, event_id, created, actor, text)
        except InvalidEvent as error:
            yield Skipped(f"{where}, {error.fault.field}", error.fault.detail, error.fault.remedy)


def _text(message: Json) -> tuple[str, list[str]]:
    """The message's text, and the types of its parts that are none."""
    content = message.get("content")
    if isinstance(content, str):
        return content, []
    if not isinstance(content, dict):
        return "", []
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text") or ""]
    texts = [part for part in parts if isinstance(part, str)]
    others = [
        str(part.get("content_type", "unknown")) if isinstance(part, dict) else "unknown"
        for part in parts
        if not isinstance(part, str)
    ]
    return "\n".join(texts), others


def _actor(message: Json) -> tuple[str, str] | None:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    if not isinstance(author, dict) or role not in ACTOR_ROLES:
        return None
    name = author.get("name")
    return (name if isinstance(name, str) and name else role, role)


def _identity(conversation: Json, node_id: str, message: Json, text: str) -> tuple[str, ...]:
    """What identifies a message: the export's ids, and its text where the conversation has none."""
    own = message.get("id")
    message_id = own if isinstance(own, str) and own else node_id
    for name in ("conversation_id", "id"):
        conversation_id = conversation.get(name)
        if isinstance(conversation_id, str) and conversation_id:
            return (conversation_id, message_id)
    began = [conversation.get("title"), conversation.get("create_time")]
    return (json.dumps(began, default=str), message_id, text)


def _remembered(source: Event, where: str, known: dict[tuple[str, str], str]) -> Iterator[Item]:
    actor = source["actor"]
    if not isinstance(actor, dict) or actor["role"] != "user":
        return
    for line in remember_lines(str(source["content"])):
        if isinstance(line, Malformed):
            yield Skipped(
                f"{where}, line {line.line}",
                "a remember: line without three fields",
                "write remember: ENTITY | ATTRIBUTE | VALUE",
            )
            continue
        key = (normalise_key(line.entity), normalise_key(line.attribute))
        fact_id = derived_id("chatgpt-fact", str(source["event_id"]), str(line.start))
        supersedes = known.get(key) if line.replaces else None
        known[key] = fact_id
        yield assertion(
            source,
            fact_id,
            METHOD,
            (line.entity, line.attribute),
            line.value,
            [(line.start, line.end)],
            supersedes,
        )
