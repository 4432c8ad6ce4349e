"""The lexical index in the store: tail and posting blocks of a scope, in the fold's write batch.

The records themselves are the unblocked tail, so a text is stored once; a block is written once
2 × `BLOCK` records have come, over the older half: the newest `BLOCK` are always searched as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence

from projections import keys
from projections.postings import BLOCK, build_block
from projections.state import Overlay, Reader
from schemas.errors import StoreDamaged
from schemas.events import Assertion
from schemas.values import json_value


def blocks_of(documents: int) -> int:
    """How many blocks a scope with so many documents has."""
    return max(0, documents // BLOCK - 1)


def index_documents(state: Overlay, scope16: bytes, documents: int) -> None:
    """Write the block that falls due with the `documents`-th text, if one does."""
    if documents % BLOCK == 0 and documents >= 2 * BLOCK:
        _write_block(state, scope16, blocks_of(documents) - 1)


def index_again(state: Overlay, scope16: bytes, ordinal: int) -> None:
    """Bring the block of a text that has changed up to date, if a block holds it."""
    block = ordinal // BLOCK
    if block < blocks_of(state.head(scope16).documents):
        _write_block(state, scope16, block)


def _write_block(state: Overlay, scope16: bytes, block: int) -> None:
    texts = []
    for ordinal in range(block * BLOCK, (block + 1) * BLOCK):
        texts.append(_text(state, scope16, ordinal))
    for key, row in build_block(block, texts).items():
        state.put_raw(keys.block_row(scope16, block, key), row)


def _text(state: Overlay, scope16: bytes, ordinal: int) -> str:
    """What a record is found by; empty while its content is not there."""
    document = state.document(scope16, ordinal)
    if document is None:
        raise StoreDamaged(f"document {ordinal}")
    if document.fact:
        fact = state.fact(scope16, document.record)
        return "" if fact is None or fact.event is None else fact_text(fact.event)
    observation = state.observation(scope16, document.record)
    if observation is None or observation.event is None:
        return ""
    return observation.event.content or ""


def fact_text(event: Assertion) -> str:
    """What a fact is found by."""
    return f"{event.entity} {event.attribute} {json_value(event.value)}"


def tail_of(documents: int) -> range:
    """The ordinals that no block holds, in a scope with so many documents."""
    return range(blocks_of(documents) * BLOCK, documents)


def read_block_rows(
    reader: Reader, scope16: bytes, keys_of_rows: Sequence[tuple[int, bytes]]
) -> list[bytes | None]:
    """Raw rows of blocks by (block, key)."""
    return reader.raw([keys.block_row(scope16, block, key) for block, key in keys_of_rows])
