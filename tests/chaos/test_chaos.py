"""A short run of the scheduler, and that it can tell when something is wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from projections.ports import LogRecord
from schemas.topics import TopicNames
from tests.chaos import __main__ as command
from tests.chaos.embedded import EmbeddedWorld
from tests.chaos.scheduler import run
from tests.chaos.world import Fault, Stretch
from tests.core.harness import Core
from tests.crash.feed import Feed

SECONDS = 15.0
FEED = (20260, 60, 12, 4)


def test_the_embedded_runtime_answers_as_the_model_after_faults_of_every_kind(
    tmp_path: Path,
) -> None:
    world = EmbeddedWorld(tmp_path, FEED)
    try:
        kinds = set(world.faults())
        events = len(Feed(*FEED).said)
        outcome = run(world, FEED[0], events, seconds=SECONDS, most_faults=None, say=print)
    finally:
        world.close()
    assert outcome.wrong == []
    assert outcome.faults.total() < len(kinds) or set(outcome.faults) == kinds


class Lying:
    """A deployment that lost something."""

    def __init__(self, path: Path, feed: tuple[int, ...]) -> None:
        self.seen: list[Stretch] = []

    def faults(self) -> Mapping[str, Fault]:
        return {"nap": self._nap, "yawn": self._nap}

    def _nap(self, rng: random.Random, stretch: Stretch) -> str:
        self.seen.append(stretch)
        return str(rng.random())

    def check(self) -> list[str]:
        return ["an event is lost"]

    def close(self) -> None:
        return


def test_what_is_wrong_is_told_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "EmbeddedWorld", Lying)
    assert command.main(["--seed", "5", "--seconds", "9"]) == 1
    said = capsys.readouterr().out
    assert "seed 5: embedded" in said
    assert "an event is lost" in said
    assert "python -m tests.chaos --seed 5 --faults 12" in said


def test_the_same_seed_draws_the_same_faults(tmp_path: Path) -> None:
    told: list[list[str]] = []
    for _ in range(2):
        lines: list[str] = []
        world = Lying(tmp_path, FEED)
        run(world, 7, 500, seconds=60, most_faults=8, say=lines.append)
        told.append([line.split("events", 1)[1] for line in lines])
        assert world.seen[0][0] == 0
        assert all(
            one[1] == other[0] for one, other in zip(world.seen, world.seen[1:], strict=False)
        )
    assert told[0] == told[1]


def test_an_event_that_is_not_there_shows_in_the_answers() -> None:
    """A core that was told all but one event differs from the model that was told all."""
    feed = Feed(3, 1, 16)
    core = Core(feed.histories[0]).consume(feed.histories[0].records)
    topics = TopicNames()
    offsets = dict.fromkeys(topics.intake.values(), 0)
    recorded: list[LogRecord] = []
    for said in feed.said:
        topic = topics.intake[said.kind]
        at = said.record["append_ms"]
        recorded.append(LogRecord(topic, 0, offsets[topic], at, said.payload, ()))
        offsets[topic] += 1
    assert feed.differences(recorded, topics, [core.follower]) == []
    without = [record for record in recorded if "observation" not in record.topic]
    assert feed.differences(without, topics, [core.follower]) != []
