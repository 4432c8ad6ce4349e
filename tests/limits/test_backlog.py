"""A full intake takes nothing more, says when to come again, and loses nothing that it took."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gateway.errors import TooMany
from mnemolog.backlog import Backlog
from mnemolog.doors import HttpDoor
from schemas.answers import Problem
from schemas.scope import Scope, partition_of
from tests.limits.conftest import BOUND, Held, Json


def said(count: int, name: str, subject: str = "alice") -> list[Json]:
    """So many observations of one subject."""
    scope = {"tenant": "acme", "namespace": "support", "subject": subject}
    return [
        {"kind": "observation", "event_id": f"{name}{n}", "scope": scope, "content": f"{name} {n}"}
        for n in range(count)
    ]


def elsewhere(subject: str, partitions: int) -> str:
    """A subject of another partition."""
    home = partition_of(Scope("acme", "support", subject), partitions)
    others = (f"other-{n}" for n in range(1000))
    return next(o for o in others if partition_of(Scope("acme", "support", o), partitions) != home)


def refused(answer: Any) -> Problem:
    """The problem of a 429 that says when to come again."""
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    problem = Problem.model_validate(answer.json())
    assert (problem.code, problem.limit) == ("intake_full", f"{BOUND} waiting")
    assert problem.remedy
    return problem


def test_a_full_intake_is_429_and_takes_the_same_request_once_there_is_room(held: Held) -> None:
    first, second = said(BOUND - 2, "a"), said(5, "b")
    assert held.publish(first).status_code == 202
    assert f"{BOUND - 2} events wait" in refused(held.publish(second)).detail
    assert held.publish(second[:2]).status_code == 202
    refused(held.publish(second[2:3]))
    assert held.decide() == BOUND
    assert held.publish(second[2:]).status_code == 202
    assert held.decide() == 3
    assert held.entries() == len(first) + len(second)
    for event in first + second:
        answer = held.client.get(f"/v1/events/{event['event_id']}", params=event["scope"])
        assert answer.json()["state"] == "accepted"


def test_a_refused_request_leaves_nothing_behind_whatever_it_holds(held: Held) -> None:
    scope = said(1, "x")[0]["scope"]
    barrier = {"kind": "deletion", "event_id": "d", "scope": scope, "target": {"subject": True}}
    assert held.publish(said(1, "a")).status_code == 202
    refused(held.publish([*said(5, "b"), barrier, *said(5, "c")]))
    assert held.decide() == 1
    assert held.entries() == 1


def test_a_full_partition_stops_no_other(held: Held) -> None:
    other = elsewhere("alice", held.backend.partitions)
    assert held.publish(said(BOUND, "a")).status_code == 202
    refused(held.publish(said(1, "b")))
    assert held.publish(said(BOUND, "c", other)).status_code == 202
    assert held.decide() == 2 * BOUND


def test_reads_and_readiness_do_not_depend_on_room(held: Held) -> None:
    scope = said(1, "x")[0]["scope"]
    held.publish(said(BOUND, "a"))
    refused(held.publish(said(1, "b")))
    assert held.client.get("/readyz").status_code == 200
    assert held.client.post("/v1/recall", json={"scope": scope, "query": "a"}).status_code == 200


def test_the_python_door_says_the_same(held: Held) -> None:
    held.door.publish(said(BOUND, "a"), 0.0)
    with pytest.raises(TooMany, match="publish them again") as full:
        held.door.publish_one(said(1, "b")[0], 0.0)
    assert (full.value.code, full.value.limit) == ("intake_full", f"{BOUND} waiting")


def test_python_over_http_is_told_the_limit_too(held: Held) -> None:
    key = held.client.headers["authorization"].removeprefix("Bearer ")
    client: Any = held.client
    door = HttpDoor("", key, client)
    door.publish(said(BOUND, "a"), 0.0)
    with pytest.raises(TooMany, match="publish them again") as full:
        door.publish(said(1, "b"), 0.0)
    assert (full.value.code, full.value.limit) == ("intake_full", f"{BOUND} waiting")


def test_publishers_at_once_never_pass_the_bound_together() -> None:
    taken, inside, most = [0], [0], [0]
    start, lock = threading.Barrier(16), threading.Lock()
    backlog = Backlog(lambda _: taken[0], BOUND)
    refusals: list[TooMany] = []

    def publish() -> None:
        start.wait()
        for _ in range(50):
            try:
                with backlog.room({0: 1}):
                    with lock:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0] + taken[0])
                    with lock:
                        inside[0] -= 1
                        taken[0] += 1
            except TooMany as error:
                refusals.append(error)

    threads = [threading.Thread(target=publish) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken[0] == most[0] == BOUND
    assert len(refusals) == 16 * 50 - BOUND


def test_room_is_given_back_when_appending_fails() -> None:
    backlog = Backlog(lambda _: 0, 1)
    for _ in range(3):
        with pytest.raises(OSError, match="disk"), backlog.room({0: 1}):
            raise OSError("disk")
    with backlog.room({0: 1}), pytest.raises(TooMany), backlog.room({0: 1}):
        raise AssertionError("there is no room for two")
