"""`producers.importers.html_text`: words out of any HTML, in linear time."""

from __future__ import annotations

import time

import pytest

from producers.importers.html_text import untagged


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two<br>three", "one\ntwo\nthree"),
        ("a &lt;b&gt; &amp; &eacute; &#x6e2f;", "a <b> & é 港"),
        ("a<!-- <p>no</p> -->b", "ab"),
        ("<title>no</title><style>p {}</style>yes<SCRIPT>if (a<b) no()</Script>!", "yes!"),
        ("<a title='x > y' href=\"z>z\">link</a>", "link"),
        ('before <a href="never closed>after', "before after"),
        ("1 < 2 and a<b", "1 < 2 and a"),
        ("<![CDATA[x]]><!doctype html><?xml ?>y", "y"),
        ("<![", ""),
        ("x<", "x<"),
        ("  a \n b  ", "a b"),
    ],
)
def test_tags_go_and_words_stay(html: str, text: str) -> None:
    assert untagged(html) == text


@pytest.mark.parametrize("unit", ["<a ", "<!--", "<![", "<", "<a <", "<a '", "<a '\"", "<script>"])
@pytest.mark.parametrize("end", ["", ">", "'", "\"'>", "-->"])
def test_no_text_takes_more_than_linear_time(unit: str, end: str) -> None:
    began = time.process_time()
    untagged(unit * (200_000 // len(unit)) + end)
    assert time.process_time() - began < 5  # the library's parser: minutes
