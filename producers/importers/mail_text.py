"""The text of a mail message: which words of it are kept, and how bytes become characters.

- `text/plain` is preferred; `text/html` is read without its tags where there is no plain part.
- Bytes are decoded strictly, by the declared charset, else as UTF-8; what neither explains raises
  `UndecodableText`. Nothing is replaced by a question mark. CRLF, the line end of mail, becomes LF.
- Attachments are named with type and size, never stored.
"""

from __future__ import annotations

from email.message import EmailMessage, Message

from producers.importers.html_text import untagged
from producers.importers.lines import one_line


class UndecodableText(ValueError):
    """The part's bytes fit neither its declared charset nor UTF-8."""


def body_text(message: EmailMessage) -> str:
    """The text of the body, or '' where the message has no text part."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    text = _decoded(part)
    if part.get_content_type() == "text/html":
        return untagged(text)
    return text


def attachment_lines(message: EmailMessage) -> list[str]:
    """`Attachment: NAME (TYPE, N bytes)` for each attachment, in order."""
    lines = []
    for part in message.iter_attachments():
        payload = part.get_payload(decode=True)
        inner = part.iter_parts()  # of an attached message or multipart, which has no payload
        size = len(payload or b"") + sum(len(each.as_bytes()) for each in inner)
        name = one_line(part.get_filename() or "unnamed")
        lines.append(f"Attachment: {name} ({part.get_content_type()}, {size} bytes)")
    return lines


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    declared = part.get_content_charset() or "utf-8"
    for charset in (declared, "utf-8"):
        try:
            return raw.decode(charset).replace("\r\n", "\n")
        except (UnicodeError, LookupError):
            continue
    raise UndecodableText(f"the text is neither {one_line(declared)} nor UTF-8")
