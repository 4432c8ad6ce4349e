"""`mnemolog demo`: the main job on real input, in plain words."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemolog.importing import Importing, run_import
from mnemolog.memory import Memory, ScopedMemory
from schemas import answers
from schemas.errors import Unavailable

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run_demo(kafka: str | None) -> int:
    """Run it; 0 if everything came out as told."""
    if not EXAMPLES.is_dir():
        raise Unavailable("demo", "its example data is not installed", "run it from a checkout")
    with tempfile.TemporaryDirectory(prefix="mnemolog-demo-") as scratch:
        if kafka is None:
            with _embedded(Path(scratch)) as memory:
                return _tour(memory)
        from mnemolog.cluster_demo import cluster

        with cluster(kafka, Path(scratch)) as memory:
            return _tour(memory)


@contextmanager
def _embedded(scratch: Path) -> Iterator[Memory]:
    """A memory in a directory of its own, its anchors beside it."""
    kept = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(scratch / "state")
    try:
        with Memory.open(scratch / "data") as memory:
            yield memory
    finally:
        if kept is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = kept


def _title(text: str) -> None:
    print(f"\n== {text}")


def _tour(memory: Memory) -> int:
    garden = memory.scope("demo", "code", "garden-lights")
    alice = memory.scope("demo", "chat", "alice")
    _import(memory, "git", "garden-lights.bundle", ("demo", "code", "garden-lights"))
    _import(memory, "chatgpt", "conversations.json", ("demo", "chat", "alice"))
    _contradictions(garden, alice)
    _corrections(garden)
    outcome = _releases(alice)
    _retraction(alice)
    return _verify(memory) or outcome


def _import(memory: Memory, kind: str, file: str, scope: tuple[str, str, str]) -> None:
    _title(f"import {kind} {file}")
    tenant, namespace, subject = scope
    where = {"tenant": tenant, "namespace": namespace, "subject": subject, "branch": "main"}
    name = subject if kind == "git" else None
    done = run_import(Importing(kind, EXAMPLES / file, where, name), memory.door.publish)
    said = ", ".join(f"{count} {state}" for state, count in sorted(done.states.items()))
    print(f"published {sum(done.states.values())} events: {said}")
    again = run_import(Importing(kind, EXAMPLES / file, where, name), memory.door.publish)
    print(f"the same again: {again.states['duplicate']} duplicates, nothing changed")


def _contradictions(*scopes: ScopedMemory) -> None:
    _title("set apart: facts that cannot all be so (neither side may be released)")
    for scope in scopes:
        for conflict in scope.conflicts().items:
            print(f"{conflict.entity} {conflict.attribute}:")
            for side in conflict.sides:
                quote = side.evidence[0].quote if side.evidence else ""
                print(f"    {side.value}  says “{quote}”")


def _corrections(garden: ScopedMemory) -> None:
    _title("superseded: corrected, yet still there for questions about the past")
    for attribute in ("version", "license"):
        for fact in garden.history("garden-lights", attribute).items:
            print(f"{fact.status:10} {attribute} {fact.value} (from {fact.valid_from[:10]})")


def _claim(fact: answers.Fact) -> tuple[str, str, Any, list[str]]:
    return fact.entity, fact.attribute, fact.value, [fact.fact_id]


def _fact(scope: ScopedMemory, entity: str, attribute: str) -> answers.Fact | None:
    return next(iter(scope.facts(entity=entity, attribute=attribute).items), None)


def _releases(alice: ScopedMemory) -> int:
    _title("recall: where does alice live?")
    for result in alice.recall("where does alice live? city", limit=4).results:
        mark = "may be released" if result.releasable else f"{result.type}: not releasable"
        print(f"    {result.text[:70]!r}  [{mark}]")
    _title("release: may I say this now?")
    city = _fact(alice, "alice", "city")
    assert city is not None
    granted = alice.release([_claim(city)], query="where does alice live?")
    print(f"“alice lives in {city.value}”: {granted.decision}")
    check = alice.verify_release(granted.record, [_claim(city)], query="where does alice live?")
    print(f"    its record verifies: {check.valid}")
    conflict = alice.conflicts().items[0]
    side = conflict.sides[0]
    refused = alice.release([_claim(side)])
    print(
        f"“{side.entity}'s {side.attribute} is {side.value}”: {refused.decision}, "
        f"because {refused.claims[0].reason}"
    )
    return 0 if (granted.decision, refused.decision) == ("release", "abstain") else 1


def _retraction(alice: ScopedMemory) -> None:
    _title("retracted: this was never right")
    fact = next(
        fact
        for fact in alice.facts().items
        if "ladder" in fact.entity.lower() or ("ladder" in fact.attribute.lower())
    )
    print(f"before: {alice.release([_claim(fact)]).decision} of “{fact.entity} {fact.attribute}”")
    alice.retract(fact.fact_id, reason="she measured again")
    after = alice.release([_claim(fact)])
    print(f"after:  {after.decision}, because {after.claims[0].reason}")
    found = alice.recall(f"{fact.entity} {fact.attribute}").results
    gone = all(result.id != fact.fact_id for result in found)
    print(f"    recall brings it back: {'no' if gone else 'YES'}")


def _verify(memory: Memory) -> int:
    _title("verify --deep")
    found = memory.verify(deep=True)
    total = sum(partition.entries for partition in found.partitions)
    print(f"{'ok' if found.ok else 'DAMAGED'}: {total} entries, chain, bodies, quotes, projections")
    for finding in found.damage:
        print(f"  {finding.what}: {finding.detail}", file=sys.stderr)
    return 0 if found.ok else 1
