"""What a strict parser found, said in this product's words (STYLE 7: field, limit, remedy)."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from schemas.errors import InvalidEvent, invalid

PATH_CHARACTERS = 200
AUTHORITY_FIELDS = frozenset(
    {"adapter", "authority", "grant", "role", "source", "tier", "trust", "trust_tier", "verified"}
)

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
}


def refusal(error: ValidationError, known: Iterable[str]) -> InvalidEvent:
    """The first fault of `error` as `InvalidEvent`; `known` are the field names at the top."""
    first = error.errors(include_url=False)[0]
    code, context = first["type"], first.get("ctx", {})
    field = path(first["loc"])
    if code == "missing":
        return invalid("missing_field", field, "a required field is missing", f"add {field}")
    if code == "extra_forbidden":
        return unknown_field(field, known if len(first["loc"]) == 1 else ())
    if code == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        if not isinstance(first["input"], str):
            return invalid("wrong_type", field, "not text", f"use one of: {allowed}", allowed)
        remedy = f"use one of: {allowed}"
        return invalid("unknown_symbol", field, "not a word of its vocabulary", remedy, allowed)
    if code in ("greater_than_equal", "less_than_equal"):
        detail = str(first["msg"]).removeprefix("Input ")
        return invalid(
            "out_of_range",
            field,
            detail,
            "send a number within the limit",
            str(context.get("ge", context.get("le"))),
        )
    if code == "too_long":
        limit = context["max_length"]
        return invalid("too_many", field, "too many items", f"send at most {limit}", str(limit))
    if code in _WANTED:
        found = "null" if first["input"] is None else f"JSON {_json_type(first['input'])}"
        wanted = _WANTED[code]
        remedy = f"send {wanted}" + (", or leave it out" if found == "null" else "")
        return invalid("wrong_type", field, f"found {found}, not {wanted}", remedy)
    if code in ("string_unicode", "invalid_key"):
        detail = "a key or word that is not Unicode text"
        return invalid("wrong_type", field, detail, "use whole characters")
    return invalid("wrong_type", field, str(first["msg"]), "see the event's schema")


def unknown_field(field: str, known: Iterable[str]) -> InvalidEvent:
    """The refusal of a field that no event of this kind has."""
    if field in AUTHORITY_FIELDS:
        remedy = "remove it: authority is the authenticated caller's, never a field of the event"
    else:
        names = ", ".join(sorted(known))
        remedy = f"remove it; known fields: {names}" if names else "remove it"
    return invalid("unknown_field", field, "no such field", remedy)


def path(loc: tuple[int | str, ...]) -> str:
    """`("a", 0, "b")` as `a[0].b`, cut where a caller's key is absurdly long."""
    parts: list[str] = []
    for step in loc:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)[:PATH_CHARACTERS].encode("utf-8", "backslashreplace").decode()


def _json_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
