"""The adapter registry (SPEC §4): exact grants, no widening, and a damaged file lets nobody in."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InvalidEvent, Unavailable
from schemas.kinds import Kind, Role, Tier
from schemas.master import MasterKey
from schemas.principals import built_in_signer, local_api_key
from schemas.registry import Grant, Principal, Registry, RegistryFile
from schemas.scope import Scope
from schemas.signing import Ed25519Signer, HmacSigner, verify

MASTER = MasterKey(bytes(range(32)))
ALICE = Scope("acme", "support", "alice")
TEAM = Grant("acme", "support", "*")
PAYLOAD = b"\xc3\x01fingerPRbody"

components = st.text(min_size=1, max_size=3) | st.sampled_from(["*", "a", "ab", "a*", "*a", "A"])


@pytest.fixture
def keys(tmp_path: Path) -> RegistryFile:
    return RegistryFile(tmp_path / "keys.json", MASTER)


def edit(path: Path, change: Callable[[Any], object]) -> None:
    """Change the file by hand, as another editor would: a new file in its place."""
    content = json.loads(path.read_text())
    change(content)
    other = path.with_suffix(".new")
    other.write_text(json.dumps(content))
    other.chmod(0o600)
    os.replace(other, path)


def named(registry: Registry, name: str) -> Principal:
    principal = registry.principal(name)
    assert principal is not None
    return principal


# Grants.


@given(st.tuples(*[components] * 4), st.tuples(*[components] * 4))
def test_a_grant_covers_equal_components_and_whole_wildcards_alone(
    granted: tuple[str, str, str, str], asked: tuple[str, str, str, str]
) -> None:
    expected = all(g in ("*", a) for g, a in zip(granted, asked, strict=True))
    assert Grant(*granted).covers(Scope(*asked)) is expected


@pytest.mark.parametrize(
    "scope",
    [
        Scope("acme2", "support", "alice"),
        Scope("acm", "support", "alice"),
        Scope("ACME", "support", "alice"),
        Scope("acme", "supporT", "alice"),
        Scope("acme:support", "", "alice"),
        Scope("acme", "support*", "alice"),
    ],
)
def test_a_neighbour_is_not_covered(scope: Scope) -> None:
    assert TEAM.covers(ALICE)
    assert not TEAM.covers(scope)


def test_look_alikes_are_other_values() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert not Grant(composed, "n", "s").covers(Scope(decomposed, "n", "s"))


# Built in.


def test_built_in_principals_and_what_they_may() -> None:
    registry = RegistryFile(Path("/nonexistent/keys.json"), MASTER).snapshot()
    local, gateway, agents = (named(registry, name) for name in ("local", "gateway", "agents"))
    assert {role for role in Role if registry.may(local, role, ALICE)} == set(Role)
    assert not any(registry.may(gateway, role, ALICE) for role in Role)
    assert {role for role in Role if registry.may(agents, role, ALICE)} == {Role.WRITER}
    assert (local.tier, agents.tier) == (Tier.OPERATOR, Tier.OPERATOR)
    assert [p.system for p in (local, gateway, agents)] == [False, False, True]
    assert registry.by_api_key(local_api_key(MASTER)) is local


def test_built_in_signers_are_known_by_the_same_master_alone() -> None:
    registry = RegistryFile(Path("/nonexistent/keys.json"), MASTER).snapshot()
    for name in ("local", "gateway", "agents"):
        headers = built_in_signer(MASTER, name).sign(Kind.GRANT, PAYLOAD)
        assert verify(Kind.GRANT, PAYLOAD, headers, registry.verification_key) == name
        other = built_in_signer(MasterKey(bytes(32)), name).sign(Kind.GRANT, PAYLOAD)
        assert verify(Kind.GRANT, PAYLOAD, other, registry.verification_key) is None
    with pytest.raises(ValueError, match="built-in"):
        built_in_signer(MASTER, "crm")


def test_a_signer_speaks_for_itself_and_a_gateway_for_holders_of_keys(keys: RegistryFile) -> None:
    keys.add("crm", [Role.WRITER], [TEAM], Tier.SERVICE)
    keys.add("docs", [Role.WRITER], [TEAM], Tier.SERVICE)
    keys.add("gone", [Role.WRITER], [TEAM], Tier.SERVICE)
    keys.revoke("gone")
    registry = keys.snapshot()
    names = ("crm", "docs", "gone", "local", "gateway", "agents", "unknown")
    allowed = {(s, a) for s in names for a in names if registry.may_speak_for(s, a)}
    assert allowed == {
        ("crm", "crm"),
        ("docs", "docs"),
        ("local", "local"),
        ("agents", "agents"),
        ("gateway", "gateway"),
        ("gateway", "crm"),
        ("gateway", "docs"),
        ("gateway", "local"),
    }


# The file.


def test_an_added_key_opens_what_was_granted(keys: RegistryFile) -> None:
    issued = keys.add("crm", [Role.WRITER, Role.READER], [TEAM], Tier.USER)
    registry = keys.snapshot()
    crm = registry.by_api_key(issued.key)
    assert crm == named(registry, "crm")
    assert crm is not None
    assert (crm.tier, crm.grants, crm.system, crm.speaks_for_others) == (
        Tier.USER, (TEAM,), False, False,
    )  # fmt: skip
    assert registry.may(crm, Role.WRITER, ALICE)
    assert not registry.may(crm, Role.AUDITOR, ALICE)
    assert not registry.may(crm, Role.WRITER, Scope("acme", "sales", "alice"))
    assert issued.secret is None
    assert registry.verification_key("crm") is None


@pytest.mark.parametrize("key", ["", "mnemolog_", "\ud800", "x" * 10_000])
def test_an_unknown_key_opens_nothing(keys: RegistryFile, key: str) -> None:
    issued = keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)
    registry = keys.snapshot()
    assert registry.by_api_key(key) is None
    assert registry.by_api_key(issued.key[:-1]) is None
    assert registry.by_api_key(issued.key + " ") is None
    crm = named(registry, "crm")
    assert crm.api_key_hash is not None
    assert registry.by_api_key(crm.api_key_hash) is None


def test_no_secret_stands_in_the_file(keys: RegistryFile, tmp_path: Path) -> None:
    issued = keys.add("crm", [Role.WRITER], [TEAM], Tier.USER, with_secret=True)
    content = (tmp_path / "keys.json").read_text()
    assert issued.secret is not None
    assert issued.key not in content
    assert issued.secret.hex() not in content
    assert issued.key not in repr(issued)
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    assert len(issued.key) >= 43


def test_direct_producers_sign_with_either_algorithm(keys: RegistryFile) -> None:
    issued = keys.add("crm", [Role.WRITER], [TEAM], Tier.SERVICE, with_secret=True)
    assert issued.secret is not None
    own = Ed25519Signer("docs", bytes(range(32)))
    keys.add("docs", [Role.WRITER], [TEAM], Tier.SERVICE, ed25519_public=own.public)
    registry = RegistryFile(keys._path, MASTER).snapshot()
    for signer in (HmacSigner("crm", issued.secret), own):
        headers = signer.sign(Kind.GRANT, PAYLOAD)
        assert verify(Kind.GRANT, PAYLOAD, headers, registry.verification_key) == signer.name


def test_a_revoked_principal_may_nothing_and_its_name_stays_taken(keys: RegistryFile) -> None:
    issued = keys.add("crm", list(Role), [TEAM], Tier.OPERATOR, with_secret=True)
    keys.revoke("crm")
    registry = keys.snapshot()
    crm = named(registry, "crm")
    assert crm.revoked
    assert registry.by_api_key(issued.key) is None
    assert registry.verification_key("crm") is None
    assert not any(registry.may(crm, role, ALICE) for role in Role)
    assert [principal.name for principal in keys.list()] == ["crm"]
    with pytest.raises(InvalidEvent, match="exists or existed"):
        keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)


def test_another_process_sees_changes_and_an_unchanged_file_is_not_read_again(
    keys: RegistryFile, tmp_path: Path
) -> None:
    other = RegistryFile(tmp_path / "keys.json", MASTER)
    before = other.snapshot()
    assert other.snapshot() is before
    issued = keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)
    after = other.snapshot()
    assert after.by_api_key(issued.key) is not None
    assert before.by_api_key(issued.key) is None, "a registry is a value"
    keys.revoke("crm")
    assert other.snapshot().by_api_key(issued.key) is None


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    def add(number: int) -> None:
        keys = RegistryFile(tmp_path / "keys.json", MASTER)
        keys.add(f"a{number}", [Role.WRITER], [TEAM], Tier.USER)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    listed = RegistryFile(tmp_path / "keys.json", MASTER).list()
    assert {principal.name for principal in listed} == {f"a{n}" for n in range(24)}


@pytest.mark.parametrize(
    ("name", "grant", "code"),
    [
        ("local", TEAM, "reserved_name"),
        ("gateway", TEAM, "reserved_name"),
        ("agents", TEAM, "reserved_name"),
        ("", TEAM, "empty"),
        ("*", TEAM, "wildcard"),
        ("a\0b", TEAM, "nul"),
        ("x" * 257, TEAM, "too_long"),
        ("crm", Grant("", "support", "*"), "empty"),
        ("crm", Grant("acme", "x" * 257, "*"), "too_long"),
        ("crm", Grant("acme", "support", "\ud800"), "lone_surrogate"),
    ],
)
def test_names_and_grants_that_cannot_be_are_refused(
    keys: RegistryFile, name: str, grant: Grant, code: str
) -> None:
    with pytest.raises(InvalidEvent) as caught:
        keys.add(name, [Role.WRITER], [grant], Tier.USER)
    assert caught.value.fault.code == code
    assert keys.list() == ()


def test_keys_that_cannot_be_are_refused(keys: RegistryFile) -> None:
    with pytest.raises(InvalidEvent, match="32 bytes"):
        keys.add("crm", [], [], Tier.USER, ed25519_public=b"short")
    with pytest.raises(InvalidEvent, match="choose one"):
        keys.add("crm", [], [], Tier.USER, ed25519_public=bytes(32), with_secret=True)
    with pytest.raises(InvalidEvent, match="there is no crm"):
        keys.revoke("crm")


# Fail closed.


def first(content: Any) -> Any:
    return content["principals"][0]


DAMAGE: list[Callable[[Any], object]] = [
    lambda content: content.update(version=2),
    lambda content: content.pop("principals"),
    lambda content: content.update(extra=1),
    lambda content: content["principals"].append(first(content)),
    lambda content: first(content).update(name="local"),
    lambda content: first(content).update(name="other"),  # its secret was wrapped for crm
    lambda content: first(content).update(tier="king"),
    lambda content: first(content).update(roles=["writer", "king"]),
    lambda content: first(content).update(system=True),
    lambda content: first(content)["grants"][0].update(tenants="*"),
    lambda content: first(content)["grants"][0].pop("tenant"),
    lambda content: first(content).pop("revoked"),
    lambda content: first(content)["signing"].update(wrapped="AAAA"),
    lambda content: first(content)["signing"].update(type="none"),
    lambda content: first(content).update(signing={"type": "ed25519", "public": "AAAA"}),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_lets_nobody_in(
    keys: RegistryFile, tmp_path: Path, damage: Callable[[Any], object]
) -> None:
    keys.add("crm", [Role.WRITER], [TEAM], Tier.USER, with_secret=True)
    keys.snapshot()
    path = tmp_path / "keys.json"
    edit(path, damage)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"keys\.json") as caught:
            keys.snapshot()
        assert caught.value.part == "registry"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null"])
def test_a_file_that_does_not_parse_lets_nobody_in(
    keys: RegistryFile, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(Unavailable, match=r"keys\.json"):
        keys.snapshot()
    with pytest.raises(Unavailable, match=r"keys\.json"):
        keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)
    assert path.read_bytes() == content


def test_a_file_that_others_may_write_or_that_is_none_lets_nobody_in(
    keys: RegistryFile, tmp_path: Path
) -> None:
    keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)
    keys.snapshot()
    path = tmp_path / "keys.json"
    path.chmod(0o620)
    with pytest.raises(Unavailable, match="chmod go-w"):
        keys.snapshot()
    path.unlink()
    path.mkdir()
    with pytest.raises(Unavailable, match="cannot open"):
        keys.snapshot()


def test_a_file_under_another_master_key_lets_nobody_in(keys: RegistryFile) -> None:
    keys.add("crm", [Role.WRITER], [TEAM], Tier.USER, with_secret=True)
    with pytest.raises(Unavailable, match="master key"):
        RegistryFile(keys._path, MasterKey(bytes(32))).snapshot()


def test_a_lost_file_leaves_the_built_in_principals_alone(
    keys: RegistryFile, tmp_path: Path
) -> None:
    issued = keys.add("crm", [Role.WRITER], [TEAM], Tier.USER)
    keys.snapshot()
    (tmp_path / "keys.json").unlink()
    registry = keys.snapshot()
    assert registry.by_api_key(issued.key) is None
    assert registry.principal("local") is not None
