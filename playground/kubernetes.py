"""A real Kubernetes control plane on loopback: etcd, the API server, and what makes objects live.

Started in the order they need each other; the API server can be killed and brought back on its
port with its data, which is what fault tests want. kwok plays the nodes by `stages.yaml`, where
labels make pods slow or broken; `exec` into a pod is a shell of this machine (`kubelet/`). Clusters
are cheap to share: one for a test run, a namespace for a test. With `controllers=False` it is only
an API to write to and read from.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp

from agent.child_process import ChildProcess, Fact, until
from agent.loopback import answers_tcp, free_port
from playground import programs
from playground.build import build_kubelet, ignore_progress
from playground.certificates import (
    KeyPair,
    make_authority,
    make_client_pair,
    make_serving_pair,
    make_signing_key,
)
from playground.kubeapi import Access, KubeApi, kube_api
from playground.programs import ClusterFiles

STAGES = Path(__file__).parent / "stages.yaml"

_ADMIN = "playground-admin"
_GROUPS = {_ADMIN: "system:masters"}
_USERS = (_ADMIN, "system:kube-controller-manager", "system:kube-scheduler")
_NODES = ("node-1", "node-2")
_USABLE_WITHIN = 60
_LABELS = {"kubernetes.io/os": "linux"}
_DEFAULT = "/api/v1/namespaces/default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """A running cluster, which another process may have started.

    Its administrator can be reached by token (`access`, `kubeconfig`) and by client `certificate`.
    """

    access: Access
    kubeconfig: Path
    certificate: KeyPair

    @property
    def url(self) -> str:
        return self.access.url

    def api(self) -> AbstractAsyncContextManager[KubeApi]:
        """The administrator's connection."""
        return kube_api(self.access)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakableControlPlane(ControlPlane):
    """A cluster whose programs are ours to break: whoever shares it is told of the fault too."""

    api_server: ChildProcess
    etcd: ChildProcess
    data: Path

    @property
    def address(self) -> ControlPlane:
        """All that somebody who only uses the cluster needs."""
        return ControlPlane(
            access=self.access, kubeconfig=self.kubeconfig, certificate=self.certificate
        )

    def kill_api_server(self) -> None:
        """As a crash would: connections break, watches end, nothing is said."""
        self.api_server.kill()

    async def start_api_server(self) -> None:
        """Back on the same port with the same data; no effect while it runs."""
        await self.api_server.start()

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[Path]:
        """Neither serves meanwhile; the folder of etcd's data, to be copied or to be put back."""
        await self.api_server.stop()
        await self.etcd.stop()
        try:
            yield self.data
        finally:
            await self.etcd.start()
            await self.api_server.start()

    async def restart_api_server(self) -> None:
        await self.api_server.stop()
        await self.api_server.start()


@asynccontextmanager
async def control_plane(
    folder: Path, binaries: Path, *, controllers: bool = True
) -> AsyncIterator[BreakableControlPlane]:
    """A cluster that is ready to use: with controllers, its nodes are Ready too."""
    tokens = {user: secrets.token_urlsafe(24) for user in _USERS}
    files = _write_files(folder, binaries, tokens)
    async with AsyncExitStack() as stack:
        etcd, api_server, url = await _open_api(stack, files)
        accesses = {
            user: Access(url=url, ca_file=files.authority_file, token=token)
            for user, token in tokens.items()
        }
        configs = _write_kubeconfigs(files.folder, accesses)
        if controllers:
            await _open_controllers(stack, files, configs)
        cluster = BreakableControlPlane(
            access=accesses[_ADMIN],
            kubeconfig=configs[_ADMIN],
            certificate=files.admin,
            api_server=api_server,
            etcd=etcd,
            data=files.folder / "etcd",
        )
        await _until_usable(cluster, nodes=_NODES if controllers else ())
        yield cluster


