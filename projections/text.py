"""Words of a text, for finding it again (SPEC §8, "lexical"); pure, and the same on every host.

Rules
- Documents give `tokens`, queries give `query_terms`; every query term of a text is a token of that
  text, so a text is always found by its own words, and both sides normalise alike: NFKC, casefold,
  invisible characters removed, NFKC. This folds *search keys* only; stored text is never changed.
- User text is never grammar: every character is a letter of a word, or it separates words.
- A word is a run of letters, digits and marks. Words held together by a joiner (`foo_bar`, a UUID,
  `C:\\tmp`, `ship-check`, `don't`) are tokens as a whole and in their parts; a trailing `+` or `#`
  stays (`c++`). No word is a stop word. Words are cut to 256 characters on both sides.
- Scripts without spaces are also cut into grams, and other words that touch them stand alone
  (`港A-17区`): Han and kana by characters, into singles and pairs; Hangul the same, besides whole
  words; Thai and its kin by clusters of a character with its marks, into singles, pairs, triples.
  A query uses the longest grams that a run allows, so one shared letter is no hit; a lone Han
  character between kana is a word of its own.
- Symbols (emoji, new or private characters) are one token each; punctuation alone is none.
- Linear time: runs of more than 30 combining marks are cut before normalising, which would
  otherwise sort them in quadratic time (UAX #15, stream-safe text).

Unicode's tables are the interpreter's: an index belongs to the `TOKENISER` that built it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple

TOKENISER: Final = f"1/{unicodedata.unidata_version}"
"""Version of these rules and of the Unicode tables; a new one means: rebuild the index."""

TOKEN_LIMIT: Final = 256
"""Characters of a token that count."""

TERM_LIMIT: Final = 256
"""Distinct terms of a query that count."""

_JOINERS: Final = "-_.:/\\@'|&~=+#"
_DROPPED_AT_END: Final = "-_.:/\\@'|&~="
_MARKS_LIMIT: Final = 30

_HAN: Final = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_KANA: Final = (
    "\u3041-\u309f\u30a1-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\U0001aff0-\U0001b16f"
)
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
_CLUSTERED: Final = (  # Thai, Lao, Myanmar, Khmer, Tai Le, Lue, Tham and Viet, Javanese, Cham
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua980-\ua9ff\uaa00-\uaadf"
)
_UNSPACED: Final = re.compile(f"[{_HAN}{_KANA}{_HANGUL}{_CLUSTERED}]")
_RUN: Final = re.compile(
    f"(?P<pairs>[{_HAN}{_KANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<clusters>[{_CLUSTERED}]+)"
    f"|[^{_HAN}{_KANA}{_HANGUL}{_CLUSTERED}]+"
)
_LONE_HAN: Final = re.compile(f"(?<![{_HAN}])[{_HAN}](?![{_HAN}])")
_PART: Final = re.compile(f"[^{re.escape(_JOINERS)}]+")


def _ascii_table(kept: str) -> bytes:
    """A translation of ASCII: lower-case letters, digits and `kept` stay, the rest is a blank."""
    return bytes(
        ord(char.lower()) if char.isalnum() or char in kept else ord(" ")
        for char in map(chr, range(128))
    ).ljust(256)


_ASCII_FORM: Final = _ascii_table(_JOINERS)
ASCII_WORDS: Final = _ascii_table("")
"""Translates an ASCII text, or its search form, into its words between blanks; as many bytes."""


_INVISIBLE: Final = (  # besides format characters: fillers, variation selectors, tags
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff"
)
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
_BLANKS: Final = frozenset(
    {"Zs", "Zl", "Zp", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sc", "Sk", "Sm", "Cc", "Cf", "Cs"}
)


class _Patterns(NamedTuple):
    """Expressions over Unicode's categories."""

    excess_marks: re.Pattern[str]
    invisible: re.Pattern[str]
    chunk: re.Pattern[str]
    cluster: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Made from the interpreter's tables when the first text beyond ASCII comes (some 40 ms).

    Only the two planes with marks and blanks are read; the others hold Han, tags and symbols.
    """
    kinds = [unicodedata.category(chr(point)) for point in range(0x20000)]
    marks, blanks = _ranges(kinds, _MARKS), _ranges(kinds, _BLANKS)
    others = _ranges(kinds, set(kinds) - _MARKS) + "\U00020000-\U0010ffff"
    joiners = re.escape(_JOINERS)
    # A mark is `[^{others}]`, which the engine decides in one step for most characters; `[{marks}]`
    # would compare each with a hundred ranges.
    return _Patterns(
        excess_marks=re.compile(f"[^{others}][^{others}]{{{_MARKS_LIMIT},}}"),
        invisible=re.compile(f"[{_ranges(kinds, {'Cf'})}{_INVISIBLE}]+"),
        chunk=re.compile(f"[\\w{marks}{joiners}]+|[^\\w{marks}{joiners}{blanks}]"),
        cluster=re.compile(f"[{others}][^{others}]*|[^{others}]+"),
    )


def _ranges(kinds: Sequence[str], wanted: Set[str]) -> str:
    """The characters of the wanted categories, as the inside of a regular expression's class."""
    found, point = "", 0
    for is_wanted, group in groupby(kinds, wanted.__contains__):
        end = point + len(list(group))
        if is_wanted:
            found += f"\\U{point:08x}-\\U{end - 1:08x}"
        point = end
    return found


