"""Asking a model everything at once: plain data by which two runs of a history are compared."""

from __future__ import annotations

from collections.abc import Sequence

from tests.model.histories import History
from tests.model.reference import ANY, Model
from tests.model.rules import Record, World


def run(history: History, records: Sequence[Record], rules: type[World] = World) -> Model:
    """The model after the records, under the history's registry and policy."""
    model = Model(history.adapters, history.policy, rules)
    for record in records:
        model.consume(record)
    return model


def answers(history: History, model: Model) -> list[object]:
    """Everything public at every interesting instant."""
    asserted = [record["event"] for record in history.records if record["kind"] == "assertion"]
    ids = sorted({event["fact_id"] for event in asserted})
    claims = [{**event, "facts": [event["fact_id"]]} for event in asserted]
    found: list[object] = []
    for scope in history.scopes:
        found.append(model.episodes(scope))
        found.append([(model.status(scope, f), model.retracted(scope, f)) for f in ids])
        found.append((model.public_facts(scope, ANY), model.conflicts(scope, ANY)))
        for t in model.instants(scope):
            found.append((t, model.public_facts(scope, t), model.conflicts(scope, t)))
            found.append(model.release(scope, t, claims))
            found.append([model.superseded_by(scope, f, t) for f in ids])
    return found
