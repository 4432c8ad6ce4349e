"""`Log`: offsets, order, append times, truncation and waiting, in memory, on disk and on Kafka."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.cimpl import NewTopic

from projections.kafka_io import Kafka, KafkaSettings
from projections.kafka_log import KafkaLog
from projections.log_memory import MemoryLog
from projections.log_rocks import READ_BYTES, Place, Records, RocksLog, decode_record, encode_record
from projections.ports import Log
from schemas.errors import Unavailable

EMBEDDED = ("memory", "rocks")


@pytest.fixture(params=[*EMBEDDED, pytest.param("kafka", marks=pytest.mark.kafka)])
def log(request: pytest.FixtureRequest, tmp_path: Path, fresh_topic: None) -> Iterator[Log]:
    """Each implementation, empty."""
    clock = itertools.count(1000)
    made: Log
    if request.param == "memory":
        made = MemoryLog(2, lambda: next(clock))
    elif request.param == "rocks":
        made = RocksLog(tmp_path / "log", 2, lambda: next(clock))
    else:
        made = _kafka(request.getfixturevalue("kafka_bootstrap"))
    yield made
    made.close()


def _kafka(bootstrap: str) -> Log:
    kafka = Kafka(KafkaSettings.load(bootstrap))
    config = {"message.timestamp.type": "LogAppendTime"}
    for future in kafka.admin.create_topics([NewTopic(TOPIC, 2, 1, config=config)]).values():
        future.result()
    return KafkaLog(kafka, 2, TOPIC)


@pytest.fixture(autouse=True)
def fresh_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic name of this test alone: the broker is the session's."""
    monkeypatch.setattr(sys.modules[__name__], "TOPIC", f"t-{uuid.uuid4().hex[:10]}")


TOPIC = "t"


def test_offsets_grow_and_partitions_are_apart(log: Log) -> None:
    assert log.append(TOPIC, 0, [(b"a", (("h", b"1"),)), (None, ())]) == [0, 1]
    assert log.append(TOPIC, 1, [(b"c", ())]) == [0]
    assert log.append(TOPIC, 0, [(b"d", ())]) == [2]
    assert (log.start(TOPIC, 0), log.end(TOPIC, 0), log.end(TOPIC, 1)) == (0, 3, 1)
    records = log.read(TOPIC, 0, 0, 10)
    assert [(r.offset, r.value, r.headers) for r in records] == [
        (0, b"a", (("h", b"1"),)),
        (1, None, ()),
        (2, b"d", ()),
    ]
    assert [record.offset for record in log.read(TOPIC, 0, 1, 1)] == [1]
    assert log.read(TOPIC, 0, 3, 10) == []
    assert log.read(TOPIC, 0, 0, 0) == []


def test_append_times_never_decrease(log: Log) -> None:
    for n in range(5):
        log.append(TOPIC, 0, [(bytes((n,)), ())])
    times = [record.append_ms for record in log.read(TOPIC, 0, 0, 10)]
    assert times == sorted(times)
    assert times[0] > 0


def test_truncation_drops_what_was_before_and_offsets_go_on(log: Log) -> None:
    log.append(TOPIC, 0, [(bytes((n,)), ()) for n in range(5)])
    log.truncate(TOPIC, 0, 3)
    assert log.start(TOPIC, 0) == 3
    assert [record.offset for record in log.read(TOPIC, 0, 3, 10)] == [3, 4]
    with pytest.raises(Unavailable, match="records 1 to 2 are gone"):
        log.read(TOPIC, 0, 1, 10)
    assert log.append(TOPIC, 0, [(b"x", ())]) == [5]


def test_waiting_ends_when_something_comes(log: Log) -> None:
    assert not log.wait({(TOPIC, 0): 0}, 0.05)
    timer = threading.Timer(0.05, lambda: log.append(TOPIC, 0, [(b"a", ())]))
    timer.start()
    assert log.wait({(TOPIC, 0): 0, (TOPIC, 1): 0}, 20)
    timer.join()


def test_a_closed_log_answers_nothing(log: Log) -> None:
    log.append(TOPIC, 0, [(b"a", ())])
    assert (log.start(TOPIC, 0), log.end(TOPIC, 0)) == (0, 1)  # known, and still not told again
    log.close()
    log.close()
    for use in (
        lambda: log.append(TOPIC, 0, [(b"b", ())]),
        lambda: log.read(TOPIC, 0, 0, 1),
        lambda: log.read("unheard-of", 0, 0, 1),
        lambda: log.start(TOPIC, 0),
        lambda: log.end(TOPIC, 0),
        lambda: log.truncate(TOPIC, 0, 1),
        lambda: log.wait({(TOPIC, 0): 0}, 20),
        lambda: log.wait({(TOPIC, 0): 1}, 20),
    ):
        with pytest.raises(Unavailable, match="closed"):
            use()


def test_who_waits_is_woken_by_closing(log: Log) -> None:
    started = time.monotonic()
    timer = threading.Timer(0.1, log.close)
    timer.start()
    with pytest.raises(Unavailable, match="closed"):
        log.wait({(TOPIC, 0): 0}, 60)
    assert time.monotonic() - started < 30
    timer.join()


def test_the_identity_stays(log: Log) -> None:
    assert log.identity()
    assert log.identity() == log.identity()


