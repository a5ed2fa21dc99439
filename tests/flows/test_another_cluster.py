"""Another cluster answers at the address of the old one, further on than it: the agent notices.

Both are real control planes. The second one fills its own etcd behind its own API server; then its
data are put behind the address, certificates and tokens of the first.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from bus.link import LinkItem
from playground.githost import GitHost
from playground.kubeapi import KubeApi, install_definitions
from playground.kubernetes import BreakableControlPlane, ControlPlane, control_plane
from tests.flows.agent_fixture import APPLICATIONS, SERVER, config_map
from tests.paths import REPOSITORY
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService, quiet

pytestmark = pytest.mark.timeout(300)

_AGENT = "from cli.main import main; main()"
_APPLICATION = "application.v1"
_CONTROL, _APPS = "argocd", "shop"
_MAPS = f"/api/v1/namespaces/{_APPS}/configmaps"
_TRACKED_BY_WEB = f"web:/ConfigMap:{_APPS}/precious"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedCluster:
    """The address, the cluster that answers there, and the agent that knows it."""

    first: BreakableControlPlane
    process: ChildProcess
    fake_service: FakeService


@pytest.fixture
async def first(
    tmp_path: Path, control_plane_binaries: Path
) -> AsyncIterator[BreakableControlPlane]:
    folder = tmp_path / "first"
    async with control_plane(folder, control_plane_binaries, controllers=False) as cluster:
        await furnish(cluster)
        yield cluster


@pytest.fixture
async def replaced(
    first: BreakableControlPlane,
    git_host: GitHost,
    nats_url: str,
    sandbox_binary: Path,
    tmp_path: Path,
) -> AsyncIterator[ReplacedCluster]:
    """The agent has synced `web` in the first cluster and told the service of it."""
    repository = git_host.create(f"{tmp_path.name}/apps")
    repository.commit({"web/config.yaml": config_map("web", a="1")})
    async with FakeService().open() as fake_service, first.api() as api:
        await api.create(APPLICATIONS.format(_CONTROL), application(repository.url))
        (tmp_path / "token").write_text(fake_service.token)
        port = free_port()
        environment = environment_of(first, fake_service, tmp_path, port)
        program = ChildProgram(
            name="gitops-agent",
            command=(sys.executable, "-c", _AGENT, "agent", "run"),
            folder=tmp_path,
            environment={
                **environment,
                "GITOPS_NATS_URL": nats_url,
                "GITOPS_SANDBOX_BINARY": str(sandbox_binary),
            },
            ready_within=120.0,
            stop_grace=30.0,
        )
        process = ChildProcess(program, answers_ok(f"http://127.0.0.1:{port}/leaderz"))
        await process.start()
        await eventually(lambda: is_synced(fake_service), within=120, what="web in sync")
        yield ReplacedCluster(first=first, process=process, fake_service=fake_service)
        await process.stop()


async def test_another_cluster_with_higher_versions_is_read_anew_and_nothing_is_pruned(
    replaced: ReplacedCluster, control_plane_binaries: Path, tmp_path: Path
) -> None:
    fake_service = replaced.fake_service
    await quiet(fake_service)
    before, heard = fake_service.hellos[-1], len(fake_service.items)
    secrets = await secrets_of(replaced.first)
    newest = await version_of(replaced.first)
    other = control_plane(tmp_path / "second", control_plane_binaries, controllers=False)
    async with other as cluster:
        await fill(cluster, secrets, beyond=newest)
        async with cluster.stopped() as data:
            second = await asyncio.to_thread(shutil.copytree, data, tmp_path / "copy")

    async with replaced.first.stopped() as data:
        await asyncio.to_thread(shutil.rmtree, data)
        await asyncio.to_thread(shutil.copytree, second, data)

    await eventually(
        lambda: fake_service.hellos[-1].cluster_uid not in ("", before.cluster_uid),
        within=120,
        what="a Hello of the other cluster",
    )
    assert fake_service.hellos[-1].epoch != before.epoch
    await eventually(
        lambda: apps_of(fake_service) == {"other"}, within=120, what="only its application"
    )
    assert "web" not in {
        name_of(item) for item in fake_service.items[heard:] if item.type == _APPLICATION
    }
    async with replaced.first.api() as api:
        there = {it["metadata"]["name"] for it in (await api.get(_MAPS))["items"]}
    assert {"precious"} <= there
    assert "web" not in there


async def fill(cluster: ControlPlane, secrets: list[dict[str, Any]], *, beyond: int) -> None:
    """Write what makes it another cluster: the agent's Secrets, an application, later versions."""
    await furnish(cluster)
    async with cluster.api() as api:
        for secret in secrets:
            await api.create(f"/api/v1/namespaces/{_CONTROL}/secrets", secret)
        annotations = {"argocd.argoproj.io/tracking-id": _TRACKED_BY_WEB}
        await api.create(_MAPS, named("ConfigMap", "precious", annotations=annotations))
        other = application("https://git.example.org/none", "other")
        await api.create(APPLICATIONS.format(_CONTROL), other)
        number = 0
        while await version_of(cluster) <= beyond:
            number += 1
            await api.patch(f"{_MAPS}/precious", {"data": {"n": str(number)}})


