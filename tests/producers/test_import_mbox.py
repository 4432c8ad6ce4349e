"""Mail archives: identity from the Message-ID, time from a Date with a zone, or not at all."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.importers import IMPORTERS, Skipped, UnreadableSource
from producers.importers.mbox import date_micros
from tests.producers.importing import SCOPE, Json, contents, imported

MBOX = IMPORTERS["mbox"]
HEAD = (
    b"From: Ada Lamp <ada@example.org>\nTo: bob@example.org\nSubject: Lamps\n"
    b"Date: Mon, 4 May 2026 09:00:00 +0200\nMessage-ID: <m1@example.org>\n"
)


def mail(body: bytes = b"They are up.\n", head: bytes = HEAD, extra: bytes = b"") -> bytes:
    return b"From ada@example.org Mon May  4 09:00:00 2026\n" + head + extra + b"\n" + body + b"\n"


def without(name: bytes) -> bytes:
    return b"".join(
        line for line in HEAD.splitlines(keepends=True) if not line.startswith(name + b":")
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.mbox"


def read(path: Path, content: bytes) -> tuple[list[Json], list[Skipped]]:
    path.write_bytes(content)
    return imported(MBOX, path)


def test_a_message_is_an_observation(path: Path) -> None:
    [event], skipped = read(path, mail())
    assert not skipped
    assert event["content"] == (
        "From: Ada Lamp <ada@example.org>\nTo: bob@example.org\n"
        "Date: Mon, 4 May 2026 09:00:00 +0200\nSubject: Lamps\n\nThey are up.\n"
    )
    assert event["occurred_at"] == "2026-05-04T07:00:00.000000Z"
    assert event["actor"] == {"id": "ada@example.org", "role": "document"}


def test_line_ends_do_not_matter(path: Path) -> None:
    assert read(path, mail().replace(b"\n", b"\r\n")) == read(path, mail())


def test_identity_is_the_message_id(path: Path) -> None:
    first, _ = read(path, mail())
    again, _ = read(path, mail(extra=b"Received: from elsewhere\n"))
    assert again == first
    other, _ = read(path, mail(head=HEAD.replace(b"m1@", b"m2@")))
    assert other[0]["event_id"] != first[0]["event_id"]


def test_without_a_message_id_the_content_is_the_identity(path: Path) -> None:
    head = without(b"Message-ID")
    events, _ = read(path, mail(b"one\n", head) + mail(b"two\n", head))
    assert len({event["event_id"] for event in events}) == 2


@pytest.mark.parametrize(
    ("header", "micros"),
    [
        ("Thu, 1 Jan 1970 00:00:01 +0000", 1_000_000),
        ("Thu, 1 Jan 1970 00:00:01 -0000", 1_000_000),
        ("Thu, 1 Jan 1970 01:00:01 +0100 (CET)", 1_000_000),
        ("1 Jan 1970 00:00 GMT", 0),
        ("Wed, 31 Dec 1969 19:00:00 EST", 0),
        ("Thu, 1 Jan 1970 00:00:01", None),
        ("Thu, 1 Jan 1970 00:00:01 XYZ", None),
        ("Thu, 1 Jan 1970 00:00:01 +9999", None),
        ("Thu, 31 Feb 2026 00:00:01 +0000", None),
        ("1970-01-01", None),
        ("1 Jan 1970", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_date_needs_a_zone(header: str, micros: int | None) -> None:
    assert date_micros(header) == micros


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (mail(head=without(b"Date")), "missing or without a zone"),
        (mail(head=HEAD.replace(b" +0200", b"")), "missing or without a zone"),
        (mail(head=without(b"From")), "no address"),
        (mail(head=HEAD.replace(b"<ada@example.org>", b"<>")), "no address"),
        (mail(head=HEAD.replace(b"ada@", b"a" * 300 + b"@")), "312 bytes of UTF-8"),
        (mail(b"nul: \0\n"), "NUL at character"),
        (mail(b"\xff\xfe\n", extra=b"Content-Type: text/plain; charset=ascii\n"), "the text is n"),
        (mail(b"", head=without(b"Subject")), "no subject, text or attachment"),
        (mail(b"x", head=b"no headers at all\n"), "no address"),
        (mail(b"x" * 1_100_000), "1100"),
        (mail(extra=b"Cc: " + b"bob@example.org, " * 20_000 + b"\n"), "headers of 3"),
        (mail(b"<![" * 9, extra=b"Content-Type: text/html\n", head=without(b"Subject")), "no subj"),
    ],
)
def test_a_bad_message_is_named_and_the_next_goes_on(path: Path, bad: bytes, reason: str) -> None:
    after = mail(head=HEAD.replace(b"m1@", b"m2@"))
    events, [skipped] = read(path, mail() + bad + after)
    assert len(events) == 2
    assert skipped.where.startswith("message 2")
    assert skipped.reason.startswith(reason)
    assert skipped.remedy


@pytest.mark.parametrize(
    ("charset", "encoding", "raw"),
    [
        ("iso-8859-1", "8bit", "grün".encode("latin-1")),
        ("utf-8", "8bit", "grün".encode()),
        ("us-ascii", "8bit", "grün".encode()),
        ("no-such-charset", "8bit", "grün".encode()),
        ("utf-8", "quoted-printable", b"gr=C3=BCn"),
        ("utf-16", "base64", base64.encodebytes("grün".encode("utf-16"))),
    ],
)
def test_charsets_are_decoded_exactly(path: Path, charset: str, encoding: str, raw: bytes) -> None:
    extra = (
        f"MIME-Version: 1.0\nContent-Type: text/plain; charset={charset}\n"
        f"Content-Transfer-Encoding: {encoding}\n"
    )
    [content] = contents(read(path, mail(raw, extra=extra.encode()))[0])
    assert content.endswith("\n\ngrün\n")


def test_header_bytes_that_are_no_text_are_named(path: Path) -> None:
    for bad in (b"gr\xfcn", b"=?utf-8?q?=FF?="):
        [event], [skipped] = read(path, mail(head=HEAD.replace(b"Lamps", bad)))
        assert "Subject" not in event["content"]
        assert skipped.where == "message 1, Subject"
        assert skipped.reason.startswith("the header is neither")


def test_header_bytes_in_utf8_are_text(path: Path) -> None:
    [event], _ = read(path, mail(head=HEAD.replace(b"Lamps", "grün".encode())))
    assert "\nSubject: grün\n" in event["content"]


def test_encoded_headers_are_read(path: Path) -> None:
    head = without(b"Subject").replace(b"Ada Lamp", b"=?utf-8?q?L=C3=A1mp=2C_Ada?=")
    head += b"Subject: =?utf-8?b?5pyI5piO44GL44KK?=\n folded\n"
    [event], _ = read(path, mail(head=head))
    assert "Subject: 月明かり folded\n" in event["content"]
    assert event["actor"]["id"] == "ada@example.org"


MULTIPART = b"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="outer"
"""


