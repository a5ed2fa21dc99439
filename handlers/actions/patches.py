"""Patches are actions that are written as data: a field and the value that it gets. Pure.

NOW stands for the time of the call, REMOVED for a field that goes away.
"""

from __future__ import annotations

from typing import Any

from handlers.actions.action import (
    ActionCall,
    ActionError,
    Changes,
    ResourceAction,
    always,
    changes_of,
)
from handlers.health.paths import Path, annotation_path, label_path, steps
from handlers.health.predicates import Not, On, Predicate
from handlers.manifest.access import Manifest

NOW = "\0now"
REMOVED = None


def sets(name: str, *fields: tuple[Path, object], enabled: Predicate = always) -> ResourceAction:
    """An action that gives fields of the object a value."""

    def changes(manifest: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  constant
        patch: dict[str, Any] = {}
        for path, value in fields:
            set_field(patch, path, call.instant if value == NOW else value)
        return changes_of(patch)

    return ResourceAction(name=name, changes=changes, enabled=enabled)


def set_field(patch: dict[str, Any], path: Path, value: object) -> None:
    *parents, last = steps(path)
    for step in parents:
        patch = patch.setdefault(step, {})
    patch[last] = value


def annotates(
    name: str, annotation: str, value: str | None, *, enabled: Predicate = always
) -> ResourceAction:
    return sets(name, (annotation_path(annotation), value), enabled=enabled)


def labels(name: str, label: str, value: str) -> ResourceAction:
    return sets(name, (label_path(label), value))


def switches(field: Path, on: str, off: str) -> tuple[ResourceAction, ResourceAction]:
    """Two actions that turn a switch on and off; the one that changes something is enabled."""
    return (
        sets(on, (field, True), enabled=Not(On(field))),
        sets(off, (field, False), enabled=On(field)),
    )


SUSPENSION = switches("spec.suspend", "suspend", "resume")


def replicas_of(call: ActionCall) -> int:
    """Read the parameter `replicas`; raises ActionError."""
    written = call.params["replicas"].strip()
    if not (written.isascii() and written.isdecimal()) or len(written) > _DIGITS:
        raise ActionError(f"replicas is {written!r}; expected a number from 0 on")
    return int(written)


_DIGITS = 9


def _scaled(manifest: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  of any object
    return changes_of({"spec": {"replicas": replicas_of(call)}})


SCALE = ResourceAction(name="scale", changes=_scaled, params=("replicas",))
RESTART = sets(
    "restart",
    (
        ("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"),
        NOW,
    ),
)
