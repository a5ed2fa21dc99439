"""Worlds for tests: what Git wants and the cluster has, as two mappings of names to data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.identity import NO_DIGEST, AppKey, Digest, RepositoryKey, ResourceKey, Revision, digest_of
from bus.status import HealthStatus
from handlers.application.revisions import Revisions
from handlers.comparison.comparison import Comparison, ComparisonInput, joined
from handlers.comparison.desired_objects import desired_of
from handlers.comparison.dry_run_questions import compared
from handlers.comparison.object_difference import DiffOutcome, DiffVerdict
from handlers.manifest.tracking import stamp
from handlers.ports import LiveObject
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.ports.rendering import SourceType

APP = AppKey("argocd", "web")
RECIPE = Digest("sha256:1")
REVISION = Revision("b" * 40)
REVISIONS = Revisions(REVISION)


def key(name: str) -> ResourceKey:
    return ResourceKey("", "ConfigMap", "shop", name)


def manifest(name: str, value: str = "1", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "annotations": {
                f"argocd.argoproj.io/{k.replace('_', '-')}": v for k, v in annotations.items()
            },
        },
        "data": {"value": value},
    }


def live(written: Mapping[str, Any], *, app: str = "web", **parts: Any) -> LiveObject:
    """As if `app` had applied it."""
    stamped = stamp(written, app)
    body = msgspec.json.encode(stamped)
    name = written["metadata"]["name"]
    whole: dict[str, Any] = {
        "key": key(name),
        "version": "v1",
        "uid": f"uid-{name}",
        "resource_version": digest_of(body),
        "tracking": f"{app}:/ConfigMap:shop/{name}",
        "health": HealthStatus.HEALTHY,
        "body": body,
    }
    return LiveObject(**(whole | parts))


def found(
    desired: tuple[Mapping[str, Any], ...],
    lives: tuple[LiveObject, ...] = (),
    denied: Mapping[ResourceKey, str] = {},
) -> ComparisonInput:
    record = RenderRecord(
        app=APP,
        sources=(
            SourceRecord(
                repository=RepositoryKey("https://git.example/shop"),
                revision=REVISION,
                recipe=RECIPE,
                source_type=SourceType.DIRECTORY,
                read_set={},
            ),
        ),
        digest=NO_DIGEST,
        objects=len(desired),
    )
    return ComparisonInput(
        record=record,
        desired=desired_of(stamp(one, "web") for one in desired),
        lives={one.key: one for one in lives},
        identity="web",
        denied=denied,
    )


def comparison(
    desired: tuple[Mapping[str, Any], ...],
    lives: tuple[LiveObject, ...] = (),
    denied: Mapping[ResourceKey, str] = {},
    unseen: Mapping[ResourceKey, str] = {},
) -> Comparison:
    seen = msgspec.structs.replace(found(desired, lives, denied), unseen=unseen)
    return joined(compared(seen, {}), seen)


SAME = DiffOutcome(verdict=DiffVerdict.SAME)
