"""The store's keys are pinned: another layout is another store."""

from __future__ import annotations

from projections import keys

S, R, A, J = b"S" * 16, b"R" * 16, b"A" * 16, b"J" * 16


def test_the_layout_of_every_key_is_pinned() -> None:
    assert {
        keys.CHECKPOINT,
        keys.entry(258),
        keys.beaten(b"h" * 32),
        keys.subject(J),
        keys.head(S),
        keys.idempotency(R),
        keys.receipt(R),
        keys.observation(S, R),
        keys.fact(S, R),
        keys.document(S, 258),
        keys.block_row(S, 1, b"k"),
        keys.citations(R, 258),
        keys.links(R),
        keys.group(S, A) + R,
        keys.group_size(S, A),
        keys.awaiting(J, S, R),
        keys.expiring(1, S, R),
        keys.workingset(S, R),
        keys.doomed_key(R),
    } == {
        b"M",
        b"E\0\0\0\0\0\0\1\2",
        b"B" + b"h" * 32,
        b"S" + J,
        b"H" + S,
        b"K" + R,
        b"R" + R,
        b"I" + S + R,
        b"F" + S + R,
        b"D" + S + b"\0\0\1\2",
        b"L" + S + b"\0\0\0\1k",
        b"C" + R + b"\0\0\1\2",
        b"W" + R,
        b"G" + S + A + R,
        b"Y" + S + A,
        b"P" + J + S + R,
        b"X\x80\0\0\0\0\0\0\1" + S + R,
        b"N" + S + R,
        b"Z" + R,
    }


def test_expiries_sort_by_time_before_and_after_the_epoch() -> None:
    instants = [-(2**62), -1, 0, 1, 2**62]
    assert sorted(keys.expiring(t, S, R) for t in instants) == [
        keys.expiring(t, S, R) for t in instants
    ]


def test_every_prefix_is_within_its_own_key_and_no_others() -> None:
    assert keys.observation(S, R).startswith(keys.observations(S))
    assert keys.fact(S, R).startswith(keys.facts(S))
    assert keys.document(S, 0).startswith(keys.documents(S))
    assert keys.group(S, A).startswith(keys.groups(S))
    assert keys.awaiting(J, S, R).startswith(keys.awaiting_in(J))
