"""Fixtures that every test may ask for; each is defined in the module named after its subject.

Generated tests have no deadline (a busy machine is no fault) and print what repeats a failure.
"""

from __future__ import annotations

from hypothesis import settings

from tests.broker import kafka_bootstrap, own_kafka

__all__ = ["kafka_bootstrap", "own_kafka"]

settings.register_profile("mnemolog", deadline=None, print_blob=True)
settings.load_profile("mnemolog")
