"""A process under a host zone: imports two sources, asks a memory, prints what it was told (JSON).

Arguments: a data directory, a folder with `chat.json` and `mail.mbox`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from mnemolog import Memory
from producers.importers import IMPORTERS
from tests.field.saying import SCOPE


def told(data: Path, sources: Path) -> dict[str, object]:
    """Every answer about times that this process gives, and the zone that it stands in."""
    chat = IMPORTERS["chatgpt"].read(sources / "chat.json", SCOPE)
    mail = IMPORTERS["mbox"].read(sources / "mail.mbox", SCOPE)
    with Memory.open(data, create=False) as memory:
        alice = memory.scope("acme", "support", "alice")
        asked = ("2025-06-10T00:00:00Z", "2025-06-10T23:30:00Z", "2025-06-11T00:00:00Z")
        lists = [alice.facts(valid_at=at).items for at in asked]
        return {
            "zone": time.tzname,
            "imported": [str(item) for item in (*chat, *mail)],
            "facts": [[f.model_dump(mode="json") for f in items] for items in lists],
            "history": [f.model_dump(mode="json") for f in alice.history("gate", "state").items],
            "episodes": [e.model_dump(mode="json") for e in alice.episodes().items],
            "recalled": [r.id for r in alice.recall("gate", valid_at=asked[-1]).results],
            "entries": [e.recorded_at for e in alice.audit_entries().items],
        }


if __name__ == "__main__":
    print(json.dumps(told(Path(sys.argv[1]), Path(sys.argv[2])), sort_keys=True))