async def _open_api(
    stack: AsyncExitStack, files: ClusterFiles
) -> tuple[ChildProcess, ChildProcess, str]:
    etcd_port, port = free_port(), free_port()
    etcd = ChildProcess(programs.etcd(files, etcd_port, free_port()), answers_tcp(etcd_port))
    await stack.enter_async_context(etcd)
    url = f"https://127.0.0.1:{port}"
    ready = _answers_https(f"{url}/readyz", files.authority_file)
    api_server = ChildProcess(programs.api_server(files, port, etcd_port), ready)
    await stack.enter_async_context(api_server)
    return etcd, api_server, url


async def _open_controllers(
    stack: AsyncExitStack, files: ClusterFiles, configs: Mapping[str, Path]
) -> None:
    ports = [free_port() for _ in range(4)]
    program = await asyncio.to_thread(build_kubelet, ignore_progress)
    manager = programs.controller_manager(files, ports[0], configs[_USERS[1]])
    scheduler = programs.scheduler(files, ports[1], configs[_USERS[2]])
    kwok = programs.kwok(files, ports[2], ports[3], configs[_ADMIN], STAGES)
    kubelet = programs.kubelet(files, ports[3], program)
    children = [
        ChildProcess(program, answers_tcp(port))
        for program, port in zip((manager, scheduler, kwok, kubelet), ports, strict=True)
    ]
    for child in children:
        stack.push_async_callback(child.stop)
    async with asyncio.TaskGroup() as group:
        for child in children:
            group.create_task(child.start(), name=f"start {child.program.name}")


def _write_files(folder: Path, binaries: Path, tokens: Mapping[str, str]) -> ClusterFiles:
    folder.mkdir(parents=True, exist_ok=True)
    authority = make_authority(folder)
    lines = [f'{token},{user},{user},"{_GROUPS.get(user, "")}"' for user, token in tokens.items()]
    tokens_file = folder / "tokens.csv"
    tokens_file.touch(mode=0o600)
    tokens_file.write_text("\n".join(lines) + "\n")
    return ClusterFiles(
        folder=folder,
        binaries=binaries,
        authority_file=authority.certificate_file,
        admin=make_client_pair(authority, folder, _ADMIN, _GROUPS[_ADMIN]),
        kubelet_client=make_client_pair(authority, folder, programs.KUBELET_CLIENT, "kubelet-api"),
        serving=make_serving_pair(authority, folder, ("kubernetes", "kubernetes.default.svc")),
        signing_key_file=make_signing_key(folder / "service-accounts.key"),
        tokens_file=tokens_file,
    )


def _write_kubeconfigs(folder: Path, accesses: Mapping[str, Access]) -> dict[str, Path]:
    return {
        user: access.write_kubeconfig(folder / f"{user.replace(':', '-')}.kubeconfig")
        for user, access in accesses.items()
    }


def _answers_https(url: str, ca_file: Path) -> Fact:
    trust = ssl.create_default_context(cafile=str(ca_file))
    timeout = aiohttp.ClientTimeout(total=2)

    async def ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(url, ssl=trust) as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    return ready


async def _until_usable(cluster: ControlPlane, nodes: tuple[str, ...]) -> None:
    async with asyncio.timeout(_USABLE_WITHIN), cluster.api() as api:
        for node in nodes:
            await api.create("/api/v1/nodes", {"metadata": {"name": node, "labels": _LABELS}})
        for node in nodes:
            await until(partial(_node_is_ready, api, node))
        await until(partial(api.exists, _DEFAULT))
        if nodes:
            await until(partial(api.exists, f"{_DEFAULT}/serviceaccounts/default"))


async def _node_is_ready(api: KubeApi, node: str) -> bool:
    """Ready, and no longer tainted as not ready: from then on the scheduler uses it."""
    found = await api.get(f"/api/v1/nodes/{node}")
    conditions = found.get("status", {}).get("conditions", ())
    ready = any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)
    return ready and "taints" not in found["spec"]
