"""The registry, and the cluster's fixtures beside it."""

from __future__ import annotations

from tests.cluster.conftest import cluster
from tests.registry.server import own_registry, registry_url

__all__ = ["cluster", "own_registry", "registry_url"]
