"""What each reason code means, in plain words, with what to do (fail closed, say why)."""

from __future__ import annotations

from schemas.errors import Fault
from schemas.kinds import Reason

_WORDS: dict[Reason, tuple[str, str, str]] = {
    Reason.BARRIER: (
        "",
        "a deletion of its subject covers everything published up to then",
        "publish it again, after the deletion, if it should be kept",
    ),
    Reason.TARGET_DELETED: (
        "",
        "it was deleted before it came",
        "use a new id if it should be kept after all",
    ),
    Reason.SOURCES_DELETED: (
        "justifications",
        "what it quotes was deleted",
        "assert it again from other sources",
    ),
    Reason.AWAITING_TARGET: (
        "",
        "its target has not come yet; it takes effect when it does",
        "nothing to do",
    ),
    Reason.AWAITING_PREMISES: (
        "justifications",
        "what it quotes has not come yet",
        "publish the observations it names",
    ),
    Reason.QUOTE_NOT_FOUND: (
        "justifications",
        "a quote does not stand in its source",
        "quote the source's own bytes, and give start and end in bytes of UTF-8",
    ),
    Reason.AMBIGUOUS_QUOTE: (
        "justifications",
        "the quote stands more than once in its source",
        "give start and end, in bytes of the source's UTF-8",
    ),
    Reason.PREMISE_FAILED: (
        "justifications",
        "a fact it rests on was refused",
        "rest it on facts that stand",
    ),
    Reason.TIMED_OUT: (
        "justifications",
        "what it quotes did not come in time",
        "publish the observations it names: it is admitted when they come",
    ),
    Reason.TIER: (
        "",
        "this adapter's tier may only propose such an assertion",
        "have an adapter of a higher tier assert it",
    ),
    Reason.DERIVATION: (
        "derivation.kind",
        "an inference is never more than a candidate",
        "assert what the source says, with derivation direct",
    ),
    Reason.FACTS_ONLY: (
        "justifications",
        "it rests on facts alone",
        "add a justification with a quote",
    ),
    Reason.UNCHECKABLE_QUOTE: (
        "justifications",
        "the host keeps the source's content, so its quotes cannot be checked",
        "publish the content itself",
    ),
    Reason.NOT_IN_FORCE: (
        "kind",
        "the rules for this kind are not in force in this version; it is kept",
        "nothing to do",
    ),
    Reason.NO_EFFECT: ("", "there was nothing that it could change", "nothing to do"),
    Reason.NOT_AUTHORISED: (
        "",
        "the record is another adapter's, of a higher tier",
        "do it as its own adapter, or as one of a tier not below",
    ),
    Reason.UNAUTHENTICATED: ("adapter", "the signature is missing or wrong", "sign the payload"),
}


def explain(reason: Reason) -> Fault | None:
    """The words for a reason; None for NONE."""
    if reason is Reason.NONE:
        return None
    field, detail, remedy = _WORDS.get(reason, ("", reason.code.replace("_", " "), "see the docs"))
    return Fault(reason.code, field, detail, remedy)
