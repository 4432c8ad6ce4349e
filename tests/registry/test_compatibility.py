"""A registry's own judgement of our schemas against the released ones (ARCHITECTURE "Formats")."""

from __future__ import annotations

import json
import uuid

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from schemas.errors import Unavailable
from schemas.kinds import Kind
from schemas.registry_resolver import ConfluentResolver, subjects_of
from schemas.released import released
from schemas.topics import TopicNames
from schemas.writers import schema_text
from tests.registry.writing import Edit, edited, extra, field

pytestmark = pytest.mark.registry


@pytest.fixture
def topics() -> TopicNames:
    """Names that no other test has."""
    return TopicNames(f"c-{uuid.uuid4().hex[:10]}")


@pytest.fixture
def client(registry_url: str, topics: TopicNames) -> SchemaRegistryClient:
    """A registry that holds every released schema and takes only what is fully compatible."""
    made = SchemaRegistryClient({"url": registry_url})
    subjects = subjects_of(topics)
    for texts in released().values():
        for kind, text in texts.items():
            made.register_schema(subjects[kind], Schema(text, "AVRO"))
    for subject in subjects.values():
        made.set_compatibility(subject, "FULL_TRANSITIVE")
    return made


def test_current_schemas_may_follow_every_released_one(
    client: SchemaRegistryClient, registry_url: str, topics: TopicNames
) -> None:
    subjects = subjects_of(topics)
    for kind in Kind:
        assert client.test_compatibility(subjects[kind], Schema(schema_text(kind), "AVRO"))
    ids = ConfluentResolver({"url": registry_url}).register(subjects)
    assert ids.keys() == set(Kind)
    assert ids == ConfluentResolver({"url": registry_url}).register(subjects), "ids stay"
    for kind, schema_id in ids.items():
        text = ConfluentResolver({"url": registry_url}).schema(schema_id)
        assert text is not None
        assert field_names(text) == field_names(schema_text(kind))


def test_a_new_optional_field_may_follow(client: SchemaRegistryClient, topics: TopicNames) -> None:
    text = edited(Kind.OBSERVATION, extra("mood", ["null", "string"], None))
    assert client.test_compatibility(subjects_of(topics)[Kind.OBSERVATION], Schema(text, "AVRO"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record["fields"].append({"name": "mood", "type": "string"}),
        lambda record: record["fields"].remove(field(record, "purpose")),
        lambda record: field(record, "salience").update(type="string"),
    ],
    ids=["a field that must be there", "a field less", "a type"],
)
def test_a_schema_that_breaks_a_release_is_refused_by_name(
    client: SchemaRegistryClient,
    registry_url: str,
    topics: TopicNames,
    edit: Edit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = edited(Kind.OBSERVATION, edit)
    subject = subjects_of(topics)[Kind.OBSERVATION]
    assert not client.test_compatibility(subject, Schema(broken, "AVRO"))
    monkeypatch.setattr("schemas.registry_resolver.schema_text", lambda kind: broken)
    with pytest.raises(Unavailable, match=r"(?i)incompatible") as caught:
        ConfluentResolver({"url": registry_url}).register({Kind.OBSERVATION: subject})
    assert caught.value.part == "schema registry"


def field_names(text: str) -> list[str]:
    """The fields of a record's schema in their order."""
    return [one["name"] for one in json.loads(text)["fields"]]
