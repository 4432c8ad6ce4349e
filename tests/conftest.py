"""Fixtures that every test may ask for; each is defined in the module named after its subject.

Generated tests have no deadline (a busy machine is no fault) and print what repeats a failure.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

HELPERS = [f"tests.{path.name}" for path in Path(__file__).parent.iterdir() if path.is_dir()]
pytest.register_assert_rewrite(*HELPERS)  # so that theirs say what they saw, too

from tests.broker import kafka_bootstrap, own_kafka  # noqa: E402

__all__ = ["kafka_bootstrap", "own_kafka"]

settings.register_profile("mnemolog", deadline=None, print_blob=True)
settings.load_profile("mnemolog")
