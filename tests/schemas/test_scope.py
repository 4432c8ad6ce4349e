"""Scopes pack injectively and land on the same partition for ever (SPEC §1, §2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.scope import Scope, pack, pack_scope, pack_subject, partition_of

components = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["a", "a:", ":a", "a/b", "x\\y", "t1", "t10", "", "\x00", "\x00\x00\x00\x01"]
)
tuples = st.lists(components, max_size=4).map(tuple)


@given(tuples, tuples)
def test_two_tuples_pack_alike_only_if_they_are_equal(
    a: tuple[str, ...], b: tuple[str, ...]
) -> None:
    assert (pack(*a) == pack(*b)) == (a == b)


@given(tuples, tuples)
def test_no_tuple_of_one_arity_is_a_prefix_of_another(
    a: tuple[str, ...], b: tuple[str, ...]
) -> None:
    if len(a) == len(b) and a != b:
        assert not pack(*b).startswith(pack(*a))


def test_layout_is_pinned() -> None:
    scope = Scope("acme", "support", "alice")
    subject = b"\0\0\0\x04acme\0\0\0\x07support\0\0\0\x05alice"
    assert pack_subject(scope) == subject
    assert pack_scope(scope) == subject + b"\0\0\0\x04main"
    assert pack("a", "é") == b"\0\0\0\x01a\0\0\0\x02\xc3\xa9"


@pytest.mark.parametrize(
    ("subject", "of_4", "of_16", "of_97"),
    [
        (("acme", "support", "alice"), 2, 2, 88),
        (("t1", "x:y", "s"), 1, 5, 41),
        (("t1:x", "y", "s"), 3, 7, 50),
        (("a", "b", "c"), 0, 4, 31),
        (("ab", "", "c"), 2, 10, 51),
        (("港", "検査", "\u00e9"), 1, 9, 29),
        (("t", "n", "e\u0301"), 1, 5, 14),
        (("t", "n", "\u00e9"), 3, 7, 36),
        (("x" * 256, "*x", "a/b\\c"), 0, 0, 75),
    ],
)
def test_partitions_are_pinned_by_golden_vectors(
    subject: tuple[str, str, str], of_4: int, of_16: int, of_97: int
) -> None:
    scope = Scope(*subject)
    assert [partition_of(scope, count) for count in (1, 4, 16, 97)] == [0, of_4, of_16, of_97]


def test_all_branches_of_a_subject_share_its_partition_but_not_its_scope_key() -> None:
    main, branch = Scope("acme", "support", "alice"), Scope("acme", "support", "alice", "try-2")
    assert partition_of(main, 97) == partition_of(branch, 97)
    assert pack_subject(main) == pack_subject(branch)
    assert pack_scope(main) != pack_scope(branch)


def test_keys_are_never_cut() -> None:
    a, b = "x" * 255 + "a", "x" * 255 + "b"
    assert pack(a) != pack(b)
    assert len(pack(a)) == 4 + 256
    assert pack("deadbeef-1") != pack("deadbeef-2")
