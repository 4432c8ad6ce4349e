"""Who may publish and read, and in which scopes (SPEC §4 "authenticate → resolve scope").

Rules of this module, all pure:
- A grant covers a scope component by component: equal byte for byte, or `*`, which stands for every
  value of a whole component; never a prefix or a pattern.
- A principal is an adapter with a trust tier, roles and grants. All come from the registry alone:
  nothing that an event says widens them.
- A signer speaks for itself. A gateway also speaks for its callers: principals that have an API
  key, since it is by that key that a gateway knows them.
- Revoked and unknown principals may nothing. A registry is a value: it never changes.

Built in, with secrets derived from the master key, under reserved names: `local` (the CLI on a
local data directory: operator, every role, every scope), `gateway` (speaks for callers, may nothing
itself), `agents` (system: publishes everywhere, also controls).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from schemas.kinds import Role, Tier
from schemas.master import MasterKey
from schemas.scope import Scope
from schemas.signing import HmacKey, HmacSigner, VerificationKey

ANY = "*"
LOCAL = "local"
GATEWAY = "gateway"
AGENTS = "agents"
RESERVED = frozenset({LOCAL, GATEWAY, AGENTS})
API_KEY_PREFIX = "mnemolog_"


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scopes that a principal may work in; each component one value, or `*` for every."""

    tenant: str
    namespace: str
    subject: str
    branch: str = ANY

    def covers(self, scope: Scope) -> bool:
        """Whether every component of `scope` is granted."""
        return (
            self.tenant in (ANY, scope.tenant)
            and self.namespace in (ANY, scope.namespace)
            and self.subject in (ANY, scope.subject)
            and self.branch in (ANY, scope.branch)
        )


EVERYWHERE = Grant(ANY, ANY, ANY, ANY)


class Principal(msgspec.Struct, frozen=True):
    """One adapter; `api_key_hash` is SHA-256 in hexadecimal, `key` checks what it signs."""

    name: str
    tier: Tier
    roles: frozenset[Role]
    grants: tuple[Grant, ...]
    system: bool
    speaks_for_others: bool
    api_key_hash: str | None
    key: VerificationKey | None
    revoked: bool


class Registry:
    """All principals at one moment."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._by_name = {principal.name: principal for principal in principals}
        self._by_api_key = {
            principal.api_key_hash: principal
            for principal in self._by_name.values()
            if principal.api_key_hash is not None and not principal.revoked
        }
        self._keys = {
            principal.name: principal.key
            for principal in self._by_name.values()
            if principal.key is not None and not principal.revoked
        }
        self._may = lru_cache(maxsize=16_384)(self._look_up)

    def principal(self, name: str) -> Principal | None:
        """By name; also a revoked one, which says so."""
        return self._by_name.get(name)

    def by_api_key(self, api_key: str) -> Principal | None:
        """Who holds an API key, if it stands. Looked up by digest: timing tells nothing of keys."""
        return self._by_api_key.get(api_key_hash(api_key))

    def verification_key(self, name: str) -> VerificationKey | None:
        """What checks a principal's signatures; None if it may not sign (now)."""
        return self._keys.get(name)

    def may(self, principal: Principal, role: Role, scope: Scope) -> bool:
        """Whether a principal has a role, and a grant that covers the scope."""
        return self._may(principal.name, role, scope)

    def _look_up(self, name: str, role: Role, scope: Scope) -> bool:
        principal = self._by_name.get(name)
        return (
            principal is not None
            and not principal.revoked
            and role in principal.roles
            and any(grant.covers(scope) for grant in principal.grants)
        )

    def may_speak_for(self, signer: str, adapter: str) -> bool:
        """Whether a record signed by `signer` may name `adapter` as the one that publishes."""
        speaker = self._by_name.get(signer)
        spoken = self._by_name.get(adapter)
        if speaker is None or spoken is None or speaker.revoked or spoken.revoked:
            return False
        return speaker is spoken or (speaker.speaks_for_others and spoken.api_key_hash is not None)


def api_key_hash(api_key: str) -> str:
    """SHA-256 in hexadecimal; enough, since the key itself is 256 random bits."""
    return hashlib.sha256(api_key.encode("utf-8", "surrogatepass")).hexdigest()


def local_api_key(master: MasterKey) -> str:
    """The API key of `local`: whoever holds the master key acts as the operator."""
    return API_KEY_PREFIX + master.derive("api-key:local").hex()


def built_in_signer(master: MasterKey, name: str) -> HmacSigner:
    """The signer of a built-in principal."""
    return HmacSigner(name, _secret(master, name))


def built_in(master: MasterKey) -> tuple[Principal, ...]:
    """`local`, `gateway` and `agents`, as the module describes them."""
    return (
        Principal(
            name=LOCAL,
            tier=Tier.OPERATOR,
            roles=frozenset(Role),
            grants=(EVERYWHERE,),
            system=False,
            speaks_for_others=False,
            api_key_hash=api_key_hash(local_api_key(master)),
            key=HmacKey(_secret(master, LOCAL)),
            revoked=False,
        ),
        Principal(
            name=GATEWAY,
            tier=Tier.UNTRUSTED,
            roles=frozenset(),
            grants=(),
            system=False,
            speaks_for_others=True,
            api_key_hash=None,
            key=HmacKey(_secret(master, GATEWAY)),
            revoked=False,
        ),
        Principal(
            name=AGENTS,
            tier=Tier.OPERATOR,
            roles=frozenset({Role.WRITER}),
            grants=(EVERYWHERE,),
            system=True,
            speaks_for_others=False,
            api_key_hash=None,
            key=HmacKey(_secret(master, AGENTS)),
            revoked=False,
        ),
    )


def _secret(master: MasterKey, name: str) -> bytes:
    if name not in RESERVED:
        raise ValueError(f"{name} is not a built-in principal: {', '.join(sorted(RESERVED))}")
    return master.derive(f"signer:{name}")
