"""A large ledger is verified by two processes; what they find is what one finds."""

from __future__ import annotations

import sys

import pytest
import structlog.testing

from processors import verify
from tests.tamper.site import ELSEWHERE, HERE, Site
from tests.tamper.test_ledger import TAMPERED, told


@pytest.mark.parametrize("deep", [False, True], ids=["verify", "deep"])
@pytest.mark.parametrize("partition", [HERE, ELSEWHERE])
@pytest.mark.parametrize("tampered", ["a bent bit", "entries cut out", "a false successor"])
def test_two_processes_find_what_one_finds(
    site: Site, tampered: str, partition: int, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, what, sequence, _ = TAMPERED[tampered]
    site.put(partition, change(site.ledger(partition)))
    one = site.verify(deep)
    monkeypatch.setattr(verify, "WORTH_IT", 0)
    with structlog.testing.capture_logs() as logs:
        two = site.verify(deep)
    assert two == one
    assert told(list(two.damage))[0][:3] == (partition, sequence, what)
    assert "verifying in one process" not in [line["event"] for line in logs]


def test_a_whole_ledger_is_well_by_two_processes_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.change_key(HERE, b"damaged".ljust(60, b"."))
    one = site.verify(deep=True)
    monkeypatch.setattr(verify, "WORTH_IT", 0)
    assert site.verify(deep=True) == one
    assert [finding.what for finding in one.damage] == ["key"]


def test_where_the_second_process_fails_the_first_reads_by_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "WORTH_IT", 0)
    monkeypatch.setattr(sys, "executable", "false")
    with structlog.testing.capture_logs() as logs:
        for deep in (False, True):
            assert site.verify(deep).ok
    assert [line["event"] for line in logs].count("verifying in one process") == 2
