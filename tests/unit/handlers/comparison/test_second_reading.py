"""A kind that Git writes in one version and the index holds in another: read again in Git's.

The API server of this test keeps HorizontalPodAutoscalers and says them in both versions; the real
one is asked in tests/flows/test_kinds_without_difference.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.store.artifact_store import ArtifactStore
from agent.store.render_store import RenderStore
from bus.identity import ResourceKey
from handlers.comparison.comparison import ComparedPair, PairState
from handlers.comparison.reader import ComparisonReader
from handlers.manifest.tracking import stamp
from handlers.ports import ApplyOptions, ApplyRefusedError, JqResult, LiveObject, Manifest
from tests.ciphers import CIPHER
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.control_plane.builders import governance
from tests.unit.handlers.one_cluster import OneCluster, OneSession
from tests.unit.handlers.render.kept_applications import NAMESPACE, RenderCluster, ServedKindsTable
from tests.unit.handlers.sync.builders import found, live

KEY = ResourceKey("autoscaling", "HorizontalPodAutoscaler", "shop", "web")


def written(most: int = 3) -> dict[str, Any]:
    """As Git has it: the old version's own field for the CPU."""
    return scaler("autoscaling/v1", most, {"targetCPUUtilizationPercentage": 80})


def indexed(most: int = 3) -> dict[str, Any]:
    """As the watch sees it: the preferred version."""
    target = {"type": "Utilization", "averageUtilization": 80}
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    return scaler("autoscaling/v2", most, {"metrics": [cpu]})


def scaler(api_version: str, most: int, metric: Mapping[str, Any]) -> dict[str, Any]:
    spec = {"maxReplicas": most, "scaleTargetRef": {"kind": "Deployment", "name": "web"}, **metric}
    return {
        "apiVersion": api_version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }


@dataclass
class BothVersions:
    """handlers.ports.Cluster of one scaler of at most three replicas."""

    serves: tuple[str, ...] = ("v1", "v2")
    asked: list[str] = field(default_factory=list)

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject:
        """What would be there, in the version it was sent in."""
        assert options.dry_run
        self.asked.append("dry run")
        return scaling(manifest)

    async def read(self, live: LiveObject, version: str) -> LiveObject:
        self.asked.append(f"read {version}")
        if version not in self.serves:
            raise ApplyRefusedError(f"no {live.key.kind} in {version}", code=404)
        return scaling(stamp(written(), "web") if version == "v1" else live.manifest)

    async def delete(self, live: LiveObject, *, propagation: str = "foreground") -> None:
        raise AssertionError(f"{live.key} is only compared ({propagation})")

    async def managed_fields(self, live: LiveObject) -> tuple[Manifest, ...]:
        raise AssertionError(f"no rule asks for the managers of {live.key}")

    async def refresh_kinds(self) -> None:
        """Nothing new."""


class NoJq:
    """handlers.ports.JqPaths that no rule needs."""

    async def problems(self, expressions: Sequence[str], *, project: str) -> Sequence[str]:
        raise AssertionError((expressions, project))

    async def paths(
        self, expressions: Sequence[str], documents: Sequence[bytes], *, project: str
    ) -> Sequence[Sequence[JqResult]]:
        raise AssertionError((expressions, documents, project))


@dataclass
class OneScaler(ServedKindsTable):
    """handlers.ports.LiveState that has seen it in its preferred version."""

    one: LiveObject

    def get(self, key: object) -> LiveObject | None:
        return self.one if key == KEY else None


def scaling(manifest: Manifest) -> LiveObject:
    tracking = "web:autoscaling/HorizontalPodAutoscaler:shop/web"
    return live(manifest, key=KEY, version="v2", tracking=tracking)


async def compared(
    folder: Path, cluster: BothVersions, git: Manifest, *, times: int = 1
) -> ComparedPair:
    seen = found((git,))
    content = msgspec.json.encode(seen.desired.objects[KEY]) + b"\n"
    comparisons = ComparisonReader(
        apps=RenderCluster().apps,
        renders=RenderStore.open(folder / "renders"),
        artifacts=ArtifactStore.open(folder / "artifacts", cipher=CIPHER),
        clusters=OneCluster(OneSession(live=OneScaler(scaling(indexed())), writer=cluster)),
        governance=governance(),
        control_namespace=NAMESPACE,
        jq=NoJq(),
    )
    seen_each_time = [
        await comparisons.compare(application(), seen.record, content) for _ in range(times)
    ]
    (pair,) = seen_each_time[-1].pairs
    return pair


async def test_what_is_the_same_in_gits_version_is_the_same(tmp_path: Path) -> None:
    cluster = BothVersions()
    pair = await compared(tmp_path, cluster, written())
    assert (pair.state, cluster.asked) == (PairState.SAME, ["dry run", "read v1"])


async def test_what_differs_in_gits_version_differs_by_its_own_fields_only(tmp_path: Path) -> None:
    pair = await compared(tmp_path, BothVersions(), written(most=5))
    assert pair.state is PairState.CHANGED
    assert [one.path for one in pair.resource.differences] == ["spec.maxReplicas"]


async def test_the_second_reading_is_remembered(tmp_path: Path) -> None:
    cluster = BothVersions()
    await compared(tmp_path, cluster, written(), times=2)
    assert cluster.asked == ["dry run", "read v1"]


async def test_the_indexs_own_version_is_not_read_again(tmp_path: Path) -> None:
    cluster = BothVersions()
    pair = await compared(tmp_path, cluster, indexed())
    assert (pair.state, cluster.asked) == (PairState.SAME, [])


@pytest.mark.parametrize("most", [3, 5])
async def test_a_version_that_cannot_be_read_counts_as_different(tmp_path: Path, most: int) -> None:
    """Applying it says why."""
    pair = await compared(tmp_path, BothVersions(serves=("v2",)), written(most))
    assert pair.state is PairState.CHANGED


@dataclass
class Forbidding(BothVersions):
    """The cluster while the account has no right to write."""

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject:
        self.asked.append("forbidden")
        raise ApplyRefusedError(f"{options.dry_run} {manifest['kind']}", code=403)


async def test_a_question_that_is_forbidden_is_asked_again(tmp_path: Path) -> None:
    """A right that is granted changes no object, so that nothing else would show it."""
    cluster = Forbidding()
    pair = await compared(tmp_path, cluster, written(), times=2)
    assert (pair.state, cluster.asked) == (PairState.CHANGED, ["forbidden", "forbidden"])