def test_append_times_do_not_go_back_after_truncation_and_reopening(tmp_path: Path) -> None:
    log = RocksLog(tmp_path / "log", 1, lambda: 5000)
    log.append("t", 0, [(b"a", ())])
    log.truncate("t", 0, 1)
    log.close()
    log = RocksLog(tmp_path / "log", 1, lambda: 4000)
    assert log.append("t", 0, [(b"b", ())]) == [1]
    assert log.read("t", 0, 1, 1)[0].append_ms == 5000
    log.close()


def test_many_threads_append_without_gaps(tmp_path: Path) -> None:
    log = RocksLog(tmp_path / "log", 1, lambda: 1)
    threads = [
        threading.Thread(
            target=lambda: [log.append(TOPIC, 0, [(b"x", ()), (b"y", ())]) for _ in range(50)]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = log.read(TOPIC, 0, 0, 1000)
    assert [record.offset for record in records] == list(range(400))
    assert [record.value for record in records] == [b"x", b"y"] * 200
    log.close()


def test_a_torn_tail_is_cut_and_damage_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = RocksLog(path, 1, lambda: 1)
    for n in range(200):
        log.append("t", 0, [(bytes((n,)) * 600, ())])
    copied = tmp_path / "copied"
    shutil.copytree(path, copied)  # as a killed process leaves it
    log.close()
    (wal,) = [file for file in copied.glob("*.log") if file.stat().st_size]
    whole = wal.read_bytes()
    wal.write_bytes(whole[:-100])
    log = RocksLog(copied, 1, lambda: 1)
    assert log.end("t", 0) == 199
    log.close()
    shutil.rmtree(copied)
    log = RocksLog(tmp_path / "again", 1, lambda: 1)
    for n in range(200):
        log.append("t", 0, [(bytes((n,)) * 600, ())])
    shutil.copytree(tmp_path / "again", copied)
    log.close()
    (wal,) = [file for file in copied.glob("*.log") if file.stat().st_size]
    bent = bytearray(wal.read_bytes())
    bent[len(bent) // 2] ^= 0xFF
    wal.write_bytes(bytes(bent))
    with pytest.raises(Unavailable):
        RocksLog(copied, 1, lambda: 1)


def test_a_partition_or_header_that_cannot_be_is_refused(tmp_path: Path) -> None:
    log = RocksLog(tmp_path / "log", 1, lambda: 1)
    with pytest.raises(Unavailable, match="1 partitions"):
        log.append("t", 7, [(b"", ())])
    with pytest.raises(Unavailable, match="65535"):
        log.append("t", 0, [(b"", (("h", b"x" * 70_000),))])
    assert log.end("t", 0) == 0
    log.close()


def test_the_layout_of_a_stored_record_is_pinned() -> None:
    stored = encode_record(1, b"v", (("n", b"hh"),))
    assert stored.hex() == "0000000000000001000100016e000268680176"
    record = decode_record("t", 0, 7, stored)
    assert (record.append_ms, record.value, record.headers) == (1, b"v", (("n", b"hh"),))
    assert decode_record("t", 0, 7, encode_record(1, None, ())).value is None


def test_kill_9_while_appending_loses_nothing_acknowledged(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from projections.log_rocks import RocksLog\n"
        "log = RocksLog(Path(sys.argv[1]), 1, lambda: 1)\n"
        "while True:\n"
        "    (offset,) = log.append('t', 0, [(b'x' * 500, ())])\n"
        "    print(offset, flush=True)\n"
    )
    path = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    last = -1
    for line in process.stdout:
        last = int(line)
        if last >= 300:
            os.kill(process.pid, signal.SIGKILL)
            break
    rest = process.stdout.read().split()
    process.wait()
    last = max([last, *(int(word) for word in rest[:-1])])
    log = RocksLog(path, 1, lambda: 0, create=False)
    offsets = [record.offset for record in log.read("t", 0, 0, 10**6)]
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > last
    assert log.append("t", 0, [(b"y", ())]) == [len(offsets)]
    assert log.read("t", 0, len(offsets), 1)[0].append_ms == 1
    log.close()


def test_several_partitions_are_appended_to_with_one_write_or_not_at_all(tmp_path: Path) -> None:
    log = RocksLog(tmp_path / "log", 2, lambda: 5)
    log.append("a", 0, [(b"0", ())])
    batches: dict[Place, Records] = {
        ("a", 0): [(b"1", ()), (b"2", ())],
        ("b", 1): [(b"3", (("h", b"x"),))],
    }
    assert log.append_all(batches) == {("a", 0): [1, 2], ("b", 1): [0]}
    assert [r.value for r in log.read("a", 0, 0, 9)] == [b"0", b"1", b"2"]
    with pytest.raises(Unavailable, match="partition"):
        log.append_all({("a", 0): [(b"4", ())], ("b", 2): [(b"5", ())]})
    assert (log.end("a", 0), log.end("b", 1)) == (3, 1)
    assert log.append_all({}) == {}
    log.close()


def test_large_records_are_read_a_few_at_a_time_and_none_is_skipped(tmp_path: Path) -> None:
    log = RocksLog(tmp_path / "log", 1, lambda: 5)
    log.append("a", 0, [(bytes([n]) * 1024 * 1024, ()) for n in range(20)])
    seen: list[int] = []
    while records := log.read("a", 0, len(seen), 500):
        assert sum(len(record.value or b"") for record in records) <= READ_BYTES + 1024 * 1024
        seen += [record.offset for record in records]
    assert seen == list(range(20))
    log.append("b", 0, [(bytes(READ_BYTES + 1), ())])
    assert len(log.read("b", 0, 0, 500)) == 1
    log.close()
