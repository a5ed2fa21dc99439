"""Service instances: the pods that run for one application, as a state of the link. Pure.

A list of its own beside the Application, because it changes with every rollout and restart. It is
complete up to a limit; how many more there are is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bus.link import Item
from handlers.application.application import Application, Metadata
from handlers.ports import LiveObject
from handlers.report.items import LARGEST, Stamp, state_body, state_item
from handlers.report.redaction import Redaction

INSTANCES = "Instances"
MOST = 500
_ROOM = LARGEST - 8 * 1024
"""For the pods alone, in bytes."""


class Instance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str
    namespace: str
    name: str
    images: tuple[str, ...]
    ready: bool
    started_at: str


class Instances(msgspec.Struct, frozen=True, kw_only=True):
    """Of the application with this name; `left_out`: pods beyond the limit."""

    namespace: str
    name: str
    uid: str
    project: str
    pods: tuple[Instance, ...]
    left_out: int = 0


def instances_of(app: Application, objects: Iterable[LiveObject]) -> Instances | None:
    """Of what an application consists of; None where nothing of it runs."""
    pods = sorted((_instance(it) for it in objects if it.pod), key=lambda it: (it.name, it.uid))
    if not pods:
        return None
    return Instances(
        namespace=app.key.namespace,
        name=app.key.name,
        uid=app.metadata.uid,
        project=app.spec.project,
        pods=tuple(pods[:MOST]),
        left_out=max(0, len(pods) - MOST),
    )


def instances_item(found: Instances, stamp: Stamp, redaction: Redaction) -> Item:
    metadata = Metadata(namespace=found.namespace, name=found.name, uid=found.uid)
    texts = {image for pod in found.pods for image in pod.images}
    shown = {image: redaction.text(image) for image in texts}
    pods = [
        {
            **msgspec.to_builtins(pod),
            "name": redaction.text(pod.name),
            "images": [shown[image] for image in pod.images],
        }
        for pod in found.pods
    ]
    fitting = _fitting(pods)
    left_out = found.left_out + len(pods) - len(fitting)
    body = msgspec.structs.replace(
        state_body(INSTANCES, metadata, redaction), status={"pods": fitting, "leftOut": left_out}
    )
    return state_item(body, metadata, found.project, stamp)


def _fitting(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    while len(msgspec.json.encode(pods)) > _ROOM:
        pods = pods[: len(pods) // 2]
    return pods


def _instance(live: LiveObject) -> Instance:
    assert live.pod is not None
    return Instance(
        uid=live.uid,
        namespace=live.key.namespace,
        name=live.key.name,
        images=live.pod.images,
        ready=live.pod.ready,
        started_at=live.pod.started_at,
    )
