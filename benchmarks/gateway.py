"""One gateway process over HTTP on a large store, a worker and the broker beside it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from benchmarks.client import Client, at_once, json_of, scope_json
from benchmarks.cluster import Cluster, memory
from benchmarks.corpus import SCOPE_EVENTS
from benchmarks.results import Result, at_least, at_most, percentile, shown
from benchmarks.run import MILLION, Run
from benchmarks.workload import QUERY, envelope, events, observation
from schemas.events import Assertion, Observation
from schemas.kinds import Kind

READERS = 8
WRITERS = 4
REQUEST = 100
A_SECOND = 1000
PROBES = 20  # a second, among them
CHUNK = 20_000


def loaded(run: Run) -> Cluster:
    """A cluster whose worker and gateway hold the run's large workload."""
    return run.once("loaded cluster", lambda: _load(run))


def _load(run: Run) -> Cluster:
    made, total = Cluster(run, 1, gateway=True), run.sizes.large
    said = events(total, run.seed, subjects(run))
    done = 0
    while chunk := list(islice(said, CHUNK)):
        start = made.entries()
        done += made.feed(chunk)
        made.drained(start, len(chunk))
        run.tell(f"a cluster with {total:,} events", done, total)
    _followed(made)
    return made


def subjects(run: Run) -> int:
    """How many scopes the large workload has."""
    return run.sizes.large // SCOPE_EVENTS or 1


def _followed(made: Cluster) -> None:
    """Wait until the gateway shows what comes after everything, in every partition."""
    body = [json_of(Kind.OBSERVATION, _probe(f"last-{n}", f"probe {n}")) for n in range(64)]
    receipts = Client(made.url).post("/v1/events?wait=30", json.dumps(body).encode())["receipts"]
    if not all(receipt["state"] == "accepted" for receipt in receipts):
        raise TimeoutError(f"the gateway has not caught up: {receipts}")


def _probe(name: str, subject: str) -> Observation:
    return observation(envelope(name, subject, 0), "is it visible yet?")


def recall(run: Run) -> Iterator[Result]:
    """Eight readers at once, each with its own scopes."""
    made, count = loaded(run), subjects(run)
    asks = [
        [_question(f"s{(reader + READERS * n) % count}") for n in range(run.sizes.questions)]
        for reader in range(READERS)
    ]
    run.tell(f"{READERS} readers at once", 0, 1)
    taken, seconds = at_once(made.url, "/v1/recall", asks)
    judged = run.sizes.large == MILLION
    name = f"HTTP recall, {READERS} clients at once, {run.sizes.large:,} events"
    yield at_least(name, len(taken) / seconds, "requests/s", 300, judged=judged)
    yield at_most(f"{name}, p95", percentile(taken, 95), "ms", 40, judged=judged)
    yield shown(f"{name}, p50", percentile(taken, 50), "ms")


def release(run: Run) -> Iterator[Result]:
    """Claims of the store's own assertions, one after the other."""
    made = loaded(run)
    said = events(run.sizes.large, run.seed, subjects(run))
    asserted = (event for _, event in said if isinstance(event, Assertion))
    asks = [_claim(event) for event in islice(asserted, run.sizes.questions)]
    run.tell("release", 0, 1)
    taken, _ = at_once(made.url, "/v1/release", [asks])
    yield at_most("release on Kafka, HTTP included, p50", percentile(taken, 50), "ms", 5)
    yield shown("release on Kafka, HTTP included, p95", percentile(taken, 95), "ms")


def publish(run: Run) -> Iterator[Result]:
    """Writers at once, a hundred events a request; the worker admits meanwhile."""
    made, count = loaded(run), run.sizes.events
    said = [
        json_of(kind, event)
        for kind, event in events(count, run.seed + 1, subjects(run), prefix="http-")
    ]
    bodies = [json.dumps(said[at : at + REQUEST]).encode() for at in range(0, count, REQUEST)]
    run.tell(f"{WRITERS} writers at once", 0, 1)
    start = made.entries()
    _, seconds = at_once(made.url, "/v1/events", [bodies[n::WRITERS] for n in range(WRITERS)])
    yield at_least(f"HTTP publish, batches of {REQUEST}", count / seconds, "events/s", 5_000)
    made.drained(start, count)


def visible(run: Run) -> Iterator[Result]:
    """From the publishing request to the receipt of what readers can see, at a steady rate."""
    made = loaded(run)
    seconds = max(2, run.sizes.questions * 2 // PROBES // 5)
    run.tell("publish → visible", 0, 1)
    with _steadily(run, made):
        waits = _probes(made, seconds * PROBES)
    name = f"publish → visible on Kafka at {A_SECOND:,} events/s, HTTP included"
    yield at_most(f"{name}, p50", percentile(waits, 50), "ms", 20)
    yield at_most(f"{name}, p99", percentile(waits, 99), "ms", 100)


def _probes(made: Cluster, count: int) -> list[float]:
    """Seconds from each request to the receipt that says what readers can see."""
    client, waits = Client(made.url), []
    due = time.perf_counter()
    for n in range(count):
        time.sleep(max(0.0, due - time.perf_counter()))
        body = json.dumps([json_of(Kind.OBSERVATION, _probe(f"now-{n}", f"probe {n % 64}"))])
        began = time.perf_counter()
        (receipt,) = client.post("/v1/events?wait=30", body.encode())["receipts"]
        waits.append(time.perf_counter() - began)
        if receipt["state"] != "accepted":
            raise TimeoutError(f"not visible after 30 s: {receipt}")
        due += 1 / PROBES
    return waits


@contextmanager
def _steadily(run: Run, made: Cluster) -> Iterator[None]:
    """Meanwhile publish `A_SECOND` events a second, ten at a time."""
    said = events(MILLION, run.seed + 2, subjects(run), prefix="steady-")
    stop = threading.Event()

    def load() -> None:
        due = time.perf_counter()
        while not stop.is_set():
            time.sleep(max(0.0, due - time.perf_counter()))
            made.feed(islice(said, 10))
            due += 10 / A_SECOND

    thread = threading.Thread(target=load)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def resident(run: Run) -> Iterator[Result]:
    """What worker and gateway hold in memory after the load and whatever was asked of them."""
    made, judged = loaded(run), run.sizes.large == MILLION
    assert made.gateway is not None
    name = f"memory at {run.sizes.large:,} events"
    worker, gateway = made.workers[0], made.gateway
    yield at_most(f"{name}, worker", memory(worker, "VmRSS"), "MiB", 340, judged=judged)
    yield shown(f"{name}, worker, peak", memory(worker, "VmHWM"), "MiB")
    yield at_most(f"{name}, gateway", memory(gateway, "VmRSS"), "MiB", 200, judged=judged)
    yield shown(f"{name}, gateway, peak", memory(gateway, "VmHWM"), "MiB")


def _question(subject: str) -> bytes:
    return json.dumps({"scope": scope_json(subject), "query": QUERY}).encode()


def _claim(said: Assertion) -> bytes:
    claim = {
        "entity": said.entity,
        "attribute": said.attribute,
        "value": said.value.text,
        "facts": [said.fact_id],
    }
    scope = scope_json(said.envelope.scope.subject)
    return json.dumps({"scope": scope, "query": "q", "claims": [claim]}).encode()
