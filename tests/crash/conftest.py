"""Fixtures of the crash tests on a broker."""

from __future__ import annotations

from tests.cluster.conftest import cluster

__all__ = ["cluster"]