def search_form(text: str) -> str:
    """The text as it is searched; every token of the text is a substring of it."""
    if not text.isascii():
        patterns = _patterns()
        safe = patterns.excess_marks.sub(lambda run: run[0][:_MARKS_LIMIT], text)
        folded = patterns.invisible.sub("", unicodedata.normalize("NFKC", safe).casefold())
        text = unicodedata.normalize("NFKC", folded)
        text = text.replace("\N{HYPHEN}", "-").replace("\N{MINUS SIGN}", "-").replace("’", "'")
    return text.encode().translate(_ASCII_FORM).decode() if text.isascii() else text


def tokens(text: str) -> list[str]:
    """Every token of a document as often as it occurs; their order means nothing."""
    return tokens_of(search_form(text))


def tokens_of(form: str) -> list[str]:
    """The tokens of the document that has this search form."""
    return _words(form, query=False)


class Query(NamedTuple):
    """The distinct terms of a query in order; `truncated` if there were more than `TERM_LIMIT`."""

    terms: tuple[str, ...]
    truncated: bool


def query_terms(text: str) -> Query:
    """What a query searches for; no terms where it holds neither word nor symbol."""
    distinct = list(dict.fromkeys(_words(search_form(text), query=True)))
    return Query(tuple(distinct[:TERM_LIMIT]), len(distinct) > TERM_LIMIT)


def _words(form: str, *, query: bool) -> list[str]:
    """The tokens of a search form, or of a query's."""
    chunks = form.split() if form.isascii() else _patterns().chunk.findall(form)
    if not form.isascii() and _UNSPACED.search(form):
        found = [word for chunk in chunks for word in _split_scripts(chunk, query=query)]
    else:
        found = [chunk for chunk in chunks if chunk.isalnum()]
        if len(found) != len(chunks):
            for chunk in chunks:
                if not chunk.isalnum():
                    found += _identifier(chunk)
    if len(form) > TOKEN_LIMIT and max(map(len, found), default=0) > TOKEN_LIMIT:
        return [word[:TOKEN_LIMIT] for word in found]
    return found


def _identifier(chunk: str) -> list[str]:
    """A chunk with joiners as a whole and in its parts; only the word if there is just one."""
    parts = _PART.findall(chunk)
    whole = chunk.lstrip(_JOINERS).rstrip(_DROPPED_AT_END)
    return parts if not parts or whole == parts[0] else [whole, *parts]


def _split_scripts(chunk: str, *, query: bool) -> list[str]:
    """The tokens of a chunk that may hold several scripts."""
    found: list[str] = []
    for run in _RUN.finditer(chunk):
        word = run[0]
        match run.lastgroup:
            case "pairs":
                found += _grams(word, 2, query=query)
                if query and len(word) > 1:
                    found += _LONE_HAN.findall(word)
            case "hangul":
                found += _grams(word, 2, query=query)
                if len(word) > 2:
                    found.append(word)
            case "clusters":
                found += _grams(_patterns().cluster.findall(word), 3, query=query)
            case _:
                found += _identifier(word)
    return found


def _grams(units: Sequence[str], longest: int, *, query: bool) -> list[str]:
    """Grams of 1 to `longest` neighbouring units; for a query those of the greatest size alone."""
    greatest = min(longest, len(units))
    found: list[str] = []
    for size in [greatest] if query else range(1, greatest + 1):
        found += map("".join, zip(*(units[start:] for start in range(size)), strict=False))
    return found
