"""The rules of docs/semantics.md §1–§6 over one list of consumed records, in the page's order.

A `World` answers for exactly the records it is given and knows nothing else: no index that grows,
no status that moves. Every method restates a sentence of the page as a quantifier over the list.
Within one topic the list keeps the topic's order; between topics it may be in any order, and
nothing here depends on that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.model import normaliser

Scope = tuple[str, str, str, str]
Record = dict[str, Any]
Fact = tuple[Scope, str]
Verdict = tuple[str, str]  # a receipt's state and its reason's code or ""

TIERS = ("untrusted", "user", "service", "operator")
COVERABLE = ("observation", "assertion", "retraction")
FORCE = ("accepted", "candidate")
MULTI_VALUED = frozenset({"tag", "tags", "label", "labels", "interest", "interests"})


@dataclass(frozen=True)
class Adapter:
    """A registered speaker: its trust tier, its roles, whether it may say controls."""

    tier: str
    roles: frozenset[str]
    system: bool = False


@dataclass(frozen=True)
class Policy:
    """Declared clock skew of barriers in ms; normalised attributes with many values."""

    skew_ms: int = 0
    multi_valued: frozenset[str] = MULTI_VALUED


def scope_of(record: Record) -> Scope:
    """(tenant, namespace, subject, branch)."""
    scope = record["event"]["scope"]
    return scope["tenant"], scope["namespace"], scope["subject"], scope["branch"]


def content(record: Record) -> Record:
    """What the caller gave: the event without its id and what a receiver filled in."""
    left_out = {"event_id", *record.get("filled", ())}
    return {field: value for field, value in record["event"].items() if field not in left_out}


def key_of(record: Record) -> tuple[str, str]:
    """The normalised (entity, attribute) of an assertion."""
    return normaliser.key(record["event"]["entity"]), normaliser.key(record["event"]["attribute"])


class World:
    """What the rules make of a list of records."""

    def __init__(
        self, records: tuple[Record, ...], adapters: Mapping[str, Adapter], policy: Policy
    ) -> None:
        self.records = records
        self.adapters = adapters
        self.policy = policy

    # §1: who owns an id, a key

    def unfit(self, record: Record) -> Verdict | None:
        """Step 1: a refusal that owns no id and holds no key."""
        event, adapter = record["event"], self.adapters.get(record["adapter"])
        if adapter is None:
            return "rejected", "unauthenticated"
        whole = record["kind"] == "deletion" and {"subject", "scope"} & event["target"].keys()
        if whole:
            return None if "operator" in adapter.roles else ("rejected", "role_required")
        if "writer" not in adapter.roles:
            return "rejected", "scope_not_granted"
        if record["kind"] == "control" and not adapter.system:
            return "rejected", "role_required"
        return None

    def repeated(self, n: int) -> Verdict | None:
        """Step 2: record n repeats an idempotency key of an earlier one."""

        def key(record: Record) -> object:
            named = record["event"]["idempotency_key"]
            return record["adapter"], scope_of(record), record["kind"], named

        record = self.records[n]
        for earlier in self.records[:n]:
            if key(earlier) == key(record) and self.unfit(earlier) is None:
                same = content(earlier) == content(record)
                return ("duplicate", "") if same else ("rejected", "idempotency_conflict")
        return None

    @cached_property
    def stopped(self) -> list[Verdict | None]:
        """For each record, why it got no further than steps 1 and 2 or a scope deletion."""
        stopped: list[Verdict | None] = []
        for n, record in enumerate(self.records):
            dead = any(
                why is None and "scope" in earlier["event"].get("target", ())
                for earlier, why in zip(self.records, stopped, strict=False)
                if scope_of(earlier)[:3] == scope_of(record)[:3]
            )
            why = self.unfit(record) or self.repeated(n)
            stopped.append(why or (("rejected", "scope_deleted") if dead else None))
        return stopped

    @cached_property
    def through(self) -> dict[str, list[Record]]:
        """The records that got through, by kind."""
        kinds: dict[str, list[Record]] = {record["kind"]: [] for record in self.records}
        for record, why in zip(self.records, self.stopped, strict=True):
            if why is None:
                kinds[record["kind"]].append(record)
        return kinds

    def of_kind(self, kind: str) -> list[Record]:
        """Those of a kind."""
        return self.through.get(kind, [])

    @cached_property
    def observations(self) -> dict[Fact, Record]:
        """The owner of each observation id."""
        owners: dict[Fact, Record] = {}
        for record in self.of_kind("observation"):
            owners.setdefault((scope_of(record), record["event"]["event_id"]), record)
        return owners

    @cached_property
    def assertions(self) -> dict[Fact, Record]:
        """The owner of each fact id."""
        owners: dict[Fact, Record] = {}
        for record in self.of_kind("assertion"):
            owners.setdefault((scope_of(record), record["event"]["fact_id"]), record)
        return owners

    def owner(self, kind: str, name: Fact) -> Record | None:
        """The owner of an id; kind is `observation` or `fact`."""
        return (self.observations if kind == "observation" else self.assertions).get(name)

    # §2–§4: caps, barriers, retractions, deletions

    def tier(self, record: Record) -> int:
        """The rank of the record's adapter."""
        return TIERS.index(self.adapters[record["adapter"]].tier)

    def cap(self, assertion: Record) -> str:
        """§2: the highest level that tier and derivation allow."""
        needed = {"direct": "user", "derived": "service"}.get(
            assertion["event"]["derivation"]["kind"]
        )
        fit = needed is not None and self.tier(assertion) >= TIERS.index(needed)
        return "accepted" if fit else "candidate"

    def barriers(self, scope: Scope) -> list[Record]:
        """The subject and scope deletions that reach a scope, from any branch."""
        return [
            record
            for record in self.of_kind("deletion")
            if {"subject", "scope"} & record["event"]["target"].keys()
            and scope_of(record)[:3] == scope[:3]
        ]

    def blocked(self, scope: Scope) -> bool:
        """Whether the subject had a scope deletion."""
        return any("scope" in record["event"]["target"] for record in self.barriers(scope))

    def covered(self, record: Record) -> bool:
        """§3: whether a barrier's cutoff is at or after the record's append time."""
        return record["kind"] in COVERABLE and any(
            record["append_ms"] <= barrier["append_ms"] + self.policy.skew_ms
            for barrier in self.barriers(scope_of(record))
        )

    def deleter(self, deletion: Record, target: Record) -> bool:
        """§4: whether the author may delete the record."""
        same = deletion["adapter"] == target["adapter"]
        return same or "operator" in self.adapters[deletion["adapter"]].roles

    def outranks(self, author: Record, target: Record) -> bool:
        """§4, §6: whether the author may retract or supersede the fact."""
        same = author["adapter"] == target["adapter"]
        return same or self.tier(author) >= self.tier(target)

    def deleted(self, kind: str, name: Fact) -> bool:
        """§4: whether an effective deletion names the record."""
        owner = self.owner(kind, name)
        return owner is not None and any(
            record["event"]["target"].get(kind) == name[1]
            and scope_of(record) == name[0]
            and self.deleter(record, owner)
            for record in self.of_kind("deletion")
        )

    def retracted(self, name: Fact) -> bool:
        """§4: whether an effective retraction names the fact."""
        owner = self.assertions.get(name)
        return owner is not None and any(
            (scope_of(record), record["event"]["fact_id"]) == name
            and not self.covered(record)
            and self.outranks(record, owner)
            for record in self.of_kind("retraction")
        )

    # §5: premises, justifications, statuses

    def quote(self, premise: Record, source: Record) -> str:
        """ok, unverifiable, quote_not_found or ambiguous_quote."""
        if source["event"].get("content") is None:
            return "unverifiable"
        text, quote = source["event"]["content"].encode(), premise["quote"].encode()
        start, end = premise.get("start"), premise.get("end")
        places = [
            place
            for place in range(len(text))
            if quote != b"" and text[place : place + len(quote)] == quote
        ]
        if start is not None:
            fits = start in places and start + len(quote) == end
            return "ok" if fits else "quote_not_found"
        if len(places) > 1:
            return "ambiguous_quote"
        return "ok" if places else "quote_not_found"

    def premise(self, premise: Record, scope: Scope, statuses: Mapping[Fact, str]) -> str:
        """pending, gone, ok, unverifiable, or the reason why it failed."""
        if "fact" in premise:
            status = statuses.get((scope, premise["fact"]), "parked")
            if status == "parked":
                return "pending"
            if status in ("covered", "deleted"):
                return "gone"
            return "ok" if status in FORCE else "premise_failed"
        name = (scope, premise["observation"])
        source = self.observations.get(name)
        if source is None:
            return "pending"
        if self.covered(source) or self.deleted("observation", name):
            return "gone"
        return self.quote(premise, source)

    def premises(self, record: Record, statuses: Mapping[Fact, str]) -> list[list[str]]:
        """The status of every premise of an assertion, a list for each justification."""
        return [
            [self.premise(premise, scope_of(record), statuses) for premise in justification]
            for justification in justifications(record)
        ]

    def held(self, record: Record, statuses: Mapping[Fact, str]) -> list[list[Record]]:
        """Those of an assertion's justifications that hold."""
        return [
            justification
            for justification in justifications(record)
            if all(
                self.premise(premise, scope_of(record), statuses) in ("ok", "unverifiable")
                for premise in justification
            )
        ]

    def grounded(self, record: Record, statuses: Mapping[Fact, str]) -> list[list[Record]]:
        """Those that hold with at least one quote, all of whose quotes are verified."""
        return [
            justification
            for justification in self.held(record, statuses)
            if any("observation" in premise for premise in justification)
            and all(
                self.premise(premise, scope_of(record), statuses) == "ok"
                for premise in justification
            )
        ]

    def judge(self, name: Fact, statuses: Mapping[Fact, str]) -> str:
        """The status of a fact, given those of all facts: the first of §5's list that applies."""
        record = self.assertions[name]
        found = self.premises(record, statuses)
        every = [status for justification in found for status in justification]
        fine = ("ok", "unverifiable", "pending")
        if self.covered(record):
            return "covered"
        if self.deleted("fact", name):
            return "deleted"
        if self.held(record, statuses):
            high = self.cap(record) == "accepted" and self.grounded(record, statuses)
            return "accepted" if high else "candidate"
        if any(all(status in fine for status in justification) for justification in found):
            return "parked"
        if "gone" in every:
            return "deleted"
        if any(status in ("quote_not_found", "premise_failed") for status in every):
            return "quarantined"
        return "parked" if "pending" in every else "rejected"

    @cached_property
    def statuses(self) -> dict[Fact, str]:
        """The status of every owned fact id: the least fixed point, starting from all parked.

        Each of covered, deleted, accepted, candidate, parked, quarantined, rejected.
        """
        statuses = dict.fromkeys(self.assertions, "parked")
        while True:
            judged = {name: self.judge(name, statuses) for name in self.assertions}
            if judged == statuses:
                return statuses
            statuses = judged

    @cached_property
    def grounds(self) -> dict[Fact, list[list[Record]]]:
        """The grounded justifications of every fact."""
        return {name: self.grounded(r, self.statuses) for name, r in self.assertions.items()}

    # §6: supersession

    def supersedes(self, name: Fact) -> Fact | None:
        """The target of a fact's admitted edge, whichever of the two came first."""
        record = self.assertions[name]
        target = (name[0], record["event"]["supersedes"])
        rival = self.assertions.get(target)
        quoted = any("observation" in p for j in justifications(record) for p in j)
        counts = self.cap(record) == "accepted" and quoted
        if not counts or self.statuses[name] not in ("accepted", "deleted") or rival is None:
            return None
        fits = not self.covered(rival) and key_of(record) == key_of(rival)
        return target if fits and self.outranks(record, rival) else None

    @cached_property
    def admitted(self) -> set[tuple[Fact, Fact]]:
        """The admitted edges."""
        targets = {name: self.supersedes(name) for name in self.assertions}
        return {(name, target) for name, target in targets.items() if target is not None}


def justifications(record: Record) -> list[list[Record]]:
    """The premises of each justification of an assertion."""
    return [justification["premises"] for justification in record["event"]["justifications"]]
