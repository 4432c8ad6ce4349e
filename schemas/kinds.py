"""The closed vocabularies of events and entries (SPEC §2, §3).

Numbers are part of the ledger's format: never renumber, only append.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Kind(IntEnum):
    """Event kinds; each has its own intake topic."""

    OBSERVATION = 1
    ASSERTION = 2
    RETRACTION = 3
    DELETION = 4
    ASSOCIATION = 5
    PROCEDURE = 6
    OUTCOME = 7
    COMMITMENT = 8
    APPRAISAL = 9
    CHALLENGE = 10
    GRANT = 11
    WORKINGSET = 12
    CONTROL = 13

    @property
    def word(self) -> str:
        """The kind as JSON and the CLI say it."""
        return self.name.lower()


KIND_OF_WORD = {kind.word: kind for kind in Kind}


class Decision(IntEnum):
    """What admission made of an intake record."""

    ACCEPTED = 1
    CANDIDATE = 2
    EVIDENCE_ONLY = 3
    AWAITING_APPROVAL = 4
    PARKED = 5
    COVERED = 6
    DUPLICATE = 7
    QUARANTINED = 8
    REJECTED = 9
    DEAD_LETTERED = 10
    DELETED = 11  # admitted as deleted: header counts, no content kept; receipts say `covered`


RECEIPT_STATE = {
    Decision.ACCEPTED: "accepted",
    Decision.CANDIDATE: "candidate",
    Decision.EVIDENCE_ONLY: "evidence_only",
    Decision.AWAITING_APPROVAL: "awaiting_approval",
    Decision.PARKED: "parked",
    Decision.COVERED: "covered",
    Decision.DUPLICATE: "duplicate",
    Decision.QUARANTINED: "quarantined",
    Decision.REJECTED: "rejected",
    Decision.DEAD_LETTERED: "rejected",
    Decision.DELETED: "covered",
}


class Reason(IntEnum):
    """Why: the entry header's reason code; its name in lower case is the receipt's code."""

    NONE = 0
    # dead-lettered
    UNDECODABLE = 1
    UNKNOWN_SCHEMA = 2
    UNKNOWN_SYMBOL = 3
    NULL_VALUE = 4
    OVERSIZE = 5
    # refused before the content is looked at
    UNAUTHENTICATED = 10
    SPEAKER_NOT_ALLOWED = 11
    WRONG_PARTITION = 12
    SCOPE_NOT_GRANTED = 13
    ROLE_REQUIRED = 14
    INVALID = 15
    # refused by what is already there
    IDEMPOTENCY_CONFLICT = 20
    ID_TAKEN = 21
    SCOPE_DELETED = 22
    NOT_AUTHORISED = 23
    UNSUPPORTED_CONTROL = 24
    # covered and waiting
    BARRIER = 30
    TARGET_DELETED = 31
    SOURCES_DELETED = 32
    AWAITING_TARGET = 33
    AWAITING_PREMISES = 34
    # judged by content
    QUOTE_NOT_FOUND = 40
    AMBIGUOUS_QUOTE = 41
    PREMISE_FAILED = 42
    TIMED_OUT = 43
    # why only a candidate or evidence
    TIER = 50
    DERIVATION = 51
    FACTS_ONLY = 52
    UNCHECKABLE_QUOTE = 53
    NOT_IN_FORCE = 54
    NO_EFFECT = 55

    @property
    def code(self) -> str:
        """The code in receipts and problems; '' for NONE."""
        return "" if self is Reason.NONE else self.name.lower()


class Tier(IntEnum):
    """Trust tiers of the adapter registry, lowest first."""

    UNTRUSTED = 0
    USER = 1
    SERVICE = 2
    OPERATOR = 3

    @property
    def word(self) -> str:
        """The tier as JSON and the CLI say it."""
        return self.name.lower()


TIER_OF_WORD = {tier.word: tier for tier in Tier}


class Role(StrEnum):
    """What an API key may do (INTERFACE, HTTP)."""

    WRITER = "writer"
    READER = "reader"
    HISTORIAN = "historian"
    AUDITOR = "auditor"
    OPERATOR = "operator"


ACTOR_ROLES = ("user", "assistant", "tool", "document", "system")
SENSITIVITIES = ("public", "normal", "personal", "secret")
DERIVATIONS = ("direct", "derived", "inferred")
VALUE_TYPES = ("string", "integer", "decimal", "boolean", "instant")
TARGETS = ("observation", "fact", "subject", "scope")
CONTROLS = (
    "timeout",
    "expiry",
    "approval",
    "branch_fork",
    "branch_invalidation",
    "policy_change",
    "restoration",
)
