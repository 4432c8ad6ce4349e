"""Scopes and partitions (SPEC §1, §2): opaque components, compared byte-exact, length-prefixed.

Layout of a packed tuple of strings: for each component its UTF-8 length as 4 bytes big-endian,
then the bytes. Nothing is joined by a delimiter, sanitised or cut, so packing is injective.
Partition = first 8 bytes of SHA-256(pack(tenant, namespace, subject)), big-endian, modulo the
count; pinned by golden vectors in the tests.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec


class Scope(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """(tenant, namespace, subject, branch): where every canonical operation runs."""

    tenant: str
    namespace: str
    subject: str
    branch: str = "main"


def pack(*components: str) -> bytes:
    """Injective encoding of a tuple of strings; see the layout above."""
    parts: list[bytes] = []
    for component in components:
        raw = component.encode()
        parts.append(len(raw).to_bytes(4, "big"))
        parts.append(raw)
    return b"".join(parts)


def pack_subject(scope: Scope) -> bytes:
    """The subject's key: all branches share it."""
    return pack(scope.tenant, scope.namespace, scope.subject)


def pack_scope(scope: Scope) -> bytes:
    """The scope's key: subject and branch."""
    return pack(scope.tenant, scope.namespace, scope.subject, scope.branch)


@lru_cache(maxsize=8192)
def partition_of(scope: Scope, partitions: int) -> int:
    """The partition that holds a subject, in [0, partitions)."""
    digest = hashlib.sha256(pack_subject(scope)).digest()
    return int.from_bytes(digest[:8], "big") % partitions
