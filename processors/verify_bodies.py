"""Bodies and witnesses of a ledger, checked without the fold's code (I1, I2; SPEC §3, §4).

Rules
- A body opens under its own key with its header as associated data, and decodes.
- A witness that was found good is so still: its source is an observation of the ledger, and the
  quote at its span has the digest that the witness keeps.
- A key that is there can be unwrapped; one may only be gone where a later entry of
  the chain replaced the body.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from processors.chain import Flaw
from projections.ports import LogRecord, Vault
from schemas.bodies import AssertionBody, Check, ObservationBody, decode_body, with_quote_key
from schemas.entry import NONE16, Entry, parse_entry
from schemas.errors import Unavailable
from schemas.kinds import Decision
from schemas.sealing import quote_digest, unseal

_REPLACEABLE = (Decision.PARKED, Decision.ACCEPTED, Decision.CANDIDATE)


class Bodies:
    """Takes the entries of one chain in order; `flaws` says what was found."""

    def __init__(self, partition: int, vault: Vault) -> None:
        self._partition = partition
        self._vault = vault
        self._found: list[Flaw] = []
        self._sources: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        self._unopened: dict[int, int] = {}
        self._followed: set[int] = set()

    def check(self, record: LogRecord) -> None:
        """Take the record of the chain's next entry."""
        entry = parse_entry(record.value)
        header = entry.header
        self._followed.add(header.follows)
        try:
            (key,) = self._vault.get_many([header.key_id])
        except Unavailable as error:
            self._flaw(entry, "key", error.detail)
            return
        if key is None:
            if header.key_id != NONE16:
                self._unopened[header.sequence] = header.decision
            return
        data = unseal(key, entry.sealed, entry.header_bytes)
        if data is None:
            self._flaw(entry, "body", "it does not fit its key and header")
            return
        try:
            body = with_quote_key(decode_body(header, data), key)
        except msgspec.MsgspecError as error:
            self._flaw(entry, "body", str(error))
            return
        if isinstance(body, ObservationBody):
            content = (body.event.content or "").encode()
            self._sources[header.record] = (entry.hash, content, body.quote_key)
        elif isinstance(body, AssertionBody):
            self._witnesses(entry, body)

    def _witnesses(self, entry: Entry, body: AssertionBody) -> None:
        flat = [witness for justification in body.witnesses for witness in justification]
        for witness, source16 in zip(flat, entry.header.sources, strict=False):
            if witness.on_fact or witness.check != Check.OK:
                continue
            source = self._sources.get(source16)
            if source is None:
                self._flaw(entry, "witness", "its source is not there")
                continue
            source_hash, content, quote_key = source
            quote = content[witness.start : witness.end]
            digest = quote_digest(quote_key, quote) if quote else None
            if witness.source_hash != source_hash or witness.digest != digest:
                self._flaw(entry, "witness", "its quote is not in its source")

    def _flaw(self, entry: Entry, what: str, detail: str) -> None:
        self._found.append(Flaw(entry.header.sequence, what, detail))

    def flaws(self) -> Iterator[Flaw]:
        """What was found, once the last entry was taken."""
        yield from self._found
        for sequence, decision in self._unopened.items():
            if sequence not in self._followed or decision not in _REPLACEABLE:
                yield Flaw(sequence, "missing_key", "its record key is gone, unexplained")
