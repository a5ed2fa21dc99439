"""Switching off automated sync, which would bring back what a rollback has just replaced.

Only `automated.enabled` is changed, so that prune and self-heal are as before once it is on again,
and only if nobody changed the Application since it was read. It stays off until somebody switches
it on again, when Git is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.far import find, shapes
from cli.far.asking import ended
from cli.far.client import Far
from cli.far.errors import FarError
from cli.say import Exit

_METADATA = ("name", "namespace", "labels", "annotations")


async def switch_off(far: Far, application: str, seconds: float) -> None:
    """Done when the agent has done it; nothing where it is off already."""
    path = find.path("applications", application)
    detail = await far.get(path)
    policy = detail["spec"].get("syncPolicy") or {}
    automated = policy.get("automated")
    if automated is None or automated.get("enabled") is False:
        return
    headers = {"If-Match": f'"{detail["version"]}"'}
    body = {"manifest": _by_hand(detail, {**policy, "automated": {**automated, "enabled": False}})}
    accepted = await far.order(path, body, method="PUT", headers=headers)
    (plain,) = await ended(far, [accepted["task"]], seconds)
    task = shapes.read(plain, shapes.Task)
    if not task.succeeded:
        text = f"automated sync is still on, nothing was rolled back: {task.message or task.phase}"
        raise FarError(text, Exit.NO)


def _by_hand(detail: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {name: detail[name] for name in _METADATA if detail.get(name)},
        "spec": {**detail["spec"], "syncPolicy": policy},
    }
