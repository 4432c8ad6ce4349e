"""What mends each kind of damage, in the words of "Damage" in `docs/operations.md` (SPEC §3)."""

from __future__ import annotations

from schemas.errors import LedgerCorrupt

_LOG = "restore the log, or the ledger topic, from a backup"
_NEWER = f"{_LOG} that is not older; to accept the loss see docs/operations.md"
_ANCHORS = "restore the anchors file, or the anchors topic, from a backup"
_STORE = "type: mnemolog replay; of a worker or gateway, remove its instance directory"

MENDS = {
    **dict.fromkeys(("truncated", "rewritten", "another_log"), _NEWER),
    **dict.fromkeys(
        ("missing", "reordered", "foreign", "injected", "duplicated", "ignored", "partition"), _LOG
    ),
    **dict.fromkeys(("chain", "malformed", "time", "body", "witness"), _LOG),
    **dict.fromkeys(("missing_key", "key"), "restore the vault, or the keys topic, from a backup"),
    **dict.fromkeys(("anchor", "anchor_missing", "anchor_rolled_back"), _ANCHORS),
    **dict.fromkeys(("projection", "scope_head"), _STORE),
}


def mend(error: LedgerCorrupt) -> str:
    """What to do about damage."""
    return MENDS.get(error.what, "type: mnemolog verify --deep")