async def furnish(cluster: ControlPlane) -> None:
    async with cluster.api() as api:
        await install_definitions(api)
        for name in (_CONTROL, _APPS):
            await api.create("/api/v1/namespaces", {"metadata": {"name": name}})


async def secrets_of(cluster: ControlPlane) -> list[dict[str, Any]]:
    """As a backup of Secrets carries them to another cluster."""
    async with cluster.api() as api:
        found = await api.get(f"/api/v1/namespaces/{_CONTROL}/secrets")
    return [
        {"metadata": {"name": it["metadata"]["name"]}, "data": it["data"]} for it in found["items"]
    ]


async def version_of(cluster: ControlPlane) -> int:
    async with cluster.api() as api:
        return await _version(api)


async def _version(api: KubeApi) -> int:
    return int((await api.get(_MAPS))["metadata"]["resourceVersion"])


def environment_of(
    cluster: ControlPlane, fake_service: FakeService, folder: Path, port: int
) -> dict[str, str]:
    return {
        "PYTHONPATH": str(REPOSITORY),
        "GITOPS_ACCOUNT": "flows",
        "GITOPS_AGENT": f"t{folder.name.replace('_', '-')[-12:].strip('-')}",
        "GITOPS_NAMESPACE": _CONTROL,
        "GITOPS_DESTINATION_NAMESPACES": f"{_CONTROL},{_APPS}",
        "GITOPS_KUBE_KUBECONFIG": str(cluster.kubeconfig),
        "GITOPS_STATE_DIR": str(folder / "process"),
        "GITOPS_LEASE_ENABLED": "false",
        "GITOPS_HTTP_PORT": str(free_port()),
        "GITOPS_HTTP_METRICS_PORT": str(port),
        "GITOPS_LINK_URL": fake_service.url,
        "GITOPS_LINK_TOKEN_FILE": str(folder / "token"),
    }


def application(url: str, name: str = "web") -> dict[str, Any]:
    source = {"repoURL": url, "path": name, "targetRevision": "main"}
    return {
        **named("Application", name),
        "apiVersion": "argoproj.io/v1alpha1",
        "spec": {
            "project": "default",
            "source": source,
            "destination": {"server": SERVER, "namespace": _APPS},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }


def named(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


def is_synced(fake_service: FakeService) -> bool:
    reported = fake_service.state("Application", f"{_CONTROL}/web")
    return bool(reported.get("status", {}).get("sync", {}).get("status") == "Synced")


def apps_of(fake_service: FakeService) -> set[str]:
    """The applications that are told to be there."""
    reported = fake_service.states.values()
    return {name_of(it) for it in reported if it.type == _APPLICATION and not it.deleted}


def name_of(item: LinkItem) -> str:
    return item.subject.partition("/")[2]
