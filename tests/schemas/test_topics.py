"""Topics (SPEC §2): names are final, settings are checked and each difference has its remedy."""

from __future__ import annotations

import pytest

from schemas.codec import MAX_FRAME_BYTES
from schemas.errors import Unavailable
from schemas.kinds import Kind
from schemas.topics import INTAKE_MAX_BYTES, Topic, TopicNames, differences

NAMES = TopicNames()


def topic(name: str) -> Topic:
    return next(topic for topic in NAMES.topics() if topic.name == name)


def test_names_are_final() -> None:
    assert [topic.name for topic in NAMES.topics()] == [
        "mnemolog.observations",
        "mnemolog.assertions",
        "mnemolog.retractions",
        "mnemolog.deletions",
        "mnemolog.associations",
        "mnemolog.procedures",
        "mnemolog.outcomes",
        "mnemolog.commitments",
        "mnemolog.appraisals",
        "mnemolog.challenges",
        "mnemolog.grants",
        "mnemolog.workingsets",
        "mnemolog.controls",
        "mnemolog.ledger",
        "mnemolog.rejections",
        "mnemolog.triggers",
        "mnemolog.keys",
        "mnemolog.anchors",
        "mnemolog.checkpoints",
    ]


def test_kinds_and_intake_topics_name_each_other() -> None:
    names = TopicNames("team-a.memory")
    assert names.intake[Kind.GRANT] == "team-a.memory.grants"
    assert {name: kind for kind, name in names.intake.items()} == names.kind_of
    assert set(names.intake) == set(Kind)
    assert names.ledger not in names.kind_of


@pytest.mark.parametrize("prefix", ["", ".", ".hidden", "a b", "a/b", "ä", "x" * 201])
def test_a_prefix_that_kafka_refuses_is_refused_with_the_characters(prefix: str) -> None:
    with pytest.raises(Unavailable, match="a-z"):
        TopicNames(prefix)


def test_what_holds_memory_is_never_deleted_by_the_broker() -> None:
    for name in (NAMES.ledger, *NAMES.intake.values()):
        config = topic(name).config
        assert config["cleanup.policy"] == "delete"
        assert config["retention.ms"] == config["retention.bytes"] == "-1"
        assert config["message.timestamp.type"] == "LogAppendTime"
    assert int(topic(NAMES.ledger).config["max.message.bytes"]) > INTAKE_MAX_BYTES
    assert INTAKE_MAX_BYTES >= MAX_FRAME_BYTES


@pytest.mark.parametrize("name", [NAMES.keys, NAMES.anchors])
def test_keys_and_anchors_are_compacted(name: str) -> None:
    assert topic(name).config["cleanup.policy"] == "compact"


def test_a_topic_as_it_should_be_has_no_differences() -> None:
    for each in NAMES.topics():
        assert differences(each, {**each.config, "segment.ms": "1"}, (4, 4)) == []


@pytest.mark.parametrize("setting", ["retention.ms", "cleanup.policy", "message.timestamp.type"])
def test_a_difference_is_told_with_its_remedy(setting: str) -> None:
    ledger = topic(NAMES.ledger)
    (told,) = differences(ledger, {**ledger.config, setting: "other"})
    wanted = ledger.config[setting]
    assert told.startswith(f"mnemolog.ledger: {setting} is other and must be {wanted}")
    assert f"--entity-name mnemolog.ledger --add-config {setting}={wanted}" in told


def test_every_setting_is_checked_also_one_that_is_not_told() -> None:
    for each in NAMES.topics():
        assert len(differences(each, {})) == len(each.config)


def test_more_room_is_no_difference() -> None:
    intake, keys = topic("mnemolog.grants"), topic("mnemolog.keys")
    assert not differences(intake, {**intake.config, "max.message.bytes": "10000000"})
    assert differences(intake, {**intake.config, "max.message.bytes": "1048588"})
    assert not differences(keys, {**keys.config, "max.compaction.lag.ms": "60000"})
    assert differences(keys, {**keys.config, "max.compaction.lag.ms": "9223372036854775807"})


def test_a_changed_count_of_partitions_is_told() -> None:
    intake = topic("mnemolog.grants")
    (told,) = differences(intake, intake.config, (8, 4))
    assert "8 partitions and must have 4" in told
