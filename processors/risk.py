"""The risk scan (SPEC §4): flags of a text, from that text alone; they change no decision.

Instruction-like text and secrets are quoted data wherever they come up: the flags say so to
auditors and to whoever renders them. A flag never depends on another record's arrival.

The time is linear in the text, whatever it is: no blank of a pattern runs over lines from each of
them, or one event would hold up its partition for hours.
"""

from __future__ import annotations

import re

INSTRUCTION = "instruction_like"
SECRET = "secret"

_INSTRUCTION_HINTS = ("ignore", "system:", "you are now", "treat all", "disregard", "<|")
_SECRET_HINTS = ("-----begin", "akia", "password", "secret", "token", "api_key", "api key")
_INSTRUCTION = re.compile(
    r"ignore (all |any )?(the )?(previous|prior|above)|^[^\S\n]*system:|you are now|<\|"
    r"|disregard (all|the|any|previous)|treat all \w+ as",
    re.MULTILINE,
)
_SECRET = re.compile(
    r"-----begin [a-z ]*private key-----|\bakia[0-9a-z]{16}\b"
    r"|\b(password|secret|token|api[_ ]key)\b\s*[:=]\s*\S{6,}"
)


def scan(text: str) -> tuple[str, ...]:
    """The flags of a text, sorted; literals first, patterns only where one was met."""
    lowered = text.lower()
    return tuple([flag for flag, hints, pattern in _RISKS if _met(lowered, hints, pattern)])


def _met(lowered: str, hints: tuple[str, ...], pattern: re.Pattern[str]) -> bool:
    for hint in hints:
        if hint in lowered:
            return pattern.search(lowered) is not None
    return False


_RISKS = (
    (INSTRUCTION, _INSTRUCTION_HINTS, _INSTRUCTION),
    (SECRET, _SECRET_HINTS, _SECRET),
)
