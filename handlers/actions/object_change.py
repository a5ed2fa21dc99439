"""LiveObjectChange is what an action or an edit does to one live object, checked. Pure.

A change keeps the identity of the object, and creates only objects that have a kind and a name. An
object that tells the agent what to do gets the mark of what came over the link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from bus.identity import ResourceKey
from handlers.actions.action import ActionChange, ActionChangeKind, ActionError
from handlers.application.patch import merge_patch, patched
from handlers.control_plane.governance import is_ours, marked
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.tracking import TRACKING_ID
from handlers.manifest.tracking_method import INSTALLATION_ID

_IDENTITY = ("apiVersion", "kind")
_METADATA = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "generateName",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""What no action and no edit changes: the identity, and what the server and owners keep."""

Scope = Callable[[str, str], bool | None]
"""Whether objects of a group and kind have a namespace; None where the cluster serves none."""


class LiveObjectChange(msgspec.Struct, frozen=True, kw_only=True):
    patches: tuple[ActionChange, ...] = ()
    """Merge patches that change something, in their order."""
    creates: tuple[Manifest, ...] = ()
    after: Manifest = {}
    """The object as the patches leave it."""

    def __bool__(self) -> bool:
        return bool(self.patches or self.creates)

    @property
    def created_keys(self) -> tuple[ResourceKey, ...]:
        return tuple(map(access.key, self.creates))


def object_change(
    live: Manifest,
    changes: Iterable[ActionChange],
    is_namespaced: Scope,
    *,
    tracking_label: str = "",
) -> LiveObjectChange:
    """Check the changes of an action or an edit; raises ActionError.

    `tracking_label` is the label that says which application an object belongs to, if one does.
    """
    after: Mapping[str, Any] = live
    patches: list[ActionChange] = []
    creates: list[Manifest] = []
    for change in changes:
        if change.kind is ActionChangeKind.CREATE:
            creates.append(_created(change.content, live, is_namespaced))
            continue
        _check_identity(change.content, tracking_label)
        content = _with_mark(change, live)
        changed = patched(after, content)
        if merge_patch(after, changed) is not None:
            patches.append(msgspec.structs.replace(change, content=content))
        after = changed
    return LiveObjectChange(patches=tuple(patches), creates=tuple(creates), after=after)


def _check_identity(patch: Mapping[str, Any], tracking_label: str) -> None:
    """Refuse what would make another object of it, or take it out of its application."""
    metadata = patch.get("metadata", {})
    annotations = metadata.get("annotations", {}) if isinstance(metadata, Mapping) else {}
    labels = metadata.get("labels", {}) if isinstance(metadata, Mapping) else {}
    for name, value in (("metadata", metadata), ("annotations", annotations), ("labels", labels)):
        if not isinstance(value, Mapping):
            raise ActionError(f"the change replaces {name} as a whole; expected single fields")
    touched = [name for name in _IDENTITY if name in patch]
    touched += sorted(_METADATA & metadata.keys())
    touched += [name for name in (TRACKING_ID, INSTALLATION_ID) if name in annotations]
    touched += [tracking_label] if tracking_label in labels else []
    if touched:
        raise ActionError(f"the change touches {touched[0]}, which no action or edit may change")


def _with_mark(change: ActionChange, live: Manifest) -> Mapping[str, Any]:
    """An Application or AppProject is governed by the owner's policy once the link changed it."""
    if change.kind is not ActionChangeKind.PATCH or not is_ours(access.key(live)):
        return change.content
    return marked(change.content)


def _created(manifest: Mapping[str, Any], live: Manifest, is_namespaced: Scope) -> Manifest:
    """The object to create: in the namespace of its source where it names none."""
    kind, group = access.kind(manifest), access.group(manifest)
    if not kind or not access.api_version(manifest):
        raise ActionError("the action creates an object without apiVersion or kind")
    if not (access.name(manifest) or access.generate_name(manifest)):
        raise ActionError(f"the action creates a {kind} without a name")
    namespaced = is_namespaced(group, kind)
    if namespaced is None:
        raise ActionError(f"the action creates a {kind}, which the cluster does not serve")
    written = access.mapping(manifest, "metadata")
    metadata = {name: value for name, value in written.items() if name != "namespace"}
    if namespaced:
        space = access.namespace(manifest) or access.namespace(live)
        if not space:
            raise ActionError(f"the action creates a {kind} without a namespace")
        metadata["namespace"] = space
    made = {**manifest, "metadata": metadata}
    return marked(made) if is_ours(access.key(made)) else made
