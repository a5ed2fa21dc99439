"""Agents and services of version 0.1 and of today understand each other's tasks.

`link_frames/offers_of_service_0_1.json` holds frames as a service of that version wrote them, and
`agent_0_1.py` is how an agent of that version reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bus.link import (
    TASKS,
    DeleteArguments,
    DiffArguments,
    DownFrame,
    EventsArguments,
    EventStreamArguments,
    LinkTask,
    LiveArguments,
    LogsArguments,
    ManifestsArguments,
    ObjectArguments,
    Offer,
    PutArguments,
    RefreshArguments,
    RefsArguments,
    RollbackArguments,
    SecretRef,
    SyncArguments,
    TaskArguments,
    TaskKind,
    TaskPriority,
    TaskScope,
    TerminateArguments,
    TreeArguments,
    arguments_of,
    kind_of,
    wire_arguments,
)
from tests.unit.bus.agent_0_1 import ARGUMENTS, AgentOffer, arguments_at

RECORDED = Path(__file__).parent / "link_frames" / "offers_of_service_0_1.json"
MANIFEST = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "web", "namespace": "argocd"},
    "spec": {"project": "default"},
}
WEB = ObjectArguments(group="apps", kind="Deployment", namespace="shop", name="web")
LOGIN = SecretRef(name="login")
WITH_OBJECTS: dict[str, Any] = {
    "revision": "v2",
    "prune": True,
    "dry_run": True,
    "resources": (WEB,),
    "options": ("Validate=false",),
}
MEANT: dict[str, TaskArguments] = {
    "sync": SyncArguments(),
    "sync-of-objects": SyncArguments(override=True, **WITH_OBJECTS),
    "refresh": RefreshArguments(hard=True),
    "terminate": TerminateArguments(),
    "rollback": RollbackArguments(history_id=3),
    "put-application": PutArguments(manifest=MANIFEST, create=True),
    "put-appproject": PutArguments(kind="AppProject", manifest={**MANIFEST, "kind": "AppProject"}),
    "put-repository": PutArguments(
        kind="Repository",
        url="https://git.example/x",
        spec={"enableLfs": True},
        secret_ref=LOGIN,
    ),
    "put-cluster": PutArguments(
        kind="Cluster", name="prod", spec={"server": "https://10.0.0.1"}, sealed="box"
    ),
    "put-certificate": PutArguments(
        kind="RepositoryCertificate", type="ssh", text="h ssh-ed25519 AAAA"
    ),
    "delete-application": DeleteArguments(cascade=False),
    "delete-cluster": DeleteArguments(kind="Cluster"),
    "refs": RefsArguments(url="https://git.example/x", project="default"),
    "manifests": ManifestsArguments(revision="main"),
    "diff": DiffArguments(),
    "preview-of-sync": DiffArguments(preview=True, **WITH_OBJECTS),
    "preview-of-rollback": DiffArguments(history_id=0, prune=True, preview=True),
    "live": LiveArguments(group="apps", kind="Deployment", namespace="shop", name="web"),
    "tree": TreeArguments(),
    "events": EventsArguments(kind="Pod", namespace="shop", name="web-1"),
    "event-stream": EventStreamArguments(),
    "logs": LogsArguments(pod="web-1", container="app", follow=True),
}
"""What the recorded tasks mean, by their ids."""
each_task = pytest.mark.parametrize("name", MEANT)


def recorded() -> dict[str, bytes]:
    """The recorded frames by the name of their task, as they were on the wire."""
    frames = msgspec.json.decode(RECORDED.read_bytes())
    return {one["task"]["id"].removeprefix("id-"): msgspec.json.encode(one) for one in frames}


def offered(frame: bytes) -> LinkTask:
    found: DownFrame = msgspec.json.decode(frame, type=DownFrame)
    assert isinstance(found, Offer)
    return found.task


def with_defaults(arguments: object) -> dict[str, Any]:
    """Every field with its value, whether the wire has it or not."""
    fields = msgspec.structs.asdict(arguments)  # type: ignore[type-var]  # any Struct
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    return with_defaults(value) if isinstance(value, msgspec.Struct) else value


def test_every_recorded_task_has_a_meaning_here() -> None:
    assert recorded().keys() == MEANT.keys()
    assert {kind_of(type(it)).value for it in MEANT.values()} == ARGUMENTS.keys()


@each_task
def test_an_agent_of_today_reads_the_tasks_of_an_earlier_service(name: str) -> None:
    task = offered(recorded()[name])

    assert arguments_of(task) == MEANT[name]
    assert task.kind is kind_of(type(MEANT[name]))
    assert (task.actor, task.not_after, task.fence) == ("ann", "2026-01-01T00:00:00+00:00", 7)
    bulk = name == "sync-of-objects"
    assert task.priority is (TaskPriority.BULK if bulk else TaskPriority.INTERACTIVE)


@each_task
def test_an_earlier_agent_reads_the_tasks_of_a_service_of_today(name: str) -> None:
    task = LinkTask(
        id="t",
        kind=kind_of(type(MEANT[name])),
        subject="argocd/web",
        actor="ann",
        arguments=wire_arguments(MEANT[name]),
        priority=TaskPriority.BULK,
        precondition={"uid": "u"},
        fence=7,
    )

    read = msgspec.json.decode(msgspec.json.encode(Offer(task=task)), type=AgentOffer).task
    before = msgspec.json.decode(recorded()[name], type=AgentOffer).task

    assert arguments_at(read) == arguments_at(before)
    understood, meant = with_defaults(arguments_at(read)), with_defaults(MEANT[name])
    assert understood == {field: meant[field] for field in understood}
    assert (read.kind, read.clazz, read.fence) == (before.kind, "bulk", 7)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_no_default_of_an_argument_has_changed(name: str) -> None:
    """The wire leaves defaults out, so both sides must have the same ones."""
    before = {field.encode_name: field.default for field in msgspec.structs.fields(ARGUMENTS[name])}
    now = {
        field.encode_name: field.default
        for field in msgspec.structs.fields(TaskKind(name).row.arguments)
    }

    assert {key: now.get(key) for key in before} == before


def test_a_field_that_a_newer_service_adds_is_ignored() -> None:
    task = offered(recorded()["refresh"])
    newer = msgspec.structs.replace(task, arguments={**task.arguments, "depth": 3})
    assert arguments_of(newer) == RefreshArguments(hard=True)


def test_a_field_of_a_wrong_type_is_named() -> None:
    task = msgspec.structs.replace(offered(recorded()["logs"]), arguments={"tail": "many"})
    with pytest.raises(msgspec.ValidationError, match=r"\$\.tail"):
        arguments_of(task)


def test_every_kind_has_one_row_and_arguments_of_its_own() -> None:
    assert [row.kind for row in TASKS] == list(TaskKind)
    assert len({row.arguments for row in TASKS}) == len(TASKS)


@pytest.mark.parametrize("row", TASKS, ids=lambda row: row.kind.value)
def test_the_columns_of_a_row_fit_each_other(row: Any) -> None:
    is_shell = row.kind is TaskKind.EXEC  # it may write, and nobody records what is typed
    assert is_shell or not (row.writes and row.streams), "a stream is no record of a write"
    assert row.writes or not row.ends_itself, "a read is cancelled from outside"
    assert row.writes or row.scope is not TaskScope.WRITTEN
