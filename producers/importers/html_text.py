"""The text of HTML, for mail that has no plain part: words between tags, blocks on lines.

Written for what people send, not for the standard: tags, comments and declarations go, entities are
decoded, and what `script`, `style` and `title` hold is left out. Every text has a result, in linear
time: the standard library's parser takes minutes for 60 kB of `<a `, and fails at `<![`. A tag or
comment that never ends hides nothing that stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from producers.importers.lines import one_line

_RAW = frozenset({"script", "style"})
_SILENT = frozenset({"title"})
_BREAKS = frozenset({"br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "blockquote"})

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)|<[!?/]")
_STOP = re.compile("[\"'>]")


def untagged(html: str) -> str:
    """The words of an HTML text, one line a block, none of them empty."""
    lines = (one_line(line) for line in "".join(_words(html)).split("\n"))
    return "\n".join(line for line in lines if line)


def _words(html: str) -> Iterator[str]:
    """Text and line breaks in order."""
    ends = _Ends(html)
    silent = at = 0
    while (tag := _TAG.search(html, at)) is not None:
        if not silent:
            yield _said(html[at : tag.start()])
        name = (tag[2] or "").lower()
        if html.startswith("<!--", tag.start()):
            end = html.find("-->", tag.end())
            at = len(html) if end < 0 else end + 3
            continue
        at = ends.after(tag.end())
        if name in _BREAKS:
            yield "\n"
        elif name in _SILENT:
            silent = max(0, silent - 1) if tag[1] else silent + 1
        elif name in _RAW and not tag[1]:
            close = re.compile(f"</{name}", re.IGNORECASE).search(html, at)
            at = len(html) if close is None else close.start()
    if not silent:
        yield _said(html[at:])


def _said(text: str) -> str:
    """Text between tags: white space is a blank, and entities are what they stand for."""
    return re.sub(r"\s+", " ", unescape(text))


class _Ends:
    """Where tags end: at a `>` outside quotes, or at the next one if a quote is never closed."""

    def __init__(self, html: str) -> None:
        self._html = html
        self._unclosed = -1  # up to here every tag meets a quote that is never closed

    def after(self, at: int) -> int:
        """The place after the tag that stands open at `at`; the end if it is never closed."""
        start = at
        while at >= self._unclosed and (stop := _STOP.search(self._html, at)) is not None:
            if stop[0] == ">":
                return stop.end()
            close = self._html.find(stop[0], stop.end())
            if close < 0:
                self._unclosed = stop.start()
                break
            at = close + 1
        end = self._html.find(">", start)
        return len(self._html) if end < 0 else end + 1
