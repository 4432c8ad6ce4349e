"""`site`: a copy, of the test's own, of one data directory that was told a few things."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cluster.conftest import cluster
from tests.tamper.site import Site

__all__ = ["cluster"]


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the copies are made of."""
    base = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        Site(base).tell()
    return base


@pytest.fixture
def site(told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A fresh copy, with its own state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "site" / "state"))
    shutil.copytree(told, tmp_path / "site")
    return Site(tmp_path / "site")
