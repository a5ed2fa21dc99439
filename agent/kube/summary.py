"""An object's bytes are summarised to what the index keeps of the object. Pure.

Of every object the index keeps identity, owners and health; of a pod also its images. Of tracked
objects (and of definitions, which are never tracked) it keeps the body without managedFields, our
own field set and that of earlier tools, and a fingerprint of what a person could have changed.
Bodies may be Secrets: nothing here is ever logged. The health of an object that was cut, because it
is nested too deeply, is unknown: what is not known of it must be seen.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
import orjson

from agent.kube.nesting import CUT, was_cut
from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.comparison.earlier_managers import inherited_fields
from handlers.health.assess import assess
from handlers.manifest import access
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind
from handlers.manifest.pods import pod_state
from handlers.manifest.symptom import symptom_of
from handlers.manifest.tracking import TRACKING_ID, TrackingId
from handlers.manifest.tracking_method import Tracking
from handlers.ports import LiveObject

MANAGER = "argocd-controller"
_MANAGER_LONGEST = 128
_MESSAGE_LONGEST = 1024

_DEFAULT_TRACKING = Tracking()
_APPLICATION = GroupKind("argoproj.io", "Application")
_ILL = frozenset(HealthStatus) - {HealthStatus.HEALTHY, HealthStatus.SUSPENDED}
_VOLATILE = frozenset(
    (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)


def summarise(
    raw: bytes,
    *,
    api_version: str = "",
    kind: str = "",
    whole: bool = False,
    tracking: Tracking = _DEFAULT_TRACKING,
) -> LiveObject:
    """Summarise an object; items of a list need `api_version` and `kind`, which they lack.

    `whole` keeps the body in any case. Raises ValueError (of orjson) where `raw` is no JSON object.
    """
    document: dict[str, Any] = orjson.loads(raw)
    manifest = (
        document if "kind" in document else {"apiVersion": api_version, "kind": kind, **document}
    )
    metadata = access.mapping(manifest, "metadata")
    key = _key(manifest)
    mark = tracking.read(manifest)
    cut = was_cut(raw)
    status, message = (HealthStatus.UNKNOWN, CUT) if cut else _health(_marked(manifest, mark))
    tracked = whole or _is_definition(key) or _names(mark, key)
    writer, fields = _last_writer(metadata) if tracked else ("", b"")
    return LiveObject(
        key=key,
        version=sys.intern(access.version(manifest)),
        uid=access.uid(manifest),
        resource_version=access.resource_version(manifest),
        tracking=mark,
        owners=tuple(owner.uid for owner in access.owners(manifest)),
        health=status,
        health_message=message,
        deleting="deletionTimestamp" in metadata,
        fingerprint=_fingerprint(manifest, metadata) if tracked else "",
        body=_body(manifest, metadata) if tracked else b"",
        owned=_owned(metadata) if tracked else b"",
        inherited=_inherited(manifest) if tracked else b"",
        written_by=writer,
        written=fields,
        pod=pod_state(manifest),
        symptom=symptom_of(manifest) if status in _ILL else None,
    )


def _key(manifest: access.Manifest) -> ResourceKey:
    return ResourceKey(
        sys.intern(access.group(manifest)),
        sys.intern(access.kind(manifest)),
        sys.intern(access.namespace(manifest)),
        access.name(manifest),
    )


def _names(mark: str, key: ResourceKey) -> bool:
    tracked = TrackingId.parse(mark) if mark else None
    return tracked is not None and tracked.names(key)


def _marked(manifest: access.Manifest, mark: str) -> access.Manifest:
    """Show the mark of an Application to its health rule, which knows the annotation only."""
    if not mark or GroupKind.of(manifest) != _APPLICATION:
        return manifest
    metadata = access.mapping(manifest, "metadata")
    notes = {**access.mapping(metadata, "annotations"), TRACKING_ID: mark}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def _is_definition(key: ResourceKey) -> bool:
    return GroupKind(key.group, key.kind) == CUSTOM_RESOURCE_DEFINITION


def _body(manifest: access.Manifest, metadata: Mapping[str, Any]) -> bytes:
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return _kept({**manifest, "metadata": kept})


def _fingerprint(manifest: access.Manifest, metadata: Mapping[str, Any]) -> str:
    content = {name: value for name, value in manifest.items() if name != "status"}
    content["metadata"] = {name: value for name, value in metadata.items() if name not in _VOLATILE}
    encoded = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return blake2b(encoded, digest_size=12).hexdigest()


def _owned(metadata: Mapping[str, Any]) -> bytes:
    for entry in access.items(metadata, "managedFields"):
        if _is_ours(entry):
            return _kept(access.mapping(entry, "fieldsV1"))
    return b""


def _inherited(manifest: access.Manifest) -> bytes:
    fields = inherited_fields(manifest)
    return _kept(fields) if fields else b""


def _last_writer(metadata: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the newest other manager and its fields, unless we applied later.

    Times are whole seconds. Writes to the status do not count: they report on the object, they do
    not change its spec. The API server notes no time of a write to the scale subresource; its
    writer is named where nobody is known to have written later, since an apply of ours takes what
    it has in Git away from him.
    """
    entries = access.items(metadata, "managedFields")
    ours = max((_time(one) for one in entries if _is_ours(one)), default="")
    others = [one for one in entries if not _is_ours(one) and one.get("subresource") != "status"]
    late = [one for one in others if _time(one) >= ours] or [
        one for one in others if not _time(one)
    ]
    if not late:
        return "", b""
    last = max(late, key=lambda one: (_time(one), str(one.get("manager", ""))))
    name = sys.intern(str(last.get("manager", ""))[:_MANAGER_LONGEST])
    return name, _kept(access.mapping(last, "fieldsV1")) if ours else b""


def _time(entry: Mapping[str, Any]) -> str:
    return str(entry.get("time", ""))


def _kept(content: Mapping[str, Any]) -> bytes:
    """Encode without orjson, whose bytes keep its whole buffer, several times their length."""
    return msgspec.json.encode(content)


def _is_ours(entry: Mapping[str, Any]) -> bool:
    applied = entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
    return applied and not entry.get("subresource")


def _health(manifest: access.Manifest) -> tuple[HealthStatus | None, str]:
    health = assess(manifest)
    return (None, "") if health is None else (health.status, _bounded(health.message))


def _bounded(message: str) -> str:
    """Cut a message, and share equal ones: most objects of a kind say the same."""
    return sys.intern(message[:_MESSAGE_LONGEST])
