"""The manifest of a put, checked and reduced to what a task may write of an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.bridge.tasks.executors.application_places import ApplicationPlaces
from agent.bridge.tasks.task_context import TaskFailedError
from agent.kube.request_path import is_object_name
from bus.link import OBJECT_KINDS, LinkTask
from bus.link.kinds import APPLICATION
from bus.metadata_keys import AGENT_RECORDS
from handlers.manifest import access

VERSION = "argoproj.io/v1alpha1"
PLURALS = {kind.name: kind.resource for kind in OBJECT_KINDS if kind.resource and kind.writable}
_SHOWN = 100
_KEPT = ("labels", "annotations", "finalizers")


def checked_manifest(
    manifest: Mapping[str, Any], task: LinkTask, places: ApplicationPlaces
) -> dict[str, Any]:
    """Read what a put writes; raises TaskFailedError where no task may write that."""
    control = places.control_namespace
    kind, metadata = access.kind(manifest), access.mapping(manifest, "metadata")
    if kind not in PLURALS or access.api_version(manifest) != VERSION:
        text = "expected an Application or AppProject of argoproj.io/v1alpha1"
        raise TaskFailedError("invalid", text)
    name, written = access.name(manifest), access.namespace(manifest)
    namespace = written or control
    if not name or (kind != APPLICATION.name and namespace != control):
        text = f"expected a name, and namespace {control}: that of this agent"
        raise TaskFailedError("invalid", text)
    check_name(name)
    places.check_followed(namespace)
    space, _, last = task.subject.rpartition("/")
    is_other = space != namespace and (written or places.follows(space))
    if task.subject and (last != name or (space and is_other)):
        text = f"the task is about {task.subject}, not {namespace}/{name}"
        raise TaskFailedError("invalid", text)
    kept = {key: metadata[key] for key in _KEPT if key in metadata}
    if "annotations" in kept:
        annotations = access.mapping(metadata, "annotations")
        kept["annotations"] = {
            name: annotations[name] for name in annotations.keys() - AGENT_RECORDS
        }
    return {
        "apiVersion": VERSION,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **kept},
        "spec": access.mapping(manifest, "spec"),
    }


def check_name(name: str) -> None:
    """Raise TaskFailedError for a name that a URL may spell otherwise than the policy read it."""
    if not is_object_name(name):
        text = f"{name[:_SHOWN]!r} is no name: expected small letters, digits, '-' and '.'"
        raise TaskFailedError("invalid", text)