def test_plain_text_is_preferred_and_attachments_are_named(path: Path) -> None:
    body = b"""--outer
Content-Type: multipart/alternative; boundary="inner"

--inner
Content-Type: text/html

<p>They are <b>bright</b>.</p>
--inner
Content-Type: text/plain

They are plain.
--inner--
--outer
Content-Type: image/png
Content-Disposition: attachment; filename="lamp.png"
Content-Transfer-Encoding: base64

AAECAwQ=
--outer
Content-Type: message/rfc822

Subject: inside

SECRET WORDS
--outer--
"""
    [content] = contents(read(path, mail(body, extra=MULTIPART))[0])
    assert content.endswith(
        "\n\nThey are plain.\nAttachment: lamp.png (image/png, 5 bytes)\n"
        "Attachment: unnamed (message/rfc822, 29 bytes)\n"
    )
    assert "SECRET" not in content


def test_html_alone_is_read_without_its_tags(path: Path) -> None:
    body = b"<style>b{}</style><p>Lamps &amp;\n <b>dusk</b></p><script>x</script>at<br>eight"
    [content] = contents(read(path, mail(body, extra=b"Content-Type: text/html\n"))[0])
    assert content.endswith("\n\nLamps & dusk\nat\neight\n")


@pytest.mark.parametrize("content", [b"no mail\n", b"Subject: x\n\ny\n", b"\x00\xff"])
def test_what_is_no_archive_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnreadableSource, match="From"):
        list(MBOX.read(path, SCOPE))


def test_an_empty_archive_is_nothing(path: Path) -> None:
    assert read(path, b"") == ([], [])


def test_the_archive_is_not_changed(path: Path) -> None:
    path.write_bytes(mail())
    before = path.stat()
    imported(MBOX, path)
    assert path.read_bytes() == mail()
    assert path.stat().st_mtime_ns == before.st_mtime_ns


PIECES = [
    HEAD, MULTIPART, b"--outer\n", b"--outer--\n", b"\n", b"\xff\0", b"From: \n", b"Date: \xff\n",
    b"Content-Type: \n", b"Content-Type: message/rfc822\n", b"From: <<>,;:\n", b"Subject: =?x?q?\n",
    b"Content-Type: text/html; charset=\x80\n", b"Content-Transfer-Encoding: base64\n", b"====\n",
    b"Message-ID: <\n", b"Content-Disposition: attachment; filename*0*=\xe9\n", b"From a b\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=20)).map(b"".join))
def test_any_mail_is_counted_and_nothing_is_raised(
    tmp_path_factory: pytest.TempPathFactory, middle: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.mbox"
    last = mail(head=HEAD.replace(b"m1@", b"last@"))
    path.write_bytes(
        mail(head=HEAD.replace(b"m1@", b"first@")) + b"From x\n" + middle + b"\n" + last
    )
    items = list(MBOX.read(path, SCOPE))
    assert items == list(MBOX.read(path, SCOPE))
    assert isinstance(items[0], dict)
    assert isinstance(items[-1], dict)
