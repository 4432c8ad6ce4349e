"""What a receipt says of a record in a world (INTERFACE, receipts; docs/semantics.md §1–§5).

The one thing that may depend on how topics were interleaved: a receipt given at consumption speaks
of the records consumed until then.
"""

from __future__ import annotations

from tests.model.rules import Fact, Record, Verdict, World, scope_of


def verdict(world: World, n: int) -> Verdict:
    """(state, reason code or "") of record n in this world."""
    record, why = world.records[n], world.stopped[n]
    blocked = why == ("rejected", "scope_deleted")
    if world.covered(record) and (why is None or blocked):
        return "covered", "barrier"
    if why is not None:
        return why
    scope, event = scope_of(record), record["event"]
    if record["kind"] == "observation":
        name = (scope, event["event_id"])
        if world.observations[name] is not record:
            return "rejected", "id_taken"
        gone = world.deleted("observation", name)
        return ("covered", "target_deleted") if gone else ("accepted", "")
    if record["kind"] == "assertion":
        name = (scope, event["fact_id"])
        taken = world.assertions[name] is not record
        return ("rejected", "id_taken") if taken else explained(world, name)
    if record["kind"] == "retraction":
        owner = world.assertions.get((scope, event["fact_id"]))
        return _may(owner, owner is not None and world.outranks(record, owner))
    if record["kind"] == "deletion":
        [(kind, wanted)] = event["target"].items()
        if kind in ("subject", "scope"):
            return "accepted", ""
        owner = world.owner(kind, (scope, wanted))
        return _may(owner, owner is not None and world.deleter(record, owner))
    if record["kind"] == "control":
        return "accepted", ""
    return "evidence_only", "not_in_force"


def explained(world: World, name: Fact) -> Verdict:
    """A fact's status with its reason, as a receipt says it."""
    record, status = world.assertions[name], world.statuses[name]
    found = [s for justification in world.premises(record, world.statuses) for s in justification]
    if status == "deleted":
        itself = world.deleted("fact", name)
        return "covered", "target_deleted" if itself else "sources_deleted"
    if status == "candidate":
        if record["event"]["derivation"]["kind"] == "inferred":
            return status, "derivation"
        if world.cap(record) == "candidate":
            return status, "tier"
        held = [p for j in world.held(record, world.statuses) for p in j]
        states = [world.premise(p, name[0], world.statuses) for p in held]
        return status, "uncheckable_quote" if "unverifiable" in states else "facts_only"
    if status == "quarantined":
        return status, "quote_not_found" if "quote_not_found" in found else "premise_failed"
    codes = {"accepted": "", "parked": "awaiting_premises", "rejected": "ambiguous_quote"}
    return status, codes[status]


def _may(owner: Record | None, allowed: bool) -> Verdict:
    if owner is None:
        return "parked", "awaiting_target"
    return ("accepted", "") if allowed else ("rejected", "not_authorised")
