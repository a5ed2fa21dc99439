"""Objects of the built-in API, applied to a real API server: comparing finds nothing afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from handlers.comparison.normalised_objects import encode_string_data
from handlers.comparison.object_diff import changes_after_dry_run, diff, same_after_dry_run
from handlers.comparison.object_difference import DiffVerdict
from handlers.comparison.owned_fields import parse_fields
from handlers.manifest.access import is_secret, kind, version
from handlers.manifest.kinds import GroupVersionKind, KindInfo
from handlers.manifest.order import in_apply_order
from handlers.manifest.tracking import stamp
from handlers.ports import ApplyOptions, LiveObject, Manifest
from playground.kubernetes import ControlPlane
from tests.unit.agent.kube.kube_fixture import KubeFixture, following, opened

_FOLDER = Path(__file__).parent / "kinds"
_LOOKS = 10


def written(namespace: str) -> list[dict[str, Any]]:
    texts = (path.read_text().replace("NAMESPACE", namespace) for path in _FOLDER.glob("*.yaml"))
    return [document for text in texts for document in yaml.safe_load_all(text)]


def desired(agent: KubeFixture, namespace: str) -> list[Manifest]:
    """As the agent sends them: placed in their namespace, stamped, Secrets encoded."""
    manifests = []
    for manifest in written(namespace):
        info = kind_of(agent, manifest)
        if info.namespaced:
            manifest["metadata"]["namespace"] = namespace
        stamped = stamp(manifest, "kinds", namespace)
        manifests.append(encode_string_data(stamped) if is_secret(stamped) else stamped)
    return list(in_apply_order(manifests))


def kind_of(agent: KubeFixture, manifest: Manifest) -> KindInfo:
    logged = GroupVersionKind.of(manifest)
    info = agent.live.kind(logged.group, logged.kind)
    assert info is not None, f"the API server does not serve {logged}"
    return info


@pytest.fixture
async def agent(control_plane: ControlPlane, namespace: str) -> AsyncIterator[KubeFixture]:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as agent, following(agent):
        yield agent


@pytest.fixture
async def applied(
    agent: KubeFixture, namespace: str
) -> AsyncIterator[list[tuple[Manifest, LiveObject]]]:
    pairs: list[tuple[Manifest, LiveObject]] = []
    desired_objects = desired(agent, namespace)
    try:
        for one in desired_objects:
            pairs += [(one, await agent.cluster.apply(one, ApplyOptions()))]
        yield pairs
    finally:
        for manifest, live in reversed(pairs):
            if not kind_of(agent, manifest).namespaced:
                await agent.cluster.delete(live, propagation="background")


def test_there_are_many_kinds() -> None:
    assert len({GroupVersionKind.of(manifest) for manifest in written("n")}) >= 60


async def test_applied_objects_show_no_difference(
    agent: KubeFixture, applied: list[tuple[Manifest, LiveObject]]
) -> None:
    reported: dict[str, Any] = {}
    for manifest, live in applied:
        outcome = diff(manifest, live.manifest, parse_fields(live.owned))
        if outcome.verdict is not DiffVerdict.SAME:
            reported[kind(manifest)] = (outcome.differences, outcome.doubts)
    assert reported == {}


async def differing_by_dry_run(
    agent: KubeFixture, applied: list[tuple[Manifest, LiveObject]]
) -> dict[str, Any]:
    """Against the index: controllers write too, and it may be a moment behind them."""
    reported: dict[str, Any] = {}
    for manifest, live in applied:
        answer = await agent.cluster.apply(manifest, ApplyOptions(dry_run=True))
        known = agent.live.get(live.key) or live
        if known.version != version(manifest):
            known = await agent.cluster.read(known, version(manifest))
        if not same_after_dry_run(answer.manifest, known.manifest):
            reported[kind(manifest)] = changes_after_dry_run(answer.manifest, known.manifest)
    return reported


async def test_applied_objects_show_no_difference_after_a_dry_run(
    agent: KubeFixture, applied: list[tuple[Manifest, LiveObject]]
) -> None:
    reported = await differing_by_dry_run(agent, applied)
    for _ in range(_LOOKS):
        reported = reported and await differing_by_dry_run(agent, applied)
    assert reported == {}
