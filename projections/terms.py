"""Counting a query's terms in many texts at once (SPEC §8, "lexical"); pure.

Rules
- The count of a term in a text is that of `tokens(text)`, however it was come by.
- ASCII texts stand one behind the other in one string of words. Each word's first eight bytes make
  a number in a column, so a term without joiners is sought in all texts by one comparison of
  columns; only what begins like it and is as long is compared to its end.
- Other texts, and terms with joiners, are cut into tokens where the term occurs at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projections.text import ASCII_WORDS, TOKEN_LIMIT, search_form, tokens_of

_HEAD: Final = 8
_BLANK: Final = ord(" ")
_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(_HEAD + 1)], np.uint64)


class Occurrences(NamedTuple):
    """Where a term occurs: places in ascending order, and how often in each."""

    places: NDArray[np.int64]
    counts: NDArray[np.int64]


class Texts:
    """Texts at the places 0, 1, 2, ..., ready to be searched; they never change.

    `lengths` are the characters of each search form. `size` is about how many bytes all this takes.
    """

    lengths: NDArray[np.int64]
    _texts: Sequence[str]
    _foreign: dict[int, str]
    _words: _Words

    def __init__(self, texts: Sequence[str], before: Texts | None = None) -> None:
        """`before` is of texts with which these may begin: then only the further ones are read."""
        if before is not None and texts[: len(before)] != before._texts:
            before = None
        known = 0 if before is None else len(before)
        further = texts[known:]
        self._texts = texts
        self._foreign = {} if before is None else dict(before._foreign)
        lengths = list(map(len, further))  # an ASCII text is as long as its search form
        plain = list(further)
        for at, text in enumerate(further):
            if not text.isascii():
                form = self._foreign[known + at] = search_form(text)
                lengths[at] = len(form)
                plain[at] = form if form.isascii() else ""
        self.lengths = np.array(lengths, np.int64)
        if before is not None:
            self.lengths = np.concatenate((before.lengths, self.lengths))
        self._words = _Words(plain, None if before is None else before._words)
        self.size = int(self.lengths.sum()) + self._words.size + 120 * len(texts)

    def __len__(self) -> int:
        return len(self._texts)

    def _form(self, place: int) -> str:
        return self._foreign[place] if place in self._foreign else search_form(self._texts[place])

    def occurrences(self, terms: Sequence[str]) -> list[Occurrences]:
        """For each (distinct) term, where it occurs."""
        others = [term for term in terms if not _is_plain(term)]
        cut, words = self._cut(terms, others), self._words.firsts()
        found = []
        for term in terms:
            counts = cut.get(term)
            if counts is None:
                counts = np.zeros(len(self._texts), np.int64)
            if _is_plain(term) and term.isascii():
                counts = counts + self._words.count(term.encode(), words)
            places = np.flatnonzero(counts)
            found.append(Occurrences(places, counts[places]))
        return found

    def _cut(self, terms: Sequence[str], others: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """Counts in the texts that must be cut into tokens to be counted."""
        found: dict[str, NDArray[np.int64]] = {}
        for place in range(len(self._texts)) if others else self._foreign:
            form = self._form(place)
            sought = [term for term in (others if form.isascii() else terms) if term in form]
            if not sought:
                continue
            words = Counter(tokens_of(form))
            for term in sought:
                if term in words:
                    counts = found.setdefault(term, np.zeros(len(self._texts), np.int64))
                    counts[place] = words[term]
        return found


def _is_plain(term: str) -> bool:
    """Whether a term is a word that no joiner and no cut could have part in."""
    return term.isalnum() and len(term) < TOKEN_LIMIT


class _Words:
    """The words of ASCII texts: where each begins, and how long it is (or that it is too long)."""

    _length: int
    _joined: bytes
    _starts: NDArray[np.int32]
    _lengths: NDArray[np.uint16]
    _ends: NDArray[np.int32]

    def __init__(self, texts: Sequence[str], before: _Words | None) -> None:
        """The words of `before`'s texts and of these."""
        part = " ".join(["", *texts, ""]).encode().translate(ASCII_WORDS)
        blanks = np.flatnonzero(np.frombuffer(part, np.uint8) == _BLANK)
        lengths = np.diff(blanks) - 1
        kept = lengths > 0
        starts = (blanks[:-1] + 1)[kept].astype(np.int32)
        lengths = np.minimum(lengths[kept], TOKEN_LIMIT).astype(np.uint16)
        ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int32)
        if before is not None:
            cut = before._length - 1  # the last blank there is the first one here
            part = before._joined[:cut] + part
            starts = np.concatenate((before._starts, starts + np.int32(cut)))
            lengths = np.concatenate((before._lengths, lengths))
            ends = np.concatenate((before._ends, ends + np.int32(cut)))
        self._length, self._joined = len(part), part + b" " * _HEAD
        self._heads = _heads(self._joined)
        self._starts, self._lengths, self._ends = starts, lengths, ends
        self.size = len(part) + 6 * len(starts) + 4 * len(ends)

    def firsts(self) -> NDArray[np.uint64]:
        """Each word's first eight bytes as a number: made for a question, eight bytes a word."""
        return self._heads[self._starts] & _MASKS[np.minimum(self._lengths, _HEAD)]

    def count(self, word: bytes, firsts: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How often an ASCII word occurs at each place."""
        hits = np.flatnonzero(firsts == _number(word[:_HEAD]))
        if len(word) >= _HEAD:
            hits = hits[self._lengths[hits] == len(word)]
        for at in range(_HEAD, len(word), _HEAD):
            part = word[at : at + _HEAD]
            seen = self._heads[self._starts[hits] + at] & _MASKS[len(part)]
            hits = hits[seen == _number(part)]
        places = np.searchsorted(self._ends, self._starts[hits], side="right")
        return np.bincount(places, minlength=len(self._ends))


def _heads(padded: bytes) -> NDArray[np.uint64]:
    """At each place the eight bytes from there on, as a number."""
    return np.ndarray((len(padded) - _HEAD + 1,), "<u8", padded, strides=(1,))


def _number(part: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(part, "little"))
