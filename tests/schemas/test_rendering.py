"""Events render to the interface's JSON, and parse from it to themselves (INTERFACE "Events")."""

from __future__ import annotations

import json
from typing import get_args

from hypothesis import given
from pydantic import TypeAdapter

from schemas import rendering
from schemas.boundary import parse_event
from schemas.events import Event
from schemas.kinds import ACTOR_ROLES, CONTROLS, DERIVATIONS, SENSITIVITIES, Kind
from schemas.rendering import event_json
from schemas.wire import TYPE_OF_KIND, ControlJson, DerivationJson, EventJson, Role, Sensitivity
from tests.schemas.generated import events
from tests.schemas.samples import NOW, assertion, observation, parse


@given(events)
def test_what_is_rendered_parses_to_the_same_event(pair: tuple[Kind, Event]) -> None:
    kind, event = pair
    raw = json.loads(json.dumps(event_json(kind, event)))
    again = parse_event(raw, adapter=event.envelope.adapter, now=NOW, new_id=lambda: "unused")
    assert again == (kind, event)


@given(events)
def test_what_is_rendered_fits_the_published_schema(pair: tuple[Kind, Event]) -> None:
    TypeAdapter(EventJson).validate_python(event_json(*pair))


def test_the_vocabularies_of_json_are_those_of_the_events() -> None:
    assert get_args(Role) == ACTOR_ROLES
    assert get_args(Sensitivity) == SENSITIVITIES
    schema = TypeAdapter(DerivationJson).json_schema()
    assert tuple(schema["properties"]["kind"]["enum"]) == DERIVATIONS
    schema = TypeAdapter(ControlJson).json_schema()
    assert tuple(schema["properties"]["control"]["enum"]) == CONTROLS
    assert set(TYPE_OF_KIND) == set(Kind)


def test_every_kind_renders() -> None:
    assert set(rendering._BODIES) == set(Kind)


def test_an_observation_in_the_words_of_the_interface() -> None:
    assert event_json(*parse(observation())) == {
        "kind": "observation",
        "event_id": "e1",
        "scope": {
            "tenant": "acme",
            "namespace": "support",
            "subject": "alice",
            "branch": "main",
        },
        "occurred_at": "2026-05-01T09:00:00.000000Z",
        "actor": {"id": "crm", "role": "system"},
        "purpose": "unspecified",
        "idempotency_key": "e1",
        "content": "Moved to Berlin.",
        "media_type": "text/plain",
        "sensitivity": "normal",
        "salience": 0.5,
    }


def test_an_open_end_and_no_target_are_said_as_null() -> None:
    shown = event_json(*parse(assertion()))
    assert (shown["valid_to"], shown["supersedes"]) == (None, None)
    assert "expires_at" not in shown
    assert (shown["value"], shown["type"]) == ("Berlin", "string")
