"""Where the tests' Kafka broker comes from: the first of these that there is.

1. `KAFKA_BOOTSTRAP_SERVERS`, if set: it must answer.
2. Docker, if an engine answers: Apache Kafka's own image through testcontainers.
3. Apache Kafka on the local JVM, by `infra/kafka/kafka.sh`, in a temporary directory on ports that
   are fixed for this worker process and checked to be free; the script's watch takes it down even
   if the test run is killed.

Where there is none the test skips, saying why each was not there, or fails if
`MNEMOLOG_REQUIRE_KAFKA=1`. Under pytest-xdist each worker process has a broker of its own. A broker
serves a whole session, so a test uses topic and group names of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import docker
import pytest
from confluent_kafka.admin import AdminClient
from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

SCRIPT = Path(__file__).parents[1] / "infra" / "kafka" / "kafka.sh"
IMAGE = "apache/kafka:4.1.1"
FIRST_PORT = 29092  # below the ports that the kernel hands out by itself
PORTS_A_WORKER = 60
UP_SECONDS = 240  # the first time Maven fetches the jars
ANSWER_SECONDS = 30.0
SESSION_MS = 4000  # a killed node may come back, or be replaced, after this


def worker_ports() -> range:
    """The ports of this process: pytest-xdist's workers have a range each."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = FIRST_PORT + PORTS_A_WORKER * worker
    return range(first, first + PORTS_A_WORKER)


class NoBroker(Exception):
    """This source has no broker to offer; the text says why."""


class PortTaken(Exception):
    """Another program listens on one of the ports that were asked for."""


class LocalKafka:
    """A cluster of one or three nodes on the local JVM, in a directory of its own.

    `up` returns the bootstrap address and may be called again; `kill` and `start` take a node
    number from 1; `down` also removes the data. Raises `NoBroker` where Java, Maven or the jars are
    missing, `PortTaken`, and `RuntimeError` with the script's words for anything else.
    """

    PORTS = 6  # taken from `port` on

    def __init__(self, directory: Path, port: int) -> None:
        self.directory = directory
        self.port = port

    def up(self, nodes: int = 1) -> str:
        return self.run("up", str(nodes)).splitlines()[-1]

    def kill(self, node: int) -> None:
        self.run("kill", str(node))

    def start(self, node: int) -> None:
        self.run("start", str(node))

    def down(self) -> None:
        self.run("down")

    def run(self, *arguments: str) -> str:
        """The script's standard output."""
        environment = os.environ | {
            "MNEMOLOG_KAFKA_DIR": str(self.directory),
            "MNEMOLOG_KAFKA_PORT": str(self.port),
            "MNEMOLOG_KAFKA_SESSION_MS": str(SESSION_MS),
            "MNEMOLOG_KAFKA_OWNER": str(os.getpid()),
        }
        done = subprocess.run(
            [SCRIPT, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=UP_SECONDS,
            check=False,
        )
        if done.returncode == 3:
            raise NoBroker(done.stderr.strip())
        if done.returncode == 4:
            raise PortTaken(done.stderr.strip())
        if done.returncode != 0:
            raise RuntimeError(f"kafka.sh {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


OwnKafka = Callable[[int], tuple[LocalKafka, str]]


def start_local(stack: ExitStack, directory: Path, nodes: int = 1) -> tuple[LocalKafka, str]:
    """A running local cluster and its bootstrap address; `stack` takes it down."""
    ports = worker_ports()
    for port in ports[:: LocalKafka.PORTS]:
        kafka = LocalKafka(directory, port)
        stack.callback(kafka.down)
        try:
            return kafka, kafka.up(nodes)
        except PortTaken:
            continue
    raise NoBroker(f"a port in each part of {ports[0]} to {ports[-1]} is taken")


def start_docker(stack: ExitStack) -> str:
    """Bootstrap address of a broker in a container; `stack` removes it."""
    try:
        engine = docker.from_env(timeout=5)
        stack.callback(engine.close)
        engine.ping()
    except DockerException as error:
        raise NoBroker(f"no Docker engine answers: {error}") from error
    port = worker_ports()[-1]
    container = DockerContainer(IMAGE).with_bind_ports(9092, port)
    bootstrap = f"{container.get_container_host_ip()}:{port}"
    settings = {
        "NODE_ID": "1",
        "PROCESS_ROLES": "broker,controller",
        "LISTENERS": "CLIENT://:9092,CONTROLLER://:9093",
        "ADVERTISED_LISTENERS": f"CLIENT://{bootstrap}",
        "LISTENER_SECURITY_PROTOCOL_MAP": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "INTER_BROKER_LISTENER_NAME": "CLIENT",
        "CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "AUTO_CREATE_TOPICS_ENABLE": "false",
        "OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    }
    for name, value in settings.items():
        container.with_env(f"KAFKA_{name}", value)
    try:
        stack.enter_context(container)
    except DockerException as error:
        raise NoBroker(f"Docker could not start {IMAGE}: {error}") from error
    return bootstrap


def give_up(reasons: list[str]) -> NoReturn:
    """Skip the test for these reasons, or fail it where a broker is required."""
    text = "no Kafka broker: " + "; ".join(reasons)
    if os.environ.get("MNEMOLOG_REQUIRE_KAFKA") == "1":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def find_broker(stack: ExitStack, directory: Path) -> str:
    """Bootstrap address of a broker that answers, from the first source that has one."""
    given = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    reasons = ["KAFKA_BOOTSTRAP_SERVERS is not set"]
    if given:
        return given
    try:
        return start_docker(stack)
    except NoBroker as reason:
        reasons.append(str(reason))
    try:
        return start_local(stack, directory)[1]
    except NoBroker as reason:
        give_up([*reasons, str(reason)])


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap address of the session's broker, which creates no topic by itself."""
    with ExitStack() as stack:
        bootstrap = find_broker(stack, tmp_path_factory.mktemp("kafka"))
        AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=ANSWER_SECONDS)
        yield bootstrap


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[OwnKafka]:
    """Starts a cluster of so many nodes that this test alone uses, and may break."""
    with ExitStack() as stack:

        def start(nodes: int) -> tuple[LocalKafka, str]:
            try:
                return start_local(stack, tmp_path / "kafka", nodes)
            except NoBroker as reason:
                give_up([str(reason)])

        yield start
