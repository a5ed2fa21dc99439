"""The object that a put makes of a manifest and the live object. Pure.

The service sees masked values; a mask that comes back is replaced by the value that it stands for.
What the service never sees of an object stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import orjson

from agent.bridge.tasks.task_context import TaskFailedError
from bus.link.kinds import APPLICATION, PROJECT
from handlers.application.application import (
    NOT_EDITED,
    Application,
    AppProject,
    AppProjectSpec,
    read_application,
    read_project,
)
from handlers.application.spec import ApplicationSpec
from handlers.control_plane.governance import marked
from handlers.manifest import access
from handlers.report.hidden_values import RevealedValueError, check_hidden
from handlers.report.masks import identity_of
from handlers.report.redaction import Redaction
from handlers.report.restored_objects import UnknownMaskError, restored

_READERS: Mapping[str, Callable[[bytes], Application | AppProject]] = {
    APPLICATION.name: read_application,
    PROJECT.name: read_project,
}
_SPECS: Mapping[str, type[msgspec.Struct]] = {
    APPLICATION.name: ApplicationSpec,
    PROJECT.name: AppProjectSpec,
}
_KEPT = ("labels", "annotations", "finalizers")


def merged(manifest: dict[str, Any], live: dict[str, Any], redaction: Redaction) -> dict[str, Any]:
    """The live object with the manifest's spec and metadata; all other fields stay."""
    body = unmasked(manifest, live, redaction)
    args = access.mapping(body, "metadata")
    metadata = {**live["metadata"], **{key: args[key] for key in _KEPT if key in args}}
    before = access.mapping(live, "metadata", "annotations")
    kept = {name: before[name] for name in before.keys() & NOT_EDITED}
    metadata["annotations"] = {**kept, **access.mapping(metadata, "annotations")}
    spec = {**_undeclared(access.kind(manifest), live), **body["spec"]}
    return marked({**live, "metadata": metadata, "spec": spec})


def unmasked(
    manifest: dict[str, Any], live: Mapping[str, Any], redaction: Redaction
) -> dict[str, Any]:
    """The manifest with the live object's values where it has their masks.

    Raises TaskFailedError where a mask stands for nothing, or where the manifest would show a value
    that was hidden before.
    """
    redaction = redaction.within(identity_of(live or manifest))
    before = {"spec": live.get("spec"), "metadata": live.get("metadata")}
    try:
        edited = _edited(manifest)
        meant = restored(edited, before, redaction)
        check_hidden(edited, redaction.value(meant))
    except (UnknownMaskError, RevealedValueError) as error:
        raise TaskFailedError("invalid", str(error)) from error
    body: dict[str, Any] = {**manifest, **meant}
    _READERS[access.kind(manifest)](orjson.dumps(body))
    return body


def _undeclared(kind: str, live: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the spec that the service never sees: they stay as they are."""
    shown = {field.encode_name for field in msgspec.structs.fields(_SPECS[kind])}
    spec = access.mapping(live, "spec")
    return {name: value for name, value in spec.items() if name not in shown}


def _edited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": manifest["spec"], "metadata": manifest["metadata"]}
