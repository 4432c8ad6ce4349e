"""The registry file, `keys.json`: principals as they are kept (SPEC §4, ARCHITECTURE "Identity").

Rules of this module:
- API keys are kept as digests, HMAC secrets wrapped under the master key (AES-256-GCM, the
  principal's name as associated data), Ed25519 keys as the public half.
- The file is replaced as a whole, under a lock, mode 0600; readers see the old or the new one and
  take a new one up by themselves.
- No file: the built-in principals alone. A file that cannot be read, parsed or unwrapped, or that
  others may write: nobody may anything, and the error says why (fail closed).
- Names are never given again, not even after a revocation: a name is an adapter's identity.

Layout: {"version": 1, "principals": [{"name", "tier", "roles", "grants", "api_key_sha256",
"signing": null | {"type": "hmac-sha256", "wrapped"} | {"type": "ed25519", "public"}, "revoked"}]},
tiers and roles by word, bytes in base64; `wrapped` is a nonce (12 bytes), then 32 + 16 sealed ones.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.errors import Unavailable, invalid
from schemas.files import replace
from schemas.kinds import TIER_OF_WORD, Role, Tier
from schemas.master import MasterKey
from schemas.principals import (
    ANY,
    API_KEY_PREFIX,
    RESERVED,
    Grant,
    Principal,
    Registry,
    api_key_hash,
    built_in,
)
from schemas.signing import Ed25519Key, HmacKey, VerificationKey
from schemas.text import check_id

__all__ = ["Grant", "IssuedKey", "Principal", "Registry", "RegistryFile"]

FORMAT_VERSION = 1

_PART = "registry"
_NONCE_BYTES = 12

Stamp = tuple[int, int, int]  # inode, size in bytes, change time in ns


class IssuedKey(msgspec.Struct, frozen=True):
    """What is shown once: the API key and, if asked for, the HMAC secret of direct producers."""

    name: str
    key: str
    secret: bytes | None

    def __repr__(self) -> str:
        return f"IssuedKey({self.name!r}, …)"


class _Hmac(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="hmac-sha256"):
    wrapped: bytes


class _Ed25519(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="ed25519"):
    public: bytes


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    tier: str
    roles: tuple[Role, ...]
    grants: tuple[Grant, ...]
    api_key_sha256: str
    signing: _Hmac | _Ed25519 | None
    revoked: bool


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    principals: tuple[_Stored, ...]


class RegistryFile:
    """Loads, changes and follows one `keys.json`. Safe to share between threads."""

    def __init__(self, path: Path, master: MasterKey) -> None:
        self._path = path
        self._built_in = built_in(master)
        self._wrapping = AESGCM(master.derive("registry-wrapping"))
        self._lock = threading.Lock()
        self._loaded: tuple[Stamp | None, Registry] | None = None

    def snapshot(self) -> Registry:
        """The registry as it is now; the file is read only if it changed.

        Raises `Unavailable`: then nobody may anything.
        """
        stamp = self._stamp()
        loaded = self._loaded
        if loaded is not None and loaded[0] == stamp:
            return loaded[1]
        with self._lock:
            stamp, stored = self._read()
            registry = Registry((*self._built_in, *map(self._principal, stored)))
            self._loaded = (stamp, registry)
            return registry

    def list(self) -> tuple[Principal, ...]:
        """The principals that were added, revoked ones too, in the order of adding."""
        return tuple(map(self._principal, self._read()[1]))

    def add(
        self,
        name: str,
        roles: Iterable[Role],
        grants: Iterable[Grant],
        tier: Tier,
        *,
        ed25519_public: bytes | None = None,
        with_secret: bool = False,
    ) -> IssuedKey:
        """A new principal; its keys are not kept and cannot be shown again.

        Raises `InvalidEvent` for a name, grant or key that cannot be used.
        """
        _check_name(name)
        grants = tuple(grants)
        for grant in grants:
            _check_grant(grant)
        if ed25519_public is not None and with_secret:
            raise invalid("invalid", "key", "both a secret and a public key", "choose one of them")
        secret = secrets.token_bytes(32) if with_secret else None
        api_key = API_KEY_PREFIX + secrets.token_urlsafe(32)
        stored = _Stored(
            name=name,
            tier=tier.word,
            roles=tuple(sorted(set(roles))),
            grants=grants,
            api_key_sha256=api_key_hash(api_key),
            signing=self._signing(name, secret, ed25519_public),
            revoked=False,
        )
        with self._changing() as others:
            if any(other.name == name for other in others):
                raise invalid("name_taken", "name", f"{name} exists or existed", "choose another")
            self._write((*others, stored))
        return IssuedKey(name, api_key, secret)

    def revoke(self, name: str) -> None:
        """End a principal's keys for good; `InvalidEvent` if there is none of that name."""
        with self._changing() as stored:
            if all(one.name != name for one in stored):
                raise invalid("unknown_name", "name", f"there is no {name}", "see: keys list")
            self._write(
                msgspec.structs.replace(one, revoked=True) if one.name == name else one
                for one in stored
            )

    @contextmanager
    def _changing(self) -> Iterator[tuple[_Stored, ...]]:
        """The stored principals, while no other process changes them."""
        lock_path = self._path.with_name(f".{self._path.name}.lock")
        try:
            lock_path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unreadable(lock_path, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._read()[1]
        finally:
            os.close(lock)

    def _write(self, stored: Iterable[_Stored]) -> None:
        content = msgspec.json.encode(_File(FORMAT_VERSION, tuple(stored)))
        replace(self._path, msgspec.json.format(content) + b"\n")

    def _stamp(self) -> Stamp | None:
        """What changes when the file does; None if there is none."""
        try:
            return _stamp_of(os.stat(self._path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self._path, error) from error

    def _read(self) -> tuple[Stamp | None, tuple[_Stored, ...]]:
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                content = file.read()
        except FileNotFoundError:
            return None, ()
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if status.st_mode & 0o022:
            raise self._broken("others may write it", f"type: chmod go-w {self._path}")
        try:
            file_ = msgspec.json.decode(content, type=_File)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._broken(str(error)) from error
        names = [stored.name for stored in file_.principals]
        if file_.version != FORMAT_VERSION:
            raise self._broken(f"format version {file_.version}, not {FORMAT_VERSION}")
        if len(set(names)) != len(names) or RESERVED & set(names):
            raise self._broken("a name is there twice, or is reserved")
        return _stamp_of(status), file_.principals

    def _principal(self, stored: _Stored) -> Principal:
        tier = TIER_OF_WORD.get(stored.tier)
        if tier is None:
            raise self._broken(f"{stored.name}: no trust tier is called {stored.tier}")
        return Principal(
            name=stored.name,
            tier=tier,
            roles=frozenset(stored.roles),
            grants=stored.grants,
            system=False,
            speaks_for_others=False,
            api_key_hash=stored.api_key_sha256,
            key=self._verification_key(stored),
            revoked=stored.revoked,
        )

    def _signing(
        self, name: str, secret: bytes | None, ed25519_public: bytes | None
    ) -> _Hmac | _Ed25519 | None:
        if ed25519_public is not None:
            if len(ed25519_public) != 32:
                raise invalid("invalid", "ed25519_public", "not a public key", "give its 32 bytes")
            return _Ed25519(ed25519_public)
        if secret is None:
            return None
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _Hmac(nonce + self._wrapping.encrypt(nonce, secret, name.encode()))

    def _verification_key(self, stored: _Stored) -> VerificationKey | None:
        signing = stored.signing
        if signing is None:
            return None
        if isinstance(signing, _Ed25519):
            if len(signing.public) != 32:
                raise self._broken(f"{stored.name}: its public key is not 32 bytes")
            return Ed25519Key(signing.public)
        nonce, sealed = signing.wrapped[:_NONCE_BYTES], signing.wrapped[_NONCE_BYTES:]
        try:
            return HmacKey(self._wrapping.decrypt(nonce, sealed, stored.name.encode()))
        except (InvalidTag, ValueError) as error:
            raise self._broken(
                f"{stored.name}: its secret was not wrapped under this master key",
                "use the master key of this installation",
            ) from error

    def _broken(self, detail: str, remedy: str = "restore it from a backup") -> Unavailable:
        return Unavailable(_PART, f"{self._path}: {detail}", remedy)


def _stamp_of(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_ctime_ns


def _unreadable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(_PART, f"cannot open {path}: {error.strerror}", "check its owner and rights")


def _check_name(name: str) -> None:
    check_id(name, "name")
    if name in RESERVED:
        raise invalid("reserved_name", "name", f"{name} is built in", "choose another name")


def _check_grant(grant: Grant) -> None:
    for field in Grant.__struct_fields__:
        value = getattr(grant, field)
        if value != ANY:
            check_id(value, f"grant.{field}")
