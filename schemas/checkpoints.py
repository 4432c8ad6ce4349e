"""Signed checkpoints: where every chain stood, to be kept away from the ledger (SPEC §3).

Rules
- Signed with Ed25519 (RFC 8032) by a key derived from the master secret, so that who keeps one can
  show it to anybody who knows the public key, and nobody else can make one.
- The signature covers, each part with its length as 4 bytes big-endian before it: the domain tag
  "mnemolog-checkpoint-v1", the log's identity, the time, and for each partition in order its
  number, count of entries (decimal) and head (hexadecimal).
- One that is signed by another key is *foreign*, one whose signature does not fit *forged*: both
  are refused, never compared with a ledger.
"""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import ValidationError

from schemas.answers import Checkpoint, PartitionHead
from schemas.errors import invalid
from schemas.faults import refusal
from schemas.master import MasterKey
from schemas.times import format_instant

DOMAIN = "mnemolog-checkpoint-v1"


class CheckpointKey:
    """Signs and recognises the checkpoints of one installation."""

    def __init__(self, master: MasterKey) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(master.derive("checkpoints"))
        self.public = self._private.public_key().public_bytes_raw()

    def sign(self, log: str, made_at: int, heads: Iterable[PartitionHead]) -> Checkpoint:
        """A checkpoint of a log's heads at a time (µs)."""
        unsigned = Checkpoint(
            version=1,
            log=log,
            made_at=format_instant(made_at),
            partitions=tuple(heads),
            public_key=self.public.hex(),
            signature="",
        )
        signature = self._private.sign(_message(unsigned)).hex()
        return unsigned.model_copy(update={"signature": signature})

    def recognise(self, checkpoint: Checkpoint) -> None:
        """Refuse one that is not this installation's; `InvalidEvent` says why."""
        if checkpoint.public_key != self.public.hex():
            raise invalid(
                "foreign_checkpoint",
                "public_key",
                f"it is signed by {checkpoint.public_key}, and this installation's key is "
                f"{self.public.hex()}",
                "give a checkpoint that this installation made",
            )
        if not authentic(checkpoint):
            raise invalid(
                "forged_checkpoint",
                "signature",
                "its signature does not fit what it says",
                "give the checkpoint as it was written",
            )


def authentic(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint was signed by the key that it names; whose that is, the caller knows."""
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(checkpoint.public_key))
        public.verify(bytes.fromhex(checkpoint.signature), _message(checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def parse_checkpoint(raw: object) -> Checkpoint:
    """A checkpoint from plain JSON data; `InvalidEvent` names the field at fault."""
    try:
        return Checkpoint.model_validate(raw)
    except ValidationError as error:
        raise refusal(error, Checkpoint.model_fields) from None


def _message(checkpoint: Checkpoint) -> bytes:
    parts = [DOMAIN, checkpoint.log, checkpoint.made_at]
    for one in checkpoint.partitions:
        parts += (str(one.partition), str(one.entries), one.head)
    raw = [part.encode() for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in raw)
