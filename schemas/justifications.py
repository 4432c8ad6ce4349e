"""The form of justifications (SPEC §2 "Assertion", I2): what can be said without the sources.

An assertion has one or more justifications, each one or more premises, 64 in all. A premise names
exactly one source: a fact, or an observation with the words quoted from it and, unless they occur
there only once, their span [start, end) in bytes of its UTF-8 content.
"""

from __future__ import annotations

from schemas.errors import invalid
from schemas.events import Premise
from schemas.limits import PREMISES, QUOTES_BYTES
from schemas.text import check_id, check_text


def check_justifications(justifications: tuple[tuple[Premise, ...], ...]) -> None:
    """Raise `InvalidEvent`, naming the premise, unless all of this holds."""
    if not justifications:
        raise invalid(
            "empty",
            "justifications",
            "a fact needs a justification",
            "give at least one, with at least one premise",
            "at least 1",
        )
    count = 0
    quoted = 0
    for i, premises in enumerate(justifications):
        if not premises:
            raise invalid(
                "empty",
                f"justifications[{i}].premises",
                "a justification needs a premise",
                "quote an observation or name a fact",
                "at least 1",
            )
        count += len(premises)
        if count > PREMISES:
            raise invalid(
                "too_many",
                f"justifications[{i}].premises",
                "too many premises in all",
                f"send at most {PREMISES} in one assertion",
                f"{PREMISES} premises",
            )
        for j, premise in enumerate(premises):
            quoted += _premise(premise, f"justifications[{i}].premises[{j}]")
    if quoted > QUOTES_BYTES:
        raise invalid(
            "too_long",
            "justifications",
            f"{quoted} bytes of quotes in all",
            f"quote at most {QUOTES_BYTES} bytes in one assertion",
            f"{QUOTES_BYTES} bytes",
        )


def _premise(premise: Premise, at: str) -> int:
    """The quote's size in bytes, 0 for a fact."""
    if premise.observation is None:
        if premise.fact is None:
            raise invalid(
                "missing_field",
                f"{at}.observation",
                "the premise names no source",
                "name an observation with a quote, or a fact",
            )
        for value, name in (
            (premise.quote, "quote"),
            (premise.start, "start"),
            (premise.end, "end"),
        ):
            if value is not None:
                raise invalid(
                    "conflicting_fields",
                    f"{at}.{name}",
                    "a premise on a fact has no quote",
                    "leave it out, or name an observation instead of the fact",
                )
        check_id(premise.fact, f"{at}.fact")
        return 0
    if premise.fact is not None:
        raise invalid(
            "conflicting_fields",
            f"{at}.fact",
            "the premise names two sources",
            "name an observation or a fact, and make two premises of two sources",
        )
    check_id(premise.observation, f"{at}.observation")
    if premise.quote is None:
        raise invalid(
            "missing_field",
            f"{at}.quote",
            "the premise quotes nothing",
            "quote the words of the observation that say it",
        )
    size = check_text(premise.quote, f"{at}.quote", QUOTES_BYTES)
    _span(premise.start, premise.end, size, at)
    return size


def _span(start: int | None, end: int | None, size: int, at: str) -> None:
    if start is None or end is None:
        if start is None and end is None:
            return
        name = "start" if start is None else "end"
        raise invalid(
            "missing_field",
            f"{at}.{name}",
            "one end of the span is missing",
            "give start and end, or neither where the quote occurs once",
        )
    if start < 0:
        raise invalid(
            "out_of_range",
            f"{at}.start",
            f"the span starts at {start}",
            "count bytes of UTF-8 from 0",
            "at least 0",
        )
    if end - start != size:
        raise invalid(
            "span_mismatch",
            f"{at}.end",
            f"the span has {end - start} bytes, the quote {size}",
            "count bytes of UTF-8, end exclusive: end = start + size of the quote",
            f"{size} bytes",
        )
