"""Goals of a wait without what no reader is ever delivered (SPEC §6: a release waits for the end).

Control records of transactions take offsets in the intake, so a view may stand before an end beyond
which nothing will come. Telling that from a record that is still to be admitted means to read the
intake: only for a wait that lasts, and once for each stretch. What the worker drops meanwhile was
admitted, so it is still to be waited for.
"""

from __future__ import annotations

from gateway.backend import Reach
from mnemolog.cluster.installation import Installation
from schemas.errors import Unavailable
from schemas.kinds import Kind

PLAIN_S = 0.25
"""How long to wait before looking: an event that is being admitted takes less."""


class Deliverable:
    """What is known of one installation's intake."""

    def __init__(self, installation: Installation, partitions: int) -> None:
        self._installation = installation
        self._partitions = partitions
        self._barren: dict[tuple[int, Kind], int] = {}

    def known(self, partition: int, goal: Reach) -> Reach:
        """The goal without ends that are known to have only control records before them."""
        intake = {
            kind: end
            for kind, end in goal.intake.items()
            if self._barren.get((partition, kind), 0) < end
        }
        return Reach(goal.ledger, intake)

    def look(self, partition: int, goal: Reach, positions: dict[Kind, int]) -> bool:
        """Read the intake between a view's positions and the goal's ends; whether one is barren."""
        found = False
        for kind, end in self.known(partition, goal).intake.items():
            at = positions.get(kind, 0)
            if at < end and self._is_barren(partition, kind, at):
                self._barren[partition, kind] = end
                found = True
        return found

    def _is_barren(self, partition: int, kind: Kind, at: int) -> bool:
        topic = self._installation.topics.intake[kind]
        reading = self._installation.log(self._partitions)
        try:
            return not reading.pending(topic, partition, at)
        except Unavailable:
            if reading.start(topic, partition) > at:
                return False
            raise
        finally:
            reading.close()
