"""Key layout of a partition's store; every component has a fixed width, so keys are injective.

First byte names the concern; hashes are the 16-byte keyed hashes of the ledger header:

    M                                  checkpoint of the fold
    E seq8                             entry: where it stands in the log and its hash
    B hash32                           an entry that was beaten (its predecessor had a successor)
    S subject16                        barriers of a subject
    H scope16                          head of a scope
    K idempotency16                    who used an idempotency key
    R event16                          receipt of an event
    I scope16 record16                 observation
    F scope16 record16                 fact
    D scope16 ordinal4                 a record that is searched, in order of admission
    L scope16 block4 key               posting blocks of the lexical index
    W record16                         what waits for a record, and which facts cite it
    C record16 chunk4                  a full stretch of the facts that cite a record
    G scope16 attribute16 record16     facts of one (entity, attribute)
    Y scope16 attribute16              how many facts those are
    P subject16 scope16 record16       assertions that await a premise
    X expires8 scope16 record16        what expires by clock (bit 63 flipped, so order is time)
    N scope16 record16                 working set or other record
    Z keyid16                          record keys to destroy
"""

from __future__ import annotations

CHECKPOINT = b"M"


def entry(sequence: int) -> bytes:
    """Where entry `sequence` stands."""
    return b"E" + sequence.to_bytes(8, "big")


def beaten(entry_hash: bytes) -> bytes:
    """Mark of an ignored entry."""
    return b"B" + entry_hash


def subject(subject16: bytes) -> bytes:
    """Barriers of a subject."""
    return b"S" + subject16


def head(scope16: bytes) -> bytes:
    """Head of a scope."""
    return b"H" + scope16


def idempotency(hash16: bytes) -> bytes:
    """Use of an idempotency key."""
    return b"K" + hash16


def receipt(event16: bytes) -> bytes:
    """Receipt of an event."""
    return b"R" + event16


def observation(scope16: bytes, record16: bytes) -> bytes:
    """An observation."""
    return b"I" + scope16 + record16


def observations(scope16: bytes) -> bytes:
    """Prefix of a scope's observations."""
    return b"I" + scope16


def fact(scope16: bytes, record16: bytes) -> bytes:
    """A fact."""
    return b"F" + scope16 + record16


def facts(scope16: bytes) -> bytes:
    """Prefix of a scope's facts."""
    return b"F" + scope16


def document(scope16: bytes, ordinal: int) -> bytes:
    """Searchable text by ordinal."""
    return b"D" + scope16 + ordinal.to_bytes(4, "big")


def documents(scope16: bytes) -> bytes:
    """Prefix of a scope's documents."""
    return b"D" + scope16


def block_row(scope16: bytes, block: int, key: bytes) -> bytes:
    """A row of a posting block."""
    return b"L" + scope16 + block.to_bytes(4, "big") + key


def links(record16: bytes) -> bytes:
    """What waits for a record, and which facts cite it."""
    return b"W" + record16


def citations(record16: bytes, chunk: int) -> bytes:
    """A full stretch of the facts that cite a record."""
    return b"C" + record16 + chunk.to_bytes(4, "big")


def group(scope16: bytes, attribute16: bytes) -> bytes:
    """Prefix of the facts of one (entity, attribute)."""
    return b"G" + scope16 + attribute16


def group_size(scope16: bytes, attribute16: bytes) -> bytes:
    """How many facts one (entity, attribute) has."""
    return b"Y" + scope16 + attribute16


def groups(scope16: bytes) -> bytes:
    """Prefix of all groups of a scope; the 16 bytes after it name the group."""
    return b"G" + scope16


def awaiting(subject16: bytes, scope16: bytes, record16: bytes) -> bytes:
    """An assertion that awaits a premise."""
    return b"P" + subject16 + scope16 + record16


def awaiting_in(subject16: bytes) -> bytes:
    """Prefix of a subject's awaiting assertions."""
    return b"P" + subject16


ALL_AWAITING = b"P"
ALL_EXPIRING = b"X"


def expiring(expires_at: int, scope16: bytes, record16: bytes) -> bytes:
    """Something that expires at an instant (µs)."""
    return b"X" + (expires_at + 2**63).to_bytes(8, "big") + scope16 + record16


def workingset(scope16: bytes, record16: bytes) -> bytes:
    """A working set."""
    return b"N" + scope16 + record16


def doomed_key(key_id: bytes) -> bytes:
    """A record key that is to be destroyed."""
    return b"Z" + key_id


ALL_DOOMED = b"Z"
