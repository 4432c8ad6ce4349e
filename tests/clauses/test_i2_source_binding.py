"""I2: every public fact quotes, in the same scope, bytes that stand where it says, undeleted."""

from __future__ import annotations

from processors.assertions import find_quote
from projections.rows import ObservationRow
from projections.support import observation_gone
from schemas.bodies import Check
from schemas.entry import CAP_ACCEPTED
from schemas.events import Actor, Envelope, Observation
from schemas.scope import Scope
from tests.clauses.histories import cores, public, scopes


def test_every_public_fact_has_a_witness_whose_quote_stands_in_its_source() -> None:
    seen = 0
    for seed, core in cores():
        reader = core.follower.reader
        for scope in scopes(core):
            scope16 = core.hasher.scope(scope)
            horizon = core.horizon(scope)
            for _, _, member in public(core, scope):
                assert member.row.flags & CAP_ACCEPTED, seed
                flat = [w for justification in member.row.witnesses for w in justification]
                standing = 0
                for witness, source16 in zip(flat, member.row.sources, strict=True):
                    source = reader.observation(scope16, source16)
                    if witness.on_fact or witness.check != Check.OK or source is None:
                        continue
                    assert source.event is not None
                    assert source.event.content is not None
                    quote = source.event.content.encode()[witness.start : witness.end]
                    assert quote, f"seed {seed}"
                    standing += not observation_gone(source, horizon)
                assert standing, f"seed {seed}"
                seen += 1
    assert seen > 100


def _row(content: str) -> ObservationRow:
    envelope = Envelope("o", Scope("t", "n", "s"), "a", Actor("a", "user"), "p", 0, "k", ())
    event = Observation(envelope, content, None, "text/plain", "normal", 0.5)
    return ObservationRow(0, 0, 0, b"", 0, b"", b"", b"", event, (), (), (), -1)


def test_a_span_must_hold_the_quote_byte_for_byte() -> None:
    row = _row("né à Zürich")
    assert find_quote(row, "Zürich", 7, 14)[0] is Check.OK
    assert find_quote(row, "Zürich", 5, 11)[0] is Check.NOT_FOUND
    assert find_quote(row, "zürich", None, None)[0] is Check.NOT_FOUND
    assert find_quote(row, "Zu\u0308rich", None, None)[0] is Check.NOT_FOUND


def test_without_a_span_it_must_stand_just_once_overlaps_counted() -> None:
    assert find_quote(_row("aaa"), "aa", None, None)[0] is Check.AMBIGUOUS
    assert find_quote(_row("baab"), "aa", None, None) == (Check.OK, 1, 3)
    assert find_quote(_row("baab"), "", None, None)[0] is Check.NOT_FOUND


def test_a_body_holds_no_words_of_another_record() -> None:
    for seed, core in cores(range(71_000, 71_030)):
        for scope in scopes(core):
            for group in core.groups(scope):
                for member in group.members.values():
                    for justification in member.row.witnesses:
                        for witness in justification:
                            checked = witness.check != Check.PENDING
                            assert not (checked and witness.awaited), f"seed {seed}"
