"""The core agrees with the reference model on generated histories, whatever the interleaving.

Now, as of every step, in the audit's eyes at every step, and in every receipt. `tangled` histories
are those in which most premises are facts, so that statuses hang on each other.
"""

from __future__ import annotations

import random

import pytest

from tests.core.harness import Core, scope_of
from tests.model.asking import run
from tests.model.histories import History, from_seed, interleaving, tangled
from tests.model.reference import ANY, Model
from tests.model.rules import Record

BLOCKS = 20
SEEDS_A_BLOCK = 100
HISTORICAL = 15  # one in so many is asked at every step


def asserted(history: History) -> list[Record]:
    return [record["event"] for record in history.records if record["kind"] == "assertion"]


def differences(history: History, model: Model, core: Core) -> list[str]:
    """Every present answer in which the two disagree."""
    ids = sorted({event["fact_id"] for event in asserted(history)})
    claims = [{**event, "facts": [event["fact_id"]]} for event in asserted(history)]
    found: list[str] = []

    def same(what: str, theirs: object, ours: object) -> None:
        if theirs != ours:
            found.append(f"{what}: model {theirs!r} core {ours!r}")

    for named in history.scopes:
        scope = scope_of(named)
        same(f"{named} episodes", model.episodes(named), core.episodes(scope))
        for fact_id in ids:
            same(f"{fact_id} status", model.status(named, fact_id), core.status(scope, fact_id))
            same(
                f"{fact_id} retracted",
                model.retracted(named, fact_id),
                core.retracted(scope, fact_id),
            )
        same("ever", model.public_facts(named, ANY), core.public_facts(scope, ANY))
        same("conflicts", model.conflicts(named, ANY), core.conflicts(scope, ANY))
        for t in model.instants(named):
            same(f"facts at {t}", model.public_facts(named, t), core.public_facts(scope, t))
            same(f"conflicts at {t}", model.conflicts(named, t), core.conflicts(scope, t))
            same(f"release at {t}", model.release(named, t, claims), core.release(scope, t, claims))
            for fact_id, by in core.superseded_by(scope, t).items():
                if by not in model.superseded_by(named, fact_id, t):
                    found.append(f"{fact_id} superseded by {by} at {t}")
    return found


def past_differences(history: History, model: Model, core: Core) -> list[str]:
    """Every past answer, public and audit, in which the two disagree, at every step."""
    claims = [{**event, "facts": [event["fact_id"]]} for event in asserted(history)]
    found: list[str] = []
    for named in history.scopes:
        scope, instants = scope_of(named), model.instants(named)
        for upto in range(len(model.records) + 1):

            def same(what: str, theirs: object, ours: object, upto: int = upto) -> None:
                if theirs != ours:
                    found.append(f"{what} upto {upto}: model {theirs!r} core {ours!r}")

            then = model.audit(upto)
            same("episodes", model.episodes(named, upto), core.episodes(scope, upto))
            same("audit episodes", then.episodes(named), core.episodes(scope, upto, audit=True))
            for t in instants:
                public, audit = core.public_facts(scope, t, upto), then.public_facts(named, t)
                same(f"facts at {t}", model.public_facts(named, t, upto), public)
                same(f"audit at {t}", audit, core.public_facts(scope, t, upto, audit=True))
                conflicts = core.conflicts(scope, t, upto)
                same(f"conflicts at {t}", model.conflicts(named, t, upto), conflicts)
                theirs = model.release(named, t, claims, upto)
                same(f"release at {t}", theirs, core.release(scope, t, claims, upto))
    return found


def receipt_differences(model: Model, core: Core) -> list[str]:
    """Every receipt, as given at admission, in which the two disagree.

    A duplicate's reason is its first's; what a control changed, only the core knows; of a missing
    role and a missing grant either may be said first.
    """
    found = []
    for n, (record, ours) in enumerate(zip(model.records, core.receipts, strict=True)):
        theirs = model.receipt(n + 1, n + 1)
        if record["kind"] == "control" and ours[0] == "evidence_only":
            ours = ("accepted", ours[1])
        by_state = record["kind"] == "control" or ours[0] == "duplicate"
        unfit = {ours[1], theirs[1]} <= {"role_required", "scope_not_granted"}
        if ours[0] != theirs[0] or not (by_state or unfit or ours == theirs):
            found.append(f"receipt of {record['kind']} {record['offset']}: {theirs} {ours}")
    return found


@pytest.mark.parametrize("block", range(BLOCKS))
def test_core_and_model_agree(block: int) -> None:
    for seed in range(block * SEEDS_A_BLOCK, (block + 1) * SEEDS_A_BLOCK):
        rng = random.Random(seed)
        history = from_seed(seed, rng.choice((6, 10, 16)))
        records = interleaving(history.records, rng)
        model, core = run(history, records), Core(history).consume(records)
        assert differences(history, model, core) == [], f"seed {seed}"
        assert receipt_differences(model, core) == [], f"seed {seed}"
        if seed % HISTORICAL == 0:
            assert past_differences(history, model, core) == [], f"seed {seed}"


@pytest.mark.parametrize("block", range(5))
def test_core_and_model_agree_where_facts_rest_on_facts(block: int) -> None:
    for seed in range(block * SEEDS_A_BLOCK, (block + 1) * SEEDS_A_BLOCK):
        rng = random.Random(seed)
        history = tangled(seed, rng.choice((6, 10, 16)))
        records = interleaving(history.records, rng)
        model, core = run(history, records), Core(history).consume(records)
        assert differences(history, model, core) == [], f"seed {seed}"
        if seed % HISTORICAL == 0:
            assert past_differences(history, model, core) == [], f"seed {seed}"
