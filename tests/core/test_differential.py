"""The core agrees with the reference model on generated histories, whatever the interleaving."""

from __future__ import annotations

import random

import pytest

from tests.core.harness import Core, scope_of
from tests.model.asking import run
from tests.model.histories import History, from_seed, interleaving
from tests.model.reference import ANY, Model

BLOCKS = 20
SEEDS_A_BLOCK = 100


def differences(history: History, model: Model, core: Core) -> list[str]:
    """Every answer in which the two disagree."""
    asserted = [r["event"] for r in history.records if r["kind"] == "assertion"]
    ids = sorted({event["fact_id"] for event in asserted})
    claims = [{**event, "facts": [event["fact_id"]]} for event in asserted]
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
    return found


def historical(history: History, model: Model, core: Core, steps: list[int]) -> list[str]:
    """Differences in past views, public and audit, after some of the steps."""
    found = []
    for named in history.scopes:
        scope = scope_of(named)
        instants = model.instants(named)
        for upto in steps:
            if model.episodes(named, upto) != core.episodes(scope, upto):
                found.append(f"episodes upto {upto}")
            for t in instants:
                theirs, ours = (
                    model.public_facts(named, t, upto),
                    core.public_facts(scope, t, upto),
                )
                if theirs != ours:
                    found.append(f"public at {t} upto {upto}: model {theirs} core {ours}")
                theirs = model.audit_facts(named, t, upto)
                ours = core.public_facts(scope, t, upto, audit=True)
                if theirs != ours:
                    found.append(f"audit at {t} upto {upto}: model {theirs} core {ours}")
    return found


@pytest.mark.parametrize("block", range(BLOCKS))
def test_core_and_model_agree(block: int) -> None:
    for seed in range(block * SEEDS_A_BLOCK, (block + 1) * SEEDS_A_BLOCK):
        rng = random.Random(seed)
        history = from_seed(seed, rng.choice((6, 10, 16)))
        records = interleaving(history.records, rng)
        model, core = run(history, records), Core(history).consume(records)
        assert differences(history, model, core) == [], f"seed {seed}"
        if seed % 5 == 0:
            steps = sorted(rng.sample(range(len(records) + 1), 3))
            assert historical(history, model, core, steps) == [], f"seed {seed}"
