"""What all processes of one cluster share, and the directory that each has for itself.

All of an installation share the master secret and the registry (`keys.json`). Each process has its
own stores under the data directory, in an instance directory that it locks; followers rebuild
theirs from the ledger, so losing one loses nothing.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from mnemolog.anchoring import Anchoring
from mnemolog.cluster.met import meet
from mnemolog.data_directory import take
from mnemolog.folding import open_projection, open_state
from mnemolog.parts import Turnstile
from processors import topics_admin
from processors.admission import Rules
from producers.kafka import KafkaPublisher
from projections.anchors import FileAnchors
from projections.follower import Follower
from projections.kafka_anchors import KafkaAnchors
from projections.kafka_checkpoints import KafkaCheckpoints
from projections.kafka_io import Kafka, KafkaSettings
from projections.kafka_log import KafkaLog
from projections.kafka_vault import KafkaVault
from schemas.checkpoints import CheckpointKey
from schemas.codec import Codec
from schemas.errors import Unavailable
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.policy import load as load_policy
from schemas.principals import built_in_signer
from schemas.registry import RegistryFile
from schemas.registry_resolver import ConfluentResolver, subjects_of
from schemas.sealing import Hasher
from schemas.topics import TopicNames

INSTANCES = 64


PREFIX_VARIABLE = "MNEMOLOG_TOPIC_PREFIX"
SCHEMAS_VARIABLE = "MNEMOLOG_SCHEMA_REGISTRY"


class Installation:
    """What every process of one cluster shares."""

    def __init__(self, bootstrap: str, data: Path, master: MasterKey) -> None:
        self.settings = KafkaSettings.load(bootstrap)
        self.kafka = Kafka(self.settings)
        self.topics = TopicNames(os.environ.get(PREFIX_VARIABLE, "mnemolog"))
        self.data = data
        self.master = master
        self.hasher = Hasher(master.derive("keyed-hashes"))
        url = os.environ.get(SCHEMAS_VARIABLE)
        self._schemas = ConfluentResolver({"url": url}) if url else None
        self.codec = Codec(self._schemas)
        self.registry_file = RegistryFile(data / "keys.json", master)

    @cached_property
    def writing_codec(self) -> Codec:
        """Writes the Confluent wire format where there is a registry; it has our schemas then."""
        if self._schemas is None:
            return self.codec
        return Codec(self._schemas, self._schemas.register(subjects_of(self.topics)))

    def policy(self) -> Policy:
        """The policy in force."""
        return load_policy(self.data / "policy.toml")

    def rules(self) -> Rules:
        """Policy and principals as they are now."""
        return Rules(self.policy(), self.registry_file.snapshot())

    def publisher(self, name: str, partitions: int) -> KafkaPublisher:
        """A publisher that signs as a built-in principal."""
        return KafkaPublisher(
            self.settings.client(),
            self.topics,
            built_in_signer(self.master, name),
            partitions,
            self.writing_codec,
        )

    def meet_topics(self, partitions: int, directory: Path, *, intake_anew: bool = False) -> None:
        """Refuse topics that are not the ones an instance directory was made from."""
        meet(self.kafka, self.topics, partitions, directory, intake_anew=intake_anew)

    def log(self, partitions: int) -> KafkaLog:
        """A log for one thread."""
        return KafkaLog(self.kafka, partitions, self.topics.ledger)

    def follower(
        self, number: int, partitions: int, directory: Path, *, lock: threading.RLock, writer: bool
    ) -> Follower:
        """A follower of one partition with stores of its own."""
        own = directory / f"p{number}"
        known = own.exists()
        rebuild = f"type: rm -r {shlex.quote(str(own))}; the next start rebuilds it from the ledger"
        with ExitStack() as held:
            keys = open_projection(own / "vault", rebuild, known=known)
            held.callback(keys.close)
            store = open_state(own / "state", rebuild, self.master, number, known=known)
            held.pop_all()
        vault = KafkaVault(
            self.kafka,
            self.log(partitions),
            self.topics.keys,
            number,
            keys,
            self.master.derive("record-keys"),
            publish=writer,
        )
        reading, turnstile = self.log(partitions), Turnstile(store, lock)
        return Follower(number, reading, self.topics.ledger, turnstile, vault, self.hasher)

    def checkpoints(self, partitions: int) -> KafkaCheckpoints:
        """What was signed last, in a compacted topic."""
        key = CheckpointKey(self.master)
        return KafkaCheckpoints(self.kafka, self.log(partitions), self.topics.checkpoints, key)

    def anchoring(self, partitions: int, directory: Path) -> Anchoring:
        """Anchors in the compacted topic; an instance directory remembers them."""
        key = self.master.derive("anchors")
        return Anchoring(
            KafkaAnchors(
                self.kafka,
                self.log(partitions),
                self.topics.anchors,
                key,
            ),
            FileAnchors(directory / "anchored", key, self.topics.prefix),
        )


@contextmanager
def instance_directory(data: Path, role: str) -> Iterator[Path]:
    """The first directory of a role that no other process holds; locked until the end."""
    for number in range(INSTANCES):
        directory = data / f"{role}-{number}"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            handle = take(directory / "lock")
        except BlockingIOError:
            continue
        except OSError as error:
            raise Unavailable(
                "data", f"cannot make {directory}: {error.strerror}", f"make {data} writable"
            ) from error
        try:
            yield directory
        finally:
            os.close(handle)
        return
    raise Unavailable("data", f"{INSTANCES} {role} processes use {data}", "use another --data")


def create_topics(bootstrap: str, partitions: int) -> list[str]:
    """Create what is missing; the names of the topics made."""
    kafka = Kafka(KafkaSettings.load(bootstrap))
    return topics_admin.create(kafka, _names(), partitions)


def check_topics(bootstrap: str) -> list[str]:
    """What is wrong with the topics."""
    return topics_admin.check(Kafka(KafkaSettings.load(bootstrap)), _names())


def _names() -> TopicNames:
    return TopicNames(os.environ.get(PREFIX_VARIABLE, "mnemolog"))
