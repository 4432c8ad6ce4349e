"""Mail archives in mbox format: every message is an observation (SPEC §2).

- Identity is the Message-ID; a message without one is identified by SHA-256 of its bytes.
- The time is the Date header. Without a zone, or unreadable, it is skipped, never guessed; `-0000`
  is UTC (RFC 5322 §3.3).
- The actor is the From address with the role `document`: a mail shows what somebody wrote, and its
  sender is unproven. No facts are made of it.
- The content is, by line: `From: `, `To: `, `Date: `, `Subject: ` (those there are,
  unfolded; the date as written), an empty line, the text (`mail_text.py`), and an `Attachment: `
  line for each attachment.
- A malformed message is skipped, also one with headers past `HEADER_BYTES`; the next one goes on. A
  header that cannot be decoded is left out by name.
"""

from __future__ import annotations

import hashlib
import mailbox
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default as modern
from email.utils import parsedate_to_datetime
from pathlib import Path

from producers.importers.build import derived_id, observation
from producers.importers.lines import one_line
from producers.importers.mail_text import UndecodableText, attachment_lines, body_text
from producers.importers.report import (
    Event,
    Item,
    Progress,
    ScopeJson,
    Skipped,
    UnreadableSource,
    measure_bytes,
    no_progress,
    shown,
    unreadable,
)
from schemas.errors import Fault, InvalidEvent
from schemas.times import EPOCH, in_range

_HEADERS = ("From", "To", "Date", "Subject")
HEADER_BYTES = 262_144
"""Of a message's headers: the library's parsers take time that grows with their square."""

_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_REPLACED = "\N{REPLACEMENT CHARACTER}"  # where the library met bytes that it could not decode

# What the standard library's header and body parsers trip over in malformed mail.
_MALFORMED = (MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_mbox(path: Path, scope: ScopeJson, *, progress: Progress = no_progress) -> Iterator[Item]:
    """Events of an mbox file. Position: bytes read. Raises `UnreadableSource`."""
    total = measure_bytes(path)
    position = 0
    for number, raw in enumerate(_messages(path, total), start=1):
        yield from _items(raw.partition(b"\n")[2], f"message {number}", scope)
        position += len(raw)
        progress(min(position, total))
    progress(total)


def date_micros(header: str) -> int | None:
    """Microseconds of a Date header, or None where it has no zone or is not a date."""
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        if "-0000" not in header.split():
            return None
        moment = moment.replace(tzinfo=UTC)
    return _micros(moment)


def _micros(moment: datetime) -> int | None:
    micros = (moment - EPOCH) // timedelta(microseconds=1)
    return micros if in_range(micros) else None


def _messages(path: Path, total: int) -> Iterator[bytes]:
    """The bytes of each message, its `From ` line first."""
    try:
        box = mailbox.mbox(path, create=False)
    except (OSError, ValueError, mailbox.Error) as error:
        raise unreadable(path, error) from error
    try:
        keys = box.keys()
        if not keys and total:
            raise UnreadableSource(
                path, "no line begins with `From `", "give a mail archive in mbox format"
            )
        for key in keys:
            yield box.get_bytes(key, from_=True)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        box.close()


def _items(raw: bytes, where: str, scope: ScopeJson) -> list[Item]:
    """The observation of a message and what was left out of it, or the reason why there is none."""
    end = _END_OF_HEADERS.search(raw)
    if (size := len(raw) if end is None else end.start()) > HEADER_BYTES:
        detail = f"headers of {size} bytes, the limit is {HEADER_BYTES}"
        return [Skipped(where, detail, "shorten its headers")]
    try:
        message = message_from_bytes(raw, policy=modern)
        headers, spoiled = _headers(message)
        event = _observation(message, headers, raw, scope)
    except InvalidEvent as error:
        return [Skipped(f"{where}, {error.fault.field}", error.fault.detail, error.fault.remedy)]
    except UndecodableText as error:
        return [Skipped(where, shown(str(error)), "correct the charset of its Content-Type")]
    except _MALFORMED as error:
        detail = f"malformed: {shown(repr(error))}"
        return [Skipped(where, detail, "open it in a mail program and save it again")]
    reason, remedy = "the header is neither ASCII, nor UTF-8, nor an encoded word", "none: left out"
    return [event, *(Skipped(f"{where}, {name}", reason, remedy) for name in spoiled)]


def _headers(message: EmailMessage) -> tuple[dict[str, str], list[str]]:
    """The headers that are kept, in order, and the names of those whose text cannot be read."""
    found = {name: one_line(str(message[name])) for name in _HEADERS if message[name]}
    # As written: the parsed header would print a missing zone as -0000.
    dates = [str(value) for name, value in message.raw_items() if name.lower() == "date"]
    found |= {"Date": one_line(dates[0])} if dates else {}
    spoiled = [name for name, value in found.items() if _REPLACED in value]
    return {name: value for name, value in found.items() if name not in spoiled}, spoiled


def _observation(
    message: EmailMessage, headers: dict[str, str], raw: bytes, scope: ScopeJson
) -> Event:
    senders = message["From"].addresses if message["From"] else ()
    if not senders or not senders[0].username:
        raise InvalidEvent(_fault("From", "no address", "add the sender's address"))
    occurred_at = date_micros(headers.get("Date", ""))
    if occurred_at is None:
        raise InvalidEvent(_fault("Date", "missing or without a zone", "add one, such as +0000"))
    text = body_text(message)
    attachments = attachment_lines(message)
    if not (text.strip() or attachments or headers.get("Subject")):
        raise InvalidEvent(_fault("content", "no subject, text or attachment", "none is needed"))
    lines = [f"{name}: {value}" for name, value in headers.items()]
    content = "\n".join([*lines, "", text.rstrip("\n"), *attachments]) + "\n"
    own = one_line(str(message["Message-ID"] or ""))
    if not own or _REPLACED in own:
        own = hashlib.sha256(raw).hexdigest()
    actor = (senders[0].addr_spec, "document")
    return observation(scope, derived_id("mbox", own), occurred_at, actor, content)


def _fault(field: str, detail: str, remedy: str) -> Fault:
    return Fault("unreadable_mail", field, detail, remedy)
