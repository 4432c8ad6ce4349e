"""How much of everything (INTERFACE "Limits"); the error that meets a limit tells it.

Sizes are bytes of UTF-8. A change here changes which events are admitted, so the policy's version
covers these numbers (`schemas.policy`).
"""

from __future__ import annotations

ID_BYTES = 256
NAME_BYTES = 1_024
REASON_BYTES = 4_096
URI_BYTES = 2_048
VALUE_BYTES = 65_536
DECIMAL_CHARACTERS = 200
CONTENT_BYTES = 1_048_576
QUOTES_BYTES = 1_048_576
PAYLOAD_BYTES = 1_048_576
PAYLOAD_DEPTH = 32
PREMISES = 64
MEMBERS = 1_000
MARKS = 30

REQUEST_BYTES = 8_388_608
REQUEST_EVENTS = 10_000
QUERY_BYTES = 16_384
CLAIMS = 256
RESULTS = 1_000

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

LIMITS = {
    name.lower(): number
    for name, number in sorted(globals().items())
    if name.isupper() and isinstance(number, int) and not name.startswith("INT64")
}
