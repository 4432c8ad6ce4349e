"""Policy Ω: the deployment's few choices, as one frozen value (SPEC §4 "Default policy", §5).

Built in, printed by `policy show`, changed by a `policy.toml`: additions extend the multi-valued
attributes, never replace them; an inferred assertion is a candidate whatever a file says. A file
that cannot be read or understood stops the process that wanted it (fail closed). The version is a
digest over everything that `describe` says, so two processes with one version decide alike.
"""

from __future__ import annotations

import hashlib
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from schemas.canonical import canonical
from schemas.errors import Unavailable
from schemas.kinds import DERIVATIONS, TIER_OF_WORD, Decision, Reason, Tier
from schemas.limits import LIMITS
from schemas.normalise import normalise_key

MULTI_VALUED = frozenset({"tag", "tags", "label", "labels", "interest", "interests"})
INFERRED = "inferred"


class Policy(msgspec.Struct, frozen=True):
    """What may differ between deployments; everything here is plain data.

    `accepts[tier]` are the derivations whose assertions are accepted from that tier,
    `multi_valued` normalised attributes, `clock_skew_ms` milliseconds added to a barrier's cutoff,
    `parked_timeout_s` seconds until a parked assertion's receipt times out.
    """

    accepts: tuple[frozenset[str], ...] = (
        frozenset(),
        frozenset({"direct"}),
        frozenset({"direct", "derived"}),
        frozenset({"direct", "derived"}),
    )
    multi_valued: frozenset[str] = MULTI_VALUED
    fold_values: bool = False
    quarantine_hides: bool = True
    clock_skew_ms: int = 0
    parked_timeout_s: int = 86_400

    def cap(self, tier: Tier, derivation: str) -> Decision:
        """The best an assertion can become: ACCEPTED or CANDIDATE."""
        accepted = derivation in self.accepts[tier]
        return Decision.ACCEPTED if accepted else Decision.CANDIDATE

    def cap_reason(self, tier: Tier, derivation: str) -> Reason:
        """Why the cap is no higher: NONE, TIER (a higher tier would do) or DERIVATION."""
        if derivation in self.accepts[tier]:
            return Reason.NONE
        higher = any(derivation in accepted for accepted in self.accepts[tier + 1 :])
        return Reason.TIER if higher else Reason.DERIVATION

    def single_valued(self, attribute: str) -> bool:
        """Whether a normalised attribute holds one value at a time."""
        return attribute not in self.multi_valued

    def describe(self) -> dict[str, object]:
        """The policy as JSON data, in the words of `policy.toml`, with the limits in force."""
        return {
            "accepts": {tier.word: sorted(self.accepts[tier]) for tier in Tier},
            "multi_valued": sorted(self.multi_valued),
            "fold_values": self.fold_values,
            "quarantine_hides": self.quarantine_hides,
            "clock_skew_ms": self.clock_skew_ms,
            "parked_timeout_seconds": self.parked_timeout_s,
            "limits": dict(LIMITS),
        }

    @property
    def version(self) -> bytes:
        """The first 8 bytes of SHA-256 over canonical `describe`."""
        return _version(self)


@lru_cache(maxsize=16)
def _version(policy: Policy) -> bytes:
    return hashlib.sha256(canonical(policy.describe()).encode()).digest()[:8]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    accepts: dict[str, list[str]] = {}
    multi_valued: list[str] = []
    fold_values: bool = False
    quarantine_hides: bool = True
    clock_skew_ms: Annotated[int, msgspec.Meta(ge=0, le=86_400_000)] = 0
    parked_timeout_seconds: Annotated[int, msgspec.Meta(ge=1, le=31_536_000)] = 86_400


def load(path: Path) -> Policy:
    """The policy of a `policy.toml`; the built-in one if there is no such file (nor dangling link).

    Raises `Unavailable` for a file that cannot be read, parsed or understood, naming the key.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return Policy()
        raise _unusable(f"cannot read {path.name}: {error}") from error
    try:
        file = msgspec.convert(tomllib.loads(text), _File)
    except tomllib.TOMLDecodeError as error:
        raise _unusable(f"{path.name} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise _unusable(f"{path.name}: {error}") from error
    return Policy(
        accepts=_accepts(file.accepts, path.name),
        multi_valued=MULTI_VALUED | {_attribute(name, path.name) for name in file.multi_valued},
        fold_values=file.fold_values,
        quarantine_hides=file.quarantine_hides,
        clock_skew_ms=file.clock_skew_ms,
        parked_timeout_s=file.parked_timeout_seconds,
    )


def _accepts(given: dict[str, list[str]], file: str) -> tuple[frozenset[str], ...]:
    rows = list(Policy().accepts)
    for word, derivations in given.items():
        if word not in TIER_OF_WORD:
            raise _unusable(f"{file}: accepts.{word} is not one of {', '.join(TIER_OF_WORD)}")
        for derivation in derivations:
            if derivation not in DERIVATIONS:
                allowed = ", ".join(DERIVATIONS)
                raise _unusable(f"{file}: accepts.{word}: {derivation!r} is not one of {allowed}")
            if derivation == INFERRED:
                raise _unusable(f"{file}: accepts.{word}: inferred assertions stay candidates")
        rows[TIER_OF_WORD[word]] = frozenset(derivations)
    return tuple(rows)


def _attribute(name: str, file: str) -> str:
    key = normalise_key(name)
    if not key:
        raise _unusable(f"{file}: multi_valued holds a blank attribute")
    return key


def _unusable(detail: str) -> Unavailable:
    return Unavailable("policy", detail, "correct the file, or remove it for the built-in policy")
