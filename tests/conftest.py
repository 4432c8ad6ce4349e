"""Fixtures that every test may ask for; each is defined in the module named after its subject."""

from __future__ import annotations

from tests.broker import kafka_bootstrap, own_kafka

__all__ = ["kafka_bootstrap", "own_kafka"]
