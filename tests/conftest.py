"""Fixtures that every test may ask for; each is defined in the module named after its subject."""

from __future__ import annotations
