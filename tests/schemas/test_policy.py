"""Policy: defaults of SPEC §4, additions that extend, files that fail closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.canonical import canonical
from schemas.errors import Unavailable
from schemas.kinds import Decision, Reason, Tier
from schemas.policy import Policy, load

FULL = """
multi_valued = ["Skill ", "c\u200b++"]
fold_values = true
quarantine_hides = false
clock_skew_ms = 250
parked_timeout_seconds = 60
[accepts]
untrusted = ["direct"]
service = []
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("tier", "derivation", "cap", "reason"),
    [
        (Tier.UNTRUSTED, "direct", Decision.CANDIDATE, Reason.TIER),
        (Tier.UNTRUSTED, "derived", Decision.CANDIDATE, Reason.TIER),
        (Tier.UNTRUSTED, "inferred", Decision.CANDIDATE, Reason.DERIVATION),
        (Tier.USER, "direct", Decision.ACCEPTED, Reason.NONE),
        (Tier.USER, "derived", Decision.CANDIDATE, Reason.TIER),
        (Tier.USER, "inferred", Decision.CANDIDATE, Reason.DERIVATION),
        (Tier.SERVICE, "direct", Decision.ACCEPTED, Reason.NONE),
        (Tier.SERVICE, "derived", Decision.ACCEPTED, Reason.NONE),
        (Tier.SERVICE, "inferred", Decision.CANDIDATE, Reason.DERIVATION),
        (Tier.OPERATOR, "direct", Decision.ACCEPTED, Reason.NONE),
        (Tier.OPERATOR, "derived", Decision.ACCEPTED, Reason.NONE),
        (Tier.OPERATOR, "inferred", Decision.CANDIDATE, Reason.DERIVATION),
    ],
)
def test_tier_and_derivation_alone_cap_an_assertion(
    tier: Tier, derivation: str, cap: Decision, reason: Reason
) -> None:
    policy = Policy()
    assert policy.cap(tier, derivation) is cap
    assert policy.cap_reason(tier, derivation) is reason


def test_a_derivation_no_one_knows_is_never_accepted() -> None:
    for tier in Tier:
        assert Policy().cap(tier, "certain") is Decision.CANDIDATE


def test_built_in_cardinality() -> None:
    policy = Policy()
    for attribute in ("tag", "tags", "label", "labels", "interest", "interests"):
        assert not policy.single_valued(attribute)
    assert policy.single_valued("city")


def test_an_absent_file_is_the_built_in_policy(tmp_path: Path) -> None:
    assert load(tmp_path / "policy.toml") == Policy()
    assert load(written(tmp_path, "")) == Policy()


def test_a_file_changes_what_it_names_and_extends_the_attributes(tmp_path: Path) -> None:
    policy = load(written(tmp_path, FULL))
    assert not policy.single_valued("skill")
    assert not policy.single_valued("c++")
    assert not policy.single_valued("tags")
    assert policy.fold_values
    assert not policy.quarantine_hides
    assert (policy.clock_skew_ms, policy.parked_timeout_s) == (250, 60)
    assert policy.cap(Tier.UNTRUSTED, "direct") is Decision.ACCEPTED
    assert policy.cap(Tier.SERVICE, "direct") is Decision.CANDIDATE
    assert policy.cap(Tier.USER, "direct") is Decision.ACCEPTED


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("clock_skew = 1", "clock_skew"),
        ("clock_skew_ms = -1", "clock_skew_ms"),
        ("clock_skew_ms = true", "clock_skew_ms"),
        ("clock_skew_ms = 1.5", "clock_skew_ms"),
        ("parked_timeout_seconds = 0", "parked_timeout_seconds"),
        ('multi_valued = "tag"', "multi_valued"),
        ('multi_valued = ["\u200b"]', "multi_valued"),
        ("[accepts]\nroot = []", "accepts.root"),
        ('[accepts]\nuser = ["sure"]', "accepts.user"),
        ('[accepts]\noperator = ["inferred"]', "inferred"),
        ("fold_values = ", "TOML"),
    ],
)
def test_a_file_not_understood_stops_the_process_and_names_the_key(
    tmp_path: Path, text: str, named: str
) -> None:
    with pytest.raises(Unavailable) as caught:
        load(written(tmp_path, text))
    assert caught.value.part == "policy"
    assert named in caught.value.detail
    assert caught.value.remedy


def test_a_file_that_cannot_be_read_is_not_the_built_in_policy(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot read"):
        load(tmp_path)
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Unavailable, match="cannot read"):
        load(path)
    dangling = tmp_path / "link.toml"
    dangling.symlink_to(tmp_path / "gone.toml")
    with pytest.raises(Unavailable, match="cannot read"):
        load(dangling)


def test_the_version_covers_every_choice() -> None:
    base = Policy()
    others = [
        Policy(accepts=(frozenset(),) * len(Tier)),
        Policy(multi_valued=base.multi_valued | {"skill"}),
        Policy(fold_values=True),
        Policy(quarantine_hides=False),
        Policy(clock_skew_ms=1),
        Policy(parked_timeout_s=1),
    ]
    assert len(others) == len(Policy.__struct_fields__)
    versions = {policy.version for policy in (base, *others)}
    assert len(versions) == len(others) + 1
    assert all(len(version) == 8 for version in versions)
    assert base.version == Policy().version


def test_the_built_in_version_is_pinned() -> None:
    assert Policy().version.hex() == "37f6b222d48474c5"


def test_what_is_shown_is_plain_json_with_limits() -> None:
    shown = Policy().describe()
    assert canonical(shown)
    assert shown["accepts"] == {
        "untrusted": [],
        "user": ["direct"],
        "service": ["derived", "direct"],
        "operator": ["derived", "direct"],
    }
    limits = shown["limits"]
    assert isinstance(limits, dict)
    assert limits["content_bytes"] == 1_048_576
    assert limits["claims"] == 256
