"""Whatever is done to a chain of entries shows, and where it shows is where it was done (I1)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from processors.anchored import forked
from processors.chain import Chain
from projections.ports import Anchor, LogRecord
from schemas.entry import parse_entry
from tests.core.harness import TOPICS, Core
from tests.model.histories import from_seed
from tests.tamper.site import chained, successor

Values = list[bytes]


def ledger(seed: int) -> Values:
    """A ledger as admission writes it."""
    history = from_seed(seed, 12)
    core = Core(history).consume(history.records)
    return [record.value or b"" for record in core.log.read(TOPICS.ledger, 0, 0, 1000)]


LEDGERS = [ledger(seed) for seed in range(61_000, 61_004)]


def walked(values: Sequence[bytes]) -> Chain:
    """The chain of these records, as `verify` reads it."""
    records = [LogRecord(TOPICS.ledger, 0, at, 0, value, ()) for at, value in enumerate(values)]
    chain = Chain(0)
    for record in records:
        chain.extend(record)
        if chain.broken:
            chain.explain(records[record.offset + 1 :])
            break
    return chain


def seen(values: Values) -> Anchor:
    """The anchor of a whole ledger."""
    return Anchor(len(values), parse_entry(values[-1]).hash)


def test_a_ledger_as_it_was_written_is_one_chain() -> None:
    for values in LEDGERS:
        chain = walked(values)
        assert (chain.flaws, chain.ignored, chain.broken) == ([], [], False)
        assert Anchor(chain.count, chain.head) == seen(values)
        for sequence, value in enumerate(values):
            assert chain.hash_at(sequence) == parse_entry(value).hash
        assert chain.hash_at(-1) is chain.hash_at(len(values)) is None


def test_every_bit_counts() -> None:
    """A bent bit breaks the chain at its entry, or at the next where it is in the sequence."""
    rng = random.Random(62_000)
    for values in LEDGERS:
        for _ in range(400):
            at = rng.randrange(len(values))
            bent = bytearray(values[at])
            bent[rng.randrange(len(bent))] ^= 1 << rng.randrange(8)
            chain = walked([*values[:at], bytes(bent), *values[at + 1 :]])
            assert chain.broken
            assert (chain.flaws[-1].sequence, chain.flaws[-1].what) == (at, "malformed")


@pytest.mark.parametrize("seed", range(63_000, 63_010))
def test_entries_taken_out_or_exchanged_are_told_by_place_and_number(seed: int) -> None:
    rng = random.Random(seed)
    values = rng.choice(LEDGERS)
    for _ in range(20):
        at = rng.randrange(len(values) - 2)
        width = rng.randrange(1, len(values) - at - 1)
        gap = walked([*values[:at], *values[at + width :]])
        flaw = gap.flaws[-1]
        assert (flaw.sequence, flaw.what) == (at, "missing"), f"seed {seed}"
        assert f"{width} entr" in flaw.detail, f"seed {seed}"
        other = at + width
        swapped = list(values)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        flaw = walked(swapped).flaws[-1]
        assert (flaw.sequence, flaw.what) == (at, "reordered"), f"seed {seed}"


@pytest.mark.parametrize("seed", range(64_000, 64_010))
def test_what_leaves_a_chain_whole_is_beside_it_or_beside_the_anchor(seed: int) -> None:
    """Doubles are resends; a cut, a false successor and a new chain are not what was anchored."""
    rng = random.Random(seed)
    values = rng.choice(LEDGERS)
    for _ in range(20):
        at = rng.randrange(1, len(values))
        doubled = walked([*values[:at], values[rng.randrange(at)], *values[at:]])
        assert not doubled.broken
        assert [one.resent for one in doubled.ignored] == [True], f"seed {seed}"
        assert list(forked(seen(values), "it", doubled)) == [], f"seed {seed}"

        (flaw,) = forked(seen(values), "it", walked(values[:at]))
        assert (flaw.sequence, flaw.what) == (at, "truncated"), f"seed {seed}"
        assert str(len(values) - at) in flaw.detail, f"seed {seed}"

        false = successor(parse_entry(values[at - 1]), parse_entry(values[at]))
        pushed = walked([*values[:at], false, *values[at:]])
        if parse_entry(false).hash != parse_entry(values[at]).hash:
            (flaw,) = forked(seen(values), "it", pushed)
            assert (flaw.sequence, flaw.what) == (at, "injected"), f"seed {seed}"

        (flaw,) = forked(seen(values), "it", walked(chained(values, shift=rng.randrange(1, 99))))
        assert flaw.what == "rewritten", f"seed {seed}"
