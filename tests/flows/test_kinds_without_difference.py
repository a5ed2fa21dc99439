"""Objects of the built-in API, applied to a real API server: comparing finds nothing afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from handlers.compare.change import Verdict
from handlers.compare.diff import changes_after_dry_run, diff, same_after_dry_run
from handlers.compare.fields import parse_fields
from handlers.compare.normalise import encode_string_data
from handlers.manifest.access import kind, version
from handlers.manifest.kinds import GroupVersionKind, KindInfo
from handlers.manifest.order import in_apply_order
from handlers.manifest.redact import is_secret
from handlers.manifest.tracking import stamp
from handlers.ports import ApplyOptions, LiveObject, Manifest
from playground.kubernetes import ControlPlane
from tests.kube.world import House, following, opened

pytestmark = pytest.mark.flow

_FOLDER = Path(__file__).parent / "kinds"
_LOOKS = 10


def written(namespace: str) -> list[dict[str, Any]]:
    texts = (path.read_text().replace("NAMESPACE", namespace) for path in _FOLDER.glob("*.yaml"))
    return [document for text in texts for document in yaml.safe_load_all(text)]


def desired(house: House, namespace: str) -> list[Manifest]:
    """As the agent sends them: placed in their namespace, stamped, Secrets encoded."""
    manifests = []
    for manifest in written(namespace):
        info = kind_of(house, manifest)
        if info.namespaced:
            manifest["metadata"]["namespace"] = namespace
        stamped = stamp(manifest, "kinds", namespace)
        manifests.append(encode_string_data(stamped) if is_secret(stamped) else stamped)
    return list(in_apply_order(manifests))


def kind_of(house: House, manifest: Manifest) -> KindInfo:
    said = GroupVersionKind.of(manifest)
    info = house.live.kind(said.group, said.kind)
    assert info is not None, f"the API server does not serve {said}"
    return info


@pytest.fixture
async def house(control_plane: ControlPlane, namespace: str) -> AsyncIterator[House]:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as house, following(house):
        yield house


@pytest.fixture
async def applied(house: House, namespace: str) -> AsyncIterator[list[tuple[Manifest, LiveObject]]]:
    pairs: list[tuple[Manifest, LiveObject]] = []
    wanted = desired(house, namespace)
    try:
        for one in wanted:
            pairs += [(one, await house.cluster.apply(one, ApplyOptions()))]
        yield pairs
    finally:
        for manifest, live in reversed(pairs):
            if not kind_of(house, manifest).namespaced:
                await house.cluster.delete(live, propagation="background")


def test_there_are_many_kinds() -> None:
    assert len({GroupVersionKind.of(manifest) for manifest in written("n")}) >= 60


async def test_applied_objects_show_no_difference(
    house: House, applied: list[tuple[Manifest, LiveObject]]
) -> None:
    told: dict[str, Any] = {}
    for manifest, live in applied:
        outcome = diff(manifest, live.manifest, parse_fields(live.owned))
        if outcome.verdict is not Verdict.SAME:
            told[kind(manifest)] = (outcome.differences, outcome.doubts)
    assert told == {}


async def differing_by_dry_run(
    house: House, applied: list[tuple[Manifest, LiveObject]]
) -> dict[str, Any]:
    """Against the index: controllers write too, and it may be a moment behind them."""
    told: dict[str, Any] = {}
    for manifest, live in applied:
        answer = await house.cluster.apply(manifest, ApplyOptions(dry_run=True))
        known = house.live.get(live.key) or live
        if known.version != version(manifest):
            known = await house.cluster.read(known, version(manifest))
        if not same_after_dry_run(answer.manifest, known.manifest):
            told[kind(manifest)] = changes_after_dry_run(answer.manifest, known.manifest)
    return told


async def test_applied_objects_show_no_difference_after_a_dry_run(
    house: House, applied: list[tuple[Manifest, LiveObject]]
) -> None:
    told = await differing_by_dry_run(house, applied)
    for _ in range(_LOOKS):
        told = told and await differing_by_dry_run(house, applied)
    assert told == {}
