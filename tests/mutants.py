"""Break each rule once and watch: `python -m tests.mutants` (`make mutants`).

A mutant is one edit of the rules in a temporary copy of the packages. The tests named beside it run
against the copy and must fail; a mutant that survives is a promise that no test holds. Exit 1 then.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mnemolog", "schemas", "producers", "processors", "projections", "gateway", "tests")
I1 = "tests/clauses/test_i1_ledger_integrity.py"
I2 = "tests/clauses/test_i2_source_binding.py"
I3 = "tests/clauses/test_i3_conflict_isolation.py"
I4 = "tests/clauses/test_i4_non_revival.py"
I5 = "tests/clauses/test_i5_release_closure.py"
MODEL = "tests/core/test_differential.py"
FENCE = "tests/core/test_fence.py"
BYTES = "tests/core/test_same_bytes.py"
SUPPORT = "tests/core/test_support.py"
PAST = "tests/core/test_past_views.py"
BAD = "tests/core/test_bad_input.py"
CHECKED = "tests/projections/test_checked.py"
STRAIGHT = "tests/schemas/test_straight.py"
HTTP = "tests/gateway/test_http.py"
CONTRACT = "tests/runtime/test_contract.py"
TAMPER = "tests/tamper/test_ledger.py"
ANCHORS = "tests/tamper/test_anchors.py"
CHECKPOINTS = "tests/tamper/test_checkpoints.py"
DEEP = "tests/tamper/test_deep.py"
VISIBLE = "tests/projections/test_visible.py"


class Mutant(NamedTuple):
    """One broken rule: where, what, and which tests must notice."""

    rule: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


# ruff: noqa: E501
MUTANTS = (
    Mutant("I1 an entry extends the head by its predecessor", "projections/follower.py",
           "header.previous == checkpoint.hash and header.sequence == checkpoint.count",
           "header.sequence == checkpoint.count", (I1, FENCE)),
    Mutant("I1 the hash is checked against the bytes", "schemas/entry.py",
           "if entry_hash(head, sealed) != stated:", "if False:", (I1,)),
    Mutant("I1 an unseen predecessor is damage", "projections/follower.py",
           "if not self._seen(overlay, header.sequence - 1, header.previous):",
           "if False:", (I1, FENCE)),
    Mutant("I1 an anchor ahead of the log is damage", "processors/anchored.py",
           "if seen.entries > ledger.count:", "if False:", (I1,)),
    Mutant("I1 a body is bound to its header", "schemas/sealing.py",
           ".encrypt(key.nonce, body, associated)", ".encrypt(key.nonce, body, None)", (BYTES,)),
    Mutant("I1 only what was read back counts", "processors/admission.py",
           "if self._read_back(start, len(stored)) != stored:", "if False:", (FENCE,)),
    Mutant("I1 recorded time increases", "projections/follower.py",
           "if header.recorded_at <= checkpoint.recorded_at:", "if False:", (I1,)),
    Mutant("I1 a follow-up explains no other record's missing key", "projections/follower.py",
           "or _record_of(later) != _record_of(entry)", "", (BYTES,)),
    Mutant("I1 a record given twice is admitted once", "processors/admission.py",
           "if record.offset >= positions[kind]:", "if True:", (FENCE,)),
    Mutant("a beaten writer's bodies do not outlive it", "projections/follower.py",
           "self._doom_beaten(overlay, entry, key)", "pass", (FENCE,)),
    Mutant("an injected entry destroys no key", "projections/follower.py",
           "and unseal(key, entry.sealed, entry.header_bytes) is not None", "", (FENCE,)),
    Mutant("a resent entry keeps its key", "projections/follower.py",
           "if not resent and key", "if key", (FENCE,)),
    Mutant("I1 verify: an entry belongs to its partition", "processors/chain.py",
           "header.partition != self.partition:", "False:", (TAMPER,)),
    Mutant("I1 verify: an entry's hash fits its bytes", "processors/chain.py",
           "and data.endswith(digest)", "", (TAMPER,)),
    Mutant("I1 verify: what was put in later is no resend", "processors/verify.py",
           "if follower.reader.row(keys.beaten(one.hash)) is None:", "if False:", (TAMPER,)),
    Mutant("I1 a deleted or older anchor is damage", "processors/anchored.py",
           "    if remembered is None:\n        return\n", "    return\n", (ANCHORS,)),
    Mutant("I1 damage stops reads over a restart", "mnemolog/verdicts.py",
           "if verdict is not None and part.damage is None:", "if False:", (ANCHORS,)),
    Mutant("I1 a shallow check lifts no deep verdict", "mnemolog/verdicts.py",
           "if one.deep and not deep}", "if False}", (ANCHORS,)),
    Mutant("I1 a checkpoint is believed by its signature", "schemas/checkpoints.py",
           "if not authentic(checkpoint):", "if False:", (CHECKPOINTS,)),
    Mutant("I1 a checkpoint shows what is missing", "processors/anchored.py",
           "elif head is not None and (not", "elif False and (not", (CHECKPOINTS,)),
    Mutant("I1 verify --deep compares every row", "processors/verify_rows.py",
           "        if one != other:", "        if len(one) != len(other):", (DEEP,)),
    Mutant("I1 a store without its checkpoint is damage", "processors/anchored.py",
           "if follower.reader.checkpoint() is None and", "if False and", (DEEP,)),
    Mutant("I2 a quote must stand at its span", "processors/assertions.py",
           "content[start:end] == words", "words in content", (I2,)),
    Mutant("I2 without a span it must stand once", "processors/assertions.py",
           "if content.find(words, first + 1) >= 0:", "if False:", (I2,)),
    Mutant("I2 a deleted source supports nothing", "projections/support.py",
           "        return _Cited(_Premise.GONE, 0, None)\n    if not horizon.marked(witness",
           "        return _Cited(_Premise.OK, 0, None)\n    if not horizon.marked(witness", (I2, MODEL)),
    Mutant("I2 only the registry lifts a candidate", "projections/support.py",
           "if not row.flags & CAP_ACCEPTED:", "if False:", (I2,)),
    Mutant("I2 words of another record are not kept", "processors/assertions.py",
           "        awaited=None,\n    )\n\n\ndef find_quote",
           "        awaited=witness.awaited,\n    )\n\n\ndef find_quote", (I2,)),
    Mutant("I3 unequal values of one key conflict", "projections/view.py",
           "self.policy.fold_values\n        return len(", "self.policy.fold_values\n        return 9 < len(",
           (I3,)),
    Mutant("I3 latest wins is no rule", "projections/view.py",
           "return Standing((), tuple(standing), superseded)",
           "return Standing((standing[-1],), (), superseded)", (MODEL,)),
    Mutant("I3 a superseder acts where it holds", "projections/view.py",
           "holding = [g for g in rivals if g.holds(t)]", "holding = list(rivals)", (I3, MODEL)),
    Mutant("I3 supersession is not transitive", "projections/view.py",
           "holding = [g for g in rivals if g.holds(t)]",
           "holding = [g for g in rivals if g.holds(t) and not self.superseder(g, t)]", (MODEL,)),
    Mutant("I3 a candidate supersedes nothing", "projections/support.py",
           "status in (Status.ACCEPTED, Status.DELETED)",
           "status in (Status.ACCEPTED, Status.DELETED, Status.CANDIDATE)", (I3,)),
    Mutant("I3 who supersedes does not hang on the order of coming", "projections/view.py",
           "key=lambda g: (g.start, g.event.fact_id)", "key=lambda g: g.row.sequence", (PAST,)),
    Mutant("I3 a deleted correction does not bring the error back", "projections/view.py",
           "return superseder.status is Status.DELETED and not superseder.retracted",
           "return False", (MODEL, CONTRACT)),
    Mutant("I3 cycles of supersession are invalid", "projections/view.py",
           "if a not in cyclic}", "}", (MODEL,)),
    Mutant("I3 a lower tier may not supersede", "projections/view.py",
           "and outranks(member.row.adapter, member.row.tier, target.row)", "", (MODEL,)),
    Mutant("I4 retraction acts on historical reads", "projections/support.py",
           "    return Horizon(recorded_at, None, cutoff, blocked)",
           "    return Horizon(recorded_at, recorded_at, cutoff, blocked)", (I4, MODEL)),
    Mutant("I4 a barrier covers ties", "projections/support.py",
           "return append_ms <= self.cutoff_ms", "return append_ms < self.cutoff_ms", (MODEL,)),
    Mutant("I4 a barrier cancels retractions that it covers", "projections/support.py",
           "tuple(m for m in marks if m.append > self.cutoff_ms)", "marks", (MODEL,)),
    Mutant("I4 a waiting deletion strikes its target", "projections/fold_observations.py",
           "        if waiting.deletion and may_delete(waiting.adapter",
           "        if False and may_delete(waiting.adapter", (MODEL, CONTRACT)),
    Mutant("I4 a repeat changes nothing", "processors/decide.py",
           "if used is not None:", "if False:", (MODEL,)),
    Mutant("I4 the first owner keeps the id", "processors/decide.py",
           '        return _id_taken(draft, "fact_id")', "        pass", (MODEL,)),
    Mutant("I4 a retracted fact's episode is hidden", "projections/view.py",
           "return status is Status.ACCEPTED and record16 in _sources_held(fact)", "return False",
           (MODEL,)),
    Mutant("I4 a deleted correction counts in past views too", "projections/support.py",
           "if not horizon.marked(witness.recorded_at)", "if not horizon.knows(witness.recorded_at)",
           (PAST,)),
    Mutant("I4 grounds that came later make nothing public before", "projections/view.py",
           "and horizon.knows(verdict.grounded_at)", "", (PAST, MODEL)),
    Mutant("I4 the audit of the past knows no fact to come", "projections/view.py",
           "if fact is None or not horizon.marked(fact.recorded_at):", "if fact is None:", (PAST,)),
    Mutant("I4 the audit of the past does not see later covers", "projections/support.py",
           "if horizon.marks is not None and not 0 < row.decided_at <= horizon.marks:", "if False:",
           (PAST,)),
    Mutant("I4 in a deleted scope deletions are refused", "processors/decide.py",
           "    assert isinstance(event, Deletion)\n    stopped = _blocked(draft, context)",
           "    assert isinstance(event, Deletion)\n    stopped = None", (PAST,)),
    Mutant("I5 a fall with no other sign moves the head", "processors/settling.py",
           "    draft.flags |= MOVES_HEAD\n", "", (I5,)),
    Mutant("I5 every named fact must be public", "projections/claims.py",
           "for fact_id in set(claim.facts)", "for fact_id in claim.facts[:1]", (I5,)),
    Mutant("I5 the claim equals the fact", "projections/claims.py",
           "    if not _equals(claim, row, policy):", "    if False:", (I5,)),
    Mutant("I5 no facts, no support", "projections/claims.py",
           "    if not claim.facts:\n        return REASONS[0]", "    if False:\n        return None", (I5,)),
    Mutant("I5 the digest is length-delimited", "schemas/scope.py",
           'parts.append(len(raw).to_bytes(4, "big"))', "pass", (I5,)),
    Mutant("I5 a moved head is an error", "gateway/release.py",
           "if (after.count, after.hash) != (asked.head.count, asked.head.hash):", "if False:", (HTTP,)),
    Mutant("I5 release waits for acknowledged retractions", "gateway/release.py",
           "self._backend.ends(partition, *BARRING)", "self._backend.ends(partition)", (CONTRACT,)),
    Mutant("a cycle of facts never holds itself up", "projections/support.py",
           "verdicts = dict.fromkeys(cases, _WAITING)",
           "verdicts = dict.fromkeys(cases, Verdict(Status.ACCEPTED, Reason.NONE, 0))", (SUPPORT,)),
    Mutant("a refused assertion falls with a fact it rests on", "projections/support.py",
           "            premises.append(_on_fact(source16))", "            pass", (SUPPORT,)),
    Mutant("what one event touches is settled together", "processors/settling.py",
           "verdicts = judge_all(state, scope16, rows, horizon)",
           "verdicts = {n: judge_all(state, scope16, {n: r}, horizon)[n] for n, r in rows.items()}",
           (SUPPORT,)),
    Mutant("access is decided before anything is read", "gateway/application.py",
           "if not self._backend.registry().may(principal, role, scope):", "if False:", (HTTP,)),
    Mutant("a row is bound to its key, value and store", "projections/checked.py",
           "if self._mac(key, row) != value[-MAC_BYTES:]:", "if False:", (CHECKED,)),
    Mutant("a row that is walked over is bound, too", "projections/checked.py",
           "if mac(key, row) != value[-MAC_BYTES:]:", "if False:", (CHECKED,)),
    Mutant("a kept view reads what was written since", "mnemolog/parts.py",
           "self.journals.note(changes)", "pass", (VISIBLE,)),
    Mutant("facts that cite a changed observation are judged again", "projections/whole.py",
           "{fact16 for record16 in changed for fact16 in reader.citing(record16)}",
           "set[bytes]()", (VISIBLE,)),
    Mutant("a quarantined body may be replaced, too", "processors/verify_bodies.py",
           "Decision.CANDIDATE, Decision.QUARANTINED)", "Decision.CANDIDATE)", (DEEP,)),
    Mutant("a group has as many facts as were put there", "projections/state.py",
           "if len(found) != (size.facts if size else 0):", "if False:", (HTTP,)),
    Mutant("a source that was checked must be there", "projections/support.py",
           "if source is None and witness.check != Check.PENDING:", "if False:", (HTTP,)),
    Mutant("a scope with records has a head", "gateway/asked.py",
           "if not head.count and reader.document(scope16, 0) is not None:", "if False:", (HTTP,)),
    Mutant("a refusal that a crash kept back is told", "projections/follower.py",
           "self.on_fold(receipts)", "pass", (BAD,)),
    Mutant("an integer has at most 64 bits", "schemas/straight.py",
           "if byte & 128 or number >> 64:", "if False:", (STRAIGHT,)),
)  # fmt: skip


def survives(mutant: Mutant) -> tuple[Mutant, str]:
    """Run a mutant's tests on a mutated copy: `killed`, `SURVIVED` or what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        copy = Path(scratch)
        for package in PACKAGES:
            shutil.copytree(
                ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(ROOT / "pyproject.toml", copy)
        target = copy / mutant.file
        text = target.read_text()
        if text.count(mutant.old) != 1:
            return mutant, f"NOT APPLIED ({text.count(mutant.old)} places)"
        target.write_text(text.replace(mutant.old, mutant.new))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not kafka and not slow",
            *mutant.tests,
        ]
        done = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )
    if done.returncode == 1:
        return mutant, "killed"
    return mutant, "SURVIVED" if done.returncode == 0 else f"BROKEN {done.stdout[-300:]}"


def main() -> int:
    """Run all of them, two at a time."""
    wanted = sys.argv[1:]
    chosen = [m for m in MUTANTS if not wanted or any(word in m.rule for word in wanted)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = []
        for mutant, verdict in pool.map(survives, chosen):
            results.append(verdict)
            print(f"{verdict:10} {mutant.rule}", flush=True)
    alive = sum(verdict != "killed" for verdict in results)
    print(f"{len(results) - alive} passed, {alive} failed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
