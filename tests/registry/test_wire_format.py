"""Events written with a registry's ids, through a real broker and worker (SPEC §2)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from mnemolog.cluster import create_topics
from schemas.codec import Codec
from schemas.kinds import Decision, Kind, Reason
from schemas.principals import LOCAL
from schemas.registry_resolver import ConfluentResolver
from tests.cluster.conftest import PARTITIONS, Cluster
from tests.intake.harness import ALICE, Intake
from tests.registry.writing import Edit, Json, Writer, edited, extra, field, subject_before_tenant

pytestmark = [pytest.mark.kafka, pytest.mark.registry]
OBSERVATION = Kind.OBSERVATION
MOOD = {"string": "angry", "map": {"hot": 7}}


@pytest.fixture(scope="module")
def intake(
    kafka_bootstrap: str, registry_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Intake]:
    """A running worker that knows the registry."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MNEMOLOG_TOPIC_PREFIX", f"r-{uuid.uuid4().hex[:10]}")
        environment.setenv("MNEMOLOG_SCHEMA_REGISTRY", registry_url)
        create_topics(kafka_bootstrap, PARTITIONS)
        cluster = Cluster(kafka_bootstrap, tmp_path_factory.mktemp("intake"))
    yield Intake(cluster)
    cluster.stop()


def subject() -> str:
    """One that no other test has."""
    return f"s-{uuid.uuid4().hex[:10]}"


def future(url: str, *edits: Edit) -> Writer:
    """A producer of observations whose schema is not ours."""
    return Writer(url, subject(), OBSERVATION, edited(OBSERVATION, *edits))


def test_a_publisher_registers_our_schemas_and_writes_their_ids(
    intake: Intake, registry_url: str
) -> None:
    topics = intake.cluster.topics
    publisher = intake.cluster.installation.publisher(LOCAL, PARTITIONS)
    (placed,) = publisher.publish([intake.event()])
    publisher.close()
    assert intake.entry(OBSERVATION, placed.offset).header.decision == Decision.ACCEPTED
    records = intake.cluster.records(topics.intake[OBSERVATION], ALICE)
    (raw,) = [record.value for record in records if record.offset == placed.offset]
    subjects = {OBSERVATION: f"{topics.intake[OBSERVATION]}-value"}
    ids = ConfluentResolver({"url": registry_url}).register(subjects)
    assert raw is not None
    assert raw[:5] == b"\x00" + ids[OBSERVATION].to_bytes(4, "big")


def test_both_frames_may_stand_in_one_topic(intake: Intake, registry_url: str) -> None:
    writer = future(registry_url)
    for _ in range(3):
        kind, event = intake.event()
        intake.admitted(Codec().encode(kind, event))
        kind, event = intake.event()
        intake.admitted(writer.frame(event))


def test_an_id_that_the_registry_does_not_have_is_dead_lettered(
    intake: Intake, registry_url: str
) -> None:
    kind, event = intake.event()
    raw = b"\x00\x7f\xff\xff\xfe" + Codec().encode(kind, event)[10:]
    told = intake.dead_letter(raw)
    assert told.reason == Reason.UNKNOWN_SCHEMA
    assert str(0x7FFFFFFE) in told.rejection["detail"]


def test_an_id_of_another_record_is_dead_lettered(intake: Intake, registry_url: str) -> None:
    other = Writer(registry_url, subject(), Kind.RETRACTION, edited(Kind.RETRACTION))
    _, event = intake.event()
    raw = b"\x00" + other.schema_id.to_bytes(4, "big") + future(registry_url).frame(event)[5:]
    told = intake.dead_letter(raw)
    assert told.reason == Reason.UNKNOWN_SCHEMA
    assert "observation" in told.rejection["detail"]


def test_fields_in_another_order_are_read_as_their_writer_wrote_them(
    intake: Intake, registry_url: str
) -> None:
    """Both versions under one subject, as the topic's own history would have them."""
    name = subject()
    first = Writer(registry_url, name, OBSERVATION, edited(OBSERVATION))
    swapped = edited(OBSERVATION, subject_before_tenant)
    second = Writer(registry_url, name, OBSERVATION, swapped)
    assert first.schema_id != second.schema_id
    scopes = set()
    for writer in (first, second, first, second):
        _, event = intake.event()
        scopes.add(intake.admitted(writer.frame(event)).header.scope)
    kind, event = intake.event()
    scopes.add(intake.admitted(Codec().encode(kind, event)).header.scope)
    assert len(scopes) == 1, "read in the wrong order, tenant and subject change places in silence"


def new_symbol(record: Json) -> None:
    """An enum with a symbol that we do not have, and a default that would hide it."""
    enum = field(record, "sensitivity")["type"]
    enum["symbols"].append("classified")
    enum["default"] = "normal"


@pytest.mark.parametrize(
    "edit",
    [
        extra("mood", "string", "calm"),
        extra("mood", {"type": "map", "values": "long"}, {}),
        new_symbol,
        lambda record: record["fields"].reverse(),
    ],
    ids=["a field", "a map", "a symbol that is not used", "all fields reversed"],
)
def test_a_schema_of_the_future_is_read_for_what_we_know(
    intake: Intake, registry_url: str, edit: Edit
) -> None:
    """The same event in our schema is its duplicate, so nothing was misread or left out."""
    kind, event = intake.event()
    writer = future(registry_url, edit)
    first = intake.admitted(writer.frame(event, mood=MOOD.get(writer.type_of("mood"))))
    raw = Codec().encode(kind, event)
    again = intake.entry(kind, intake.send(raw, kind, intake.signature(raw, kind)))
    assert again.header.decision == Decision.DUPLICATE
    assert again.header.content == first.header.content


def test_a_symbol_of_the_future_is_dead_lettered_and_never_defaulted(
    intake: Intake, registry_url: str
) -> None:
    _, event = intake.event()
    told = intake.dead_letter(
        future(registry_url, new_symbol).frame(event, sensitivity="classified")
    )
    assert told.reason == Reason.UNKNOWN_SYMBOL
    assert "sensitivity" in told.rejection["detail"]


def nested_in_itself(record: Json) -> None:
    """A list as deep as its writer likes."""
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    record["fields"].append({"name": "next", "type": ["null", node], "default": None})


@pytest.mark.parametrize(
    ("edit", "changes", "named"),
    [
        (lambda record: field(record, "content")["type"].append("long"), {}, "content"),
        (lambda record: field(record, "salience").update(type="string"), {"salience": "1"},
         "salience"),
        (lambda record: record["fields"].remove(field(record, "scope")), {}, "scope"),
        (lambda record: field(record, "scope.tenant").update(type=["null", "string"]), {},
         "scope.tenant"),
        (nested_in_itself, {"next": None}, "next.next contains itself"),
    ],
    ids=["a branch", "a type", "a field less", "a null", "a schema within itself"],
)  # fmt: skip
def test_a_schema_of_the_future_that_says_otherwise_is_dead_lettered_by_the_field(
    intake: Intake, registry_url: str, edit: Edit, changes: dict[str, object], named: str
) -> None:
    _, event = intake.event()
    told = intake.dead_letter(future(registry_url, edit).frame(event, **changes))
    assert told.reason == Reason.UNKNOWN_SCHEMA
    assert named in told.rejection["detail"]
