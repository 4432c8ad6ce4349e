"""Bodies and witnesses of a ledger, checked without the fold's code (I1, I2; SPEC §3, §4).

Rules
- A body opens under its own key with its header as associated data, and decodes.
- A witness that was found good is so still: its source is an observation of the ledger, and the
  quote at its span has the digest that the witness keeps.
- A key that is there can be unwrapped; one may only be gone where a later entry of the chain
  replaced the body.
The contents of the latest observations are kept at hand; older ones are read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec

from processors.chain import Flaw
from projections.ports import Log, LogRecord, Vault
from schemas.bodies import AssertionBody, Body, Check, ObservationBody, decode_body
from schemas.entry import NONE16, Header
from schemas.entry_fields import BodyFields, body_fields
from schemas.errors import Unavailable
from schemas.kinds import Decision
from schemas.sealing import quote_digest, quote_key, unseal

AT_HAND = 10_000
_REPLACEABLE = (Decision.PARKED, Decision.ACCEPTED, Decision.CANDIDATE, Decision.QUARANTINED)


class _Source(NamedTuple):
    """What a witness is held against: an observation's hash, content and record key."""

    hash: bytes
    content: str
    key: bytes


class Bodies:
    """Takes the entries of one chain in order; `flaws` says what was found."""

    def __init__(self, partition: int, log: Log, ledger: str, vault: Vault) -> None:
        self._partition = partition
        self._log = log
        self._ledger = ledger
        self._vault = vault
        self._found: list[Flaw] = []
        self._observed: dict[bytes, int] = {}
        self._at_hand: OrderedDict[bytes, _Source] = OrderedDict()
        self._unopened: dict[int, int] = {}
        self._followed: set[int] = set()

    def take(self, records: Sequence[LogRecord]) -> None:
        """Take records of the chain's next entries, whose hashes fit."""
        entries = [body_fields(record.value or b"") for record in records]
        for record, entry, key in zip(records, entries, self._keys(entries), strict=True):
            self._followed.add(entry.follows)
            if not key:
                if key is None and entry.key_id != NONE16:
                    self._unopened[entry.sequence] = entry.decision
                continue
            body = self._open(entry, key)
            if isinstance(body, ObservationBody):
                self._observed[entry.record] = record.offset
                self._keep(entry.record, _Source(entry.hash, body.event.content or "", key))
            elif isinstance(body, AssertionBody):
                self._witnesses(entry, body)

    def _keys(self, entries: Sequence[BodyFields]) -> list[bytes | None]:
        """The record keys: None where there is none, b"" for one that is damaged, a flaw."""
        try:
            return self._vault.get_many([entry.key_id for entry in entries])
        except Unavailable as error:
            if error.part != "vault":
                raise
            if len(entries) > 1:
                return [key for entry in entries for key in self._keys([entry])]
            self._flaw(entries[0], "key", error.detail)
            return [b""]

    def _open(self, entry: BodyFields, key: bytes) -> Body | None:
        data = unseal(key, entry.sealed, entry.head)
        if data is None:
            self._flaw(entry, "body", "it does not fit its key and header")
            return None
        try:
            return decode_body(cast(Header, entry), data)
        except msgspec.MsgspecError as error:
            self._flaw(entry, "body", str(error))
            return None

    def _witnesses(self, entry: BodyFields, body: AssertionBody) -> None:
        flat = [witness for justification in body.witnesses for witness in justification]
        for witness, source16 in zip(flat, entry.sources, strict=False):
            if witness.on_fact or witness.check != Check.OK:
                continue
            if source16 not in self._observed:
                self._flaw(entry, "witness", "its source is not there")
                continue
            source = self._at_hand.get(source16) or self._read_again(source16)
            if source is None:
                continue
            quote = source.content.encode()[witness.start : witness.end]
            digest = quote_digest(quote_key(source.key), quote) if quote else None
            if witness.source_hash != source.hash or witness.digest != digest:
                self._flaw(entry, "witness", "its quote is not in its source")

    def _read_again(self, source16: bytes) -> _Source | None:
        """An observation that is no longer at hand; None once its key is gone."""
        offset = self._observed[source16]
        (record,) = self._log.read(self._ledger, self._partition, offset, 1)
        entry = body_fields(record.value or b"")
        (key,) = self._keys([entry])
        body = self._open(entry, key) if key else None
        if not isinstance(body, ObservationBody) or not key:
            return None
        return self._keep(source16, _Source(entry.hash, body.event.content or "", key))

    def _keep(self, source16: bytes, source: _Source) -> _Source:
        self._at_hand[source16] = source
        if len(self._at_hand) > AT_HAND:
            self._at_hand.popitem(last=False)
        return source

    def _flaw(self, entry: BodyFields, what: str, detail: str) -> None:
        self._found.append(Flaw(entry.sequence, what, detail))

    def flaws(self) -> Iterator[Flaw]:
        """What was found, once the last entry was taken."""
        yield from self._found
        for sequence, decision in self._unopened.items():
            if sequence not in self._followed or decision not in _REPLACEABLE:
                yield Flaw(sequence, "missing_key", "its record key is gone, unexplained")
