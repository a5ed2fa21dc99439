"""Rows of `applications`, made from the reported state of an Application. Pure.

Lists, filters and the fleet are made of the row; the whole object is stored in `objects`.
`syncSince` and `healthSince` last as long as the value does. Environment and service come from the
application's labels, else from its agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bus.events import Commit
from bus.identity import derived_id
from bus.link import StateBody
from bus.metadata_keys import ENVIRONMENT, SERVICE
from service.projection.application_status import (
    attention_of,
    main_revision,
    main_source,
    running_of,
    sync_failure_of,
)
from service.projection.batch import (
    BatchScope,
    ReportedState,
    clip,
    listed,
    mapping,
    parsed_time,
)

_UNKNOWN = "Unknown"
_COMMITS, _LONGEST_COMMIT = 20, 400


class StateChangeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The states of an application's row before a batch, and since when they hold."""

    sync: str
    health: str
    sync_since: datetime | None
    health_since: datetime | None


def application_id(agent_id: str, subject: str) -> str:
    return derived_id(f"application {agent_id} {subject}")


def application_row(
    scope: BatchScope, state: ReportedState, body: StateBody, before: StateChangeTimes | None
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


def _identity(scope: BatchScope, state: ReportedState, body: StateBody) -> dict[str, Any]:
    namespace, _, name = state.subject.partition("/")
    labels = body.labels
    return {
        "namespace": clip(namespace, 63),
        "name": clip(name, 253),
        "project": clip(state.project or body.spec.get("project") or "default", 63),
        "environment": clip(ENVIRONMENT.value(labels) or scope.environment, 63),
        "region": scope.region,
        "service": clip(SERVICE.value(labels), 253),
        "labels": labels,
    }


def _source(spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
    sources = listed(spec.get("sources"))
    source = mapping(sources[main_source(sources)]) if sources else mapping(spec.get("source"))
    sync = mapping(status.get("sync"))
    compared = {**sync, "sources": mapping(sync.get("comparedTo")).get("sources")}
    automated = mapping(spec.get("syncPolicy")).get("automated")
    return {
        "repository": clip(source.get("repoURL"), 700),
        "path": clip(source.get("path") or source.get("chart"), 700),
        "target_revision": clip(source.get("targetRevision"), 253),
        "revision": main_revision(compared),
        "automated": automated is not None and mapping(automated).get("enabled") is not False,
        "images": [clip(it, 700) for it in listed(mapping(status.get("summary")).get("images"))],
    }


def _deployment(body: StateBody, time: datetime) -> dict[str, Any]:
    """Make the columns of the running deployment, its sync failure and its attention."""
    running, failure = running_of(body.status), sync_failure_of(body.status)
    automated = bool(_source(body.spec, body.status)["automated"])
    return {
        "running_revision": running.revision,
        "running_since": parsed_time(running.since, time) if running.since else None,
        "running_by": running.by,
        "rolled_back": running.rolled_back,
        "cause": msgspec.to_builtins(body.cause) if body.cause is not None else None,
        "commits": _commits(body.commits),
        "sync_failure": msgspec.to_builtins(failure) if failure is not None else None,
        "attention": attention_of(body, failure, automated=automated).value,
    }


def _commits(reported: Mapping[str, Commit]) -> dict[str, Any]:
    """Select the commits of the running and the desired revision, by revision."""
    return {
        clip(revision, 64): {
            "author": clip(commit.author, _LONGEST_COMMIT),
            "message": clip(commit.message, _LONGEST_COMMIT),
            "time": clip(commit.time, 40),
        }
        for revision, commit in list(reported.items())[:_COMMITS]
    }


def _condition(
    status: Mapping[str, Any], time: datetime, before: StateChangeTimes | None
) -> dict[str, Any]:
    sync = clip(mapping(status.get("sync")).get("status") or _UNKNOWN, 16)
    health = mapping(status.get("health"))
    word = clip(health.get("status") or _UNKNOWN, 16)
    began = parsed_time(str(health.get("lastTransitionTime") or ""), time)
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
