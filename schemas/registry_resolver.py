"""Schemas from a registry that speaks Confluent's API (ARCHITECTURE "Formats").

A schema is taken by its id and never guessed from a topic or a latest version. An id that the
registry does not have is None; any other answer, or none, is `Unavailable`: an event is not judged
by a registry that is away. The client keeps the schemas it fetched; ids are never reused. It waits
for an answer a bounded time, whatever the client's own default is: admission waits with it.

Needs the extra `registry` (`confluent-kafka[schemaregistry]`), imported only when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from schemas.errors import Unavailable
from schemas.kinds import Kind
from schemas.topics import TopicNames
from schemas.writers import schema_text

_NO_SUCH_SCHEMA = 40403  # the registry's own code; a bare 404 is a wrong URL
_PART = "schema registry"
_PATIENCE = {  # 10 s for an answer, three tries: well within a consumer's session
    "timeout": 10,
    "max.retries": 2,
    "retries.wait.ms": 100,
    "retries.max.wait.ms": 1000,
}


def subjects_of(topics: TopicNames) -> dict[Kind, str]:
    """The subject of each kind's schema: that of its topic's values (TopicNameStrategy)."""
    return {kind: f"{topic}-value" for kind, topic in topics.intake.items()}


class ConfluentResolver:
    """A `SchemaResolver` over `confluent_kafka.schema_registry`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config`: the client's own settings, `url` at least; nothing is fetched yet.

        It may hold what the client needs beside the URL: credentials, certificates, more patience.
        """
        try:
            from confluent_kafka import schema_registry
        except ImportError as error:
            raise Unavailable(
                _PART,
                f"its client is not installed ({error.name})",
                "pip install mnemolog[registry]",
            ) from error
        self._registry = schema_registry
        urls = str(config.get("url", "")).split(",")
        self._hosts = ",".join(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
        self._client = schema_registry.SchemaRegistryClient({**_PATIENCE, **config})

    def schema(self, schema_id: int) -> str | None:
        """See `SchemaResolver`; schemas other than self-contained Avro ones are None."""
        try:
            found = self._client.get_schema(schema_id)
        except self._registry.SchemaRegistryError as error:
            if error.error_code == _NO_SUCH_SCHEMA:
                return None
            raise self._away(error) from error
        except Exception as error:  # its transport raises classes of a library of its choice
            raise self._away(error) from error
        return None if found.schema_type != "AVRO" or found.references else found.schema_str

    def register(self, subjects: Mapping[Kind, str]) -> dict[Kind, int]:
        """Registers the current schemas under their subjects; their ids, for `Codec`.

        A registry that refuses one, since it breaks its compatibility rule, is `Unavailable` too.
        """
        ids = {}
        for kind, subject in subjects.items():
            schema = self._registry.Schema(schema_text(kind), "AVRO")
            try:
                ids[kind] = self._client.register_schema(subject, schema)
            except Exception as error:
                raise self._away(error) from error
        return ids

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(
            _PART, f"{self._hosts}: {error}", "check that it runs, its URL and the credentials"
        )
