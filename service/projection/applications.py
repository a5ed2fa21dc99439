"""An Application's state -> its row in `applications`. Pure.

The row is what lists, filters and the fleet are made of; the whole object stands in `objects`.
`syncSince` and `healthSince` survive as long as the value does. Environment and service come from
the application's labels, else from its agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bus.ids import derived_id
from bus.link import StateBody
from service.projection.attention import attention_of
from service.projection.deployment import running_of, sync_failure_of
from service.projection.values import Scope, State, clip, first, listed, mapping, moment

ENVIRONMENT = "gitops.house/environment"
SERVICE = "gitops.house/service"
_UNKNOWN = "Unknown"


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """What the row said before."""

    sync: str
    health: str
    sync_since: datetime | None
    health_since: datetime | None


def application_id(agent_id: str, subject: str) -> str:
    return derived_id(f"application {agent_id} {subject}")


def application_row(
    scope: Scope, state: State, body: StateBody, before: Since | None
) -> dict[str, Any]:
    return {
        "id": application_id(scope.agent_id, state.subject),
        "agent_id": scope.agent_id,
        "account_id": scope.account_id,
        "as_of": state.time,
        "suspect": False,
        **_identity(scope, state, body),
        **_source(body.spec, body.status),
        **_deployment(body, state.time),
        **_condition(body.status, state.time, before),
    }


def _identity(scope: Scope, state: State, body: StateBody) -> dict[str, Any]:
    namespace, _, name = state.subject.partition("/")
    labels = body.labels
    return {
        "namespace": clip(namespace, 63),
        "name": clip(name, 253),
        "project": clip(state.project or body.spec.get("project") or "default", 63),
        "environment": clip(labels.get(ENVIRONMENT) or scope.environment, 63),
        "region": scope.region,
        "service": clip(labels.get(SERVICE), 253),
        "labels": labels,
    }


def _source(spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
    sources = spec.get("sources")
    source = mapping(spec.get("source")) or mapping(first(sources))
    sync = mapping(status.get("sync"))
    automated = mapping(spec.get("syncPolicy")).get("automated")
    return {
        "repository": clip(source.get("repoURL"), 700),
        "path": clip(source.get("path") or source.get("chart"), 700),
        "target_revision": clip(source.get("targetRevision"), 253),
        "revision": clip(sync.get("revision") or first(sync.get("revisions")), 64),
        "automated": automated is not None and mapping(automated).get("enabled") is not False,
        "images": [clip(it, 700) for it in listed(mapping(status.get("summary")).get("images"))],
    }


def _deployment(body: StateBody, time: datetime) -> dict[str, Any]:
    """What runs, what keeps the wanted revision from running, and whether it needs a person."""
    running, failure = running_of(body.status), sync_failure_of(body.status)
    automated = bool(_source(body.spec, body.status)["automated"])
    return {
        "running_revision": running.revision,
        "running_since": moment(running.since, time) if running.since else None,
        "running_by": running.by,
        "rolled_back": running.rolled_back,
        "cause": msgspec.to_builtins(body.cause) if body.cause is not None else None,
        "sync_failure": msgspec.to_builtins(failure) if failure is not None else None,
        "attention": attention_of(body, failure, automated=automated).value,
    }


def _condition(status: Mapping[str, Any], time: datetime, before: Since | None) -> dict[str, Any]:
    sync = clip(mapping(status.get("sync")).get("status") or _UNKNOWN, 16)
    health = mapping(status.get("health"))
    word = clip(health.get("status") or _UNKNOWN, 16)
    began = moment(str(health.get("lastTransitionTime") or ""), time)
    return {
        "sync": sync,
        "health": word,
        "health_message": clip(health.get("message"), 4000),
        "phase": clip(mapping(status.get("operationState")).get("phase"), 16),
        "conditions": [_plain(mapping(it)) for it in listed(status.get("conditions"))],
        "sync_since": before.sync_since if before and before.sync == sync else time,
        "health_since": before.health_since if before and before.health == word else began,
    }


def _plain(condition: Mapping[str, Any]) -> dict[str, str]:
    return {
        "type": clip(condition.get("type"), 80),
        "message": clip(condition.get("message"), 4000),
        "since": clip(condition.get("lastTransitionTime"), 40),
    }
