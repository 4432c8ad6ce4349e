"""What `verify` found stays found: damage is kept beside the stores (SPEC §3 "reads stop").

Rules
- Public reads of a partition stop once `verify` found damage in it, also after a restart, until a
  check at least as deep finds none. A rebuild lifts what was wrong with the projections alone.
- A partition that is stopped although nothing was found is taken up again: it is folded on, and
  what stops that is found too.
The file is a convenience, no evidence: whoever removes it only loses the memory of a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from mnemolog.parts import Part
from schemas.answers import Finding, Verification
from schemas.errors import LedgerCorrupt, Unavailable
from schemas.files import replace

OF_PROJECTIONS = ("projection", "scope_head")
P = TypeVar("P", bound=Part)


class Verdict(msgspec.Struct, frozen=True):
    """The first damage of a partition, and whether only `--deep` looks for it."""

    partition: int
    sequence: int
    what: str
    detail: str
    deep: bool

    def error(self) -> LedgerCorrupt:
        """What reads are refused with."""
        return LedgerCorrupt(self.partition, self.sequence, self.what, self.detail)


class Verdicts:
    """The verdicts of one process's directory, in `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[int, Verdict] = {}
        try:
            read = msgspec.json.decode(path.read_bytes(), type=list[Verdict])
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            raise Unavailable(
                "verdicts", f"{path}: {error}", "remove it and type: mnemolog verify --deep"
            ) from error
        self._held = {one.partition: one for one in read}

    def stop(self, parts: Iterable[Part]) -> None:
        """Stop the reads of partitions in which damage was found."""
        for part in parts:
            verdict = self._held.get(part.follower.partition)
            if verdict is not None and part.damage is None:
                part.damaged(verdict.error())

    def rebuilt(self, parts: Iterable[Part]) -> None:
        """The projections were folded anew and exchanged."""
        self._keep({p: one for p, one in self._held.items() if one.what not in OF_PROJECTIONS})
        self.stop(parts)

    def settle(
        self,
        found: Verification,
        parts: Sequence[P],
        deep: bool,
        resume: Callable[[P], None],
    ) -> Verification:
        """Stop and take up partitions by what was found; `resume` raises what still stops one."""
        held = {p: one for p, one in self._held.items() if one.deep and not deep}
        for finding in reversed(found.damage):
            held[finding.partition] = Verdict(
                finding.partition, finding.sequence or 0, finding.what, finding.detail, deep
            )
        self._keep(held)
        damage, notices = list(found.damage), list(found.notices)
        for part in parts:
            number = part.follower.partition
            if number not in held and part.damage is not None:
                part.mended()
                with part.stopping():
                    resume(part)
                if part.damage is not None:
                    damage.append(_finding(part.damage))
            elif number in held and not any(one.partition == number for one in found.damage):
                notices.append(_still_held(held[number]))
        self.stop(parts)
        update = {"ok": not damage, "damage": tuple(damage), "notices": tuple(notices)}
        return found.model_copy(update=update)

    def _keep(self, held: dict[int, Verdict]) -> None:
        if held != self._held:
            self._held = held
            replace(self._path, msgspec.json.encode(list(held.values())))


def _still_held(verdict: Verdict) -> Finding:
    detail = f"reads stay stopped until verify --deep finds nothing; it found: {verdict.detail}"
    return _finding(verdict.error()).model_copy(update={"detail": detail})


def _finding(error: LedgerCorrupt) -> Finding:
    return Finding(
        partition=error.partition, sequence=error.sequence, what=error.what, detail=error.detail
    )
