"""What is fuzzed: each target makes one input from a seeded source and holds its promise to it.

- `frame`: a damaged frame of any kind, in either encoding, decodes to an event or to `Undecodable`
  with a known code; an event is valid or `InvalidEvent`, and is written and read again unchanged;
  a frame with a byte more or a byte less is none.
- `schema`: the same of records of a registry's schema that nobody of us wrote.
- `record`: an intake record with a true signature is received or refused, never an exception.
- `entry`: a damaged ledger entry, its hash made good or not, is that entry, of known kinds and
  reasons, or `MalformedEntry`.
- `body`: a damaged body, sealed again or not, is a body or `LedgerCorrupt`.

Any other exception is a fault, and so is an input that takes longer than `SLOW_S`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import cache
from random import Random

from hypothesis import HealthCheck, Phase, given, settings

from processors.draft import Draft
from processors.receive import Received, receive
from projections.follower import open_body
from projections.ports import LogRecord
from schemas.bodies import encode_body, event_body
from schemas.codec import Codec
from schemas.entry import Entry, MalformedEntry, make_entry, parse_entry
from schemas.errors import InvalidEvent, LedgerCorrupt, Undecodable
from schemas.events import Event
from schemas.kinds import Decision, Kind, Reason
from schemas.sealing import RecordKey, seal
from schemas.signing import HmacSigner
from schemas.validate import check
from schemas.writers import schema_text
from tests.core.harness import TOPICS, registry_of, secret
from tests.fuzz.mutations import damaged, damaged_json
from tests.model.histories import ADAPTERS
from tests.schemas.generated import events
from tests.schemas.golden import golden

CODES = {"undecodable", "unknown_schema", "unknown_symbol", "null_value", "oversize"}
SLOW_S = 5.0
KEY = RecordKey(b"i" * 16, b"k" * 32, b"n" * 12)


class OneSchema:
    """A registry with one schema under every id."""

    def __init__(self, text: str) -> None:
        self.text = text

    def schema(self, schema_id: int) -> str | None:
        """Whatever was asked for."""
        return self.text


@cache
def seeds() -> tuple[tuple[Kind, Event], ...]:
    """Valid events of every kind, the same in every run, to damage."""
    found: list[tuple[Kind, Event]] = []

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(events)
    def collect(event: tuple[Kind, Event]) -> None:
        found.append(event)

    collect()
    assert {kind for kind, _ in found} == set(Kind)
    return tuple(found)


@cache
def entries() -> tuple[bytes, ...]:
    """Stored ledger entries to damage."""
    return tuple(bytes.fromhex(entry) for one in golden().values() for entry in one["ledger"])


@cache
def prepare() -> None:
    """Whatever is made once is made before the time of a case counts."""
    codec = Codec()
    for kind, event in seeds():
        codec.decode(kind, codec.encode(kind, event))
    assert entries()


def frame(rng: Random) -> None:
    """See the module."""
    kind, event = rng.choice(seeds())
    codec = Codec(OneSchema(schema_text(kind)), {kind: 7} if rng.random() < 0.5 else None)
    other = rng.choice(seeds())
    raw = damaged(rng, codec.encode(kind, event), codec.encode(*other))
    _decoded(codec, kind if rng.random() < 0.9 else other[0], raw)


def schema(rng: Random) -> None:
    """See the module."""
    kind, event = rng.choice(seeds())
    text = schema_text(kind)
    if rng.random() < 0.9:
        text = damaged_json(rng, text)
    raw = b"\x00\x00\x00\x00\x07" + Codec().encode(kind, event)[10:]
    if rng.random() < 0.5:
        raw = raw[:5] + damaged(rng, raw[5:], raw)
    _decoded(Codec(OneSchema(text)), kind, raw)


def _decoded(codec: Codec, kind: Kind, raw: bytes) -> None:
    event = _event(codec, kind, raw)
    if event is None:
        return
    assert _event(codec, kind, raw + b"\x00") is None
    assert _event(codec, kind, raw[:-1]) is None
    try:
        check(kind, event)
    except InvalidEvent as error:
        _hold(bool(error.fault.remedy), error)
        return
    assert Codec().decode(kind, Codec().encode(kind, event)) == event


def _event(codec: Codec, kind: Kind, raw: bytes) -> Event | None:
    try:
        return codec.decode(kind, raw)
    except Undecodable as error:
        _hold(error.code in CODES and bool(error.detail), error)
        return None


def record(rng: Random) -> None:
    """See the module."""
    kind, event = rng.choice(seeds())
    raw = Codec().encode(kind, event)
    if rng.random() < 0.9:
        raw = raw[:10] + damaged(rng, raw[10:], raw)
    name = rng.choice(list(ADAPTERS))
    headers = tuple(HmacSigner(name, secret(name)).sign(kind, raw))
    if rng.random() < 0.1:
        headers = tuple((key, damaged(rng, value, raw)) for key, value in headers)
    place = LogRecord(TOPICS.intake[kind], 0, 0, 0, raw, headers)
    found = receive(place, kind, Codec(), registry_of(ADAPTERS), 1)
    assert isinstance(found, Received | Draft)


def entry(rng: Random) -> None:
    """See the module."""
    raw = damaged(rng, rng.choice(entries()), rng.choice(entries()))
    if rng.random() < 0.7:
        raw = raw[:-32] + hashlib.sha256(raw[:-32]).digest()
    try:
        found = parse_entry(raw)
    except MalformedEntry as error:
        _hold(bool(str(error)), error)
        return
    assert found.stored == raw
    header = found.header
    words = Kind(header.kind), Decision(header.decision), Reason(header.reason)
    assert words == (header.kind, header.decision, header.reason)


def body(rng: Random) -> None:
    """See the module."""
    header = parse_entry(rng.choice(entries())).header
    _, event = rng.choice(seeds())
    plain = encode_body(event_body(event)) if rng.random() < 0.5 else _known_body(rng)
    head = rng.randbytes(8)
    sealed = seal(KEY, damaged(rng, plain, plain), head)
    if rng.random() < 0.3:
        sealed = damaged(rng, sealed, plain)
    made: Entry = make_entry(header, head, sealed)
    try:
        open_body(0, made, KEY.key)
    except LedgerCorrupt as error:
        _hold((error.what, error.sequence) == ("body", header.sequence), error)


def _known_body(rng: Random) -> bytes:
    """The body of a golden entry, whose header may say another type."""
    version = rng.choice(list(golden().values()))
    keys = {bytes.fromhex(key_id): bytes.fromhex(key) for key_id, key in version["keys"].items()}
    stored = [parse_entry(bytes.fromhex(entry)) for entry in version["ledger"]]
    chosen = rng.choice([one for one in stored if one.header.key_id in keys])
    return encode_body(open_body(0, chosen, keys[chosen.header.key_id]))


TARGETS: dict[str, Callable[[Random], None]] = {
    target.__name__: target for target in (frame, schema, record, entry, body)
}


def _hold(promise: bool, error: Exception) -> None:
    """A named error says what it must."""
    if not promise:
        raise AssertionError(f"{error!r} does not say what it must") from error


def run(target: str, case: str) -> None:
    """One case of a target, named by any text: the same input for the same text."""
    rng = Random(f"{target} {case}")
    prepare()
    started = time.monotonic()
    TARGETS[target](rng)
    seconds = time.monotonic() - started
    assert seconds < SLOW_S, f"one input took {seconds:.1f} s"
