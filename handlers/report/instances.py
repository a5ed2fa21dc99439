"""Instances: the pods that run for one Application, as a reported state of their own. Pure.

The list is not part of the reported Application, because it changes with every rollout and restart.
It is complete up to a limit, and holds the number of pods beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bus.link import LinkItem
from bus.link.kinds import INSTANCES
from handlers.application.application import Application, Metadata
from handlers.ports import LiveObject
from handlers.report.items import LARGEST, ItemStamp, state_body, state_item
from handlers.report.redaction import Redaction

MOST = 500
_PODS_LIMIT = LARGEST - 8 * 1024
"""Bytes for the pods alone; the rest of the item needs what is left."""


class PodInstance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str
    namespace: str
    name: str
    images: tuple[str, ...]
    ready: bool
    started_at: str


class Instances(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one Application; `left_out` counts those beyond the limit."""

    namespace: str
    name: str
    uid: str
    project: str
    pods: tuple[PodInstance, ...]
    left_out: int = 0


def instances_of(app: Application, objects: Iterable[LiveObject]) -> Instances | None:
    """List the pods among the objects of an Application; None where none runs."""
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


def instances_item(found: Instances, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
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
        state_body(INSTANCES.name, metadata, redaction),
        status={"pods": fitting, "leftOut": left_out},
    )
    return state_item(body, metadata, found.project, stamp)


def _fitting(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    while len(msgspec.json.encode(pods)) > _PODS_LIMIT:
        pods = pods[: len(pods) // 2]
    return pods


def _instance(live: LiveObject) -> PodInstance:
    assert live.pod is not None
    return PodInstance(
        uid=live.uid,
        namespace=live.key.namespace,
        name=live.key.name,
        images=live.pod.images,
        ready=live.pod.ready,
        started_at=live.pod.started_at,
    )
