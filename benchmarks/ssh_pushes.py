"""ssh_pushes: a push that the agent fetches by SSH, against one that it fetches by HTTPS.

Part of `benchmarks.sources`. Two repositories of the same files, one behind OpenSSH's server and
one behind TLS, are pushed to in turn, so that whoever else works on the machine meets both.
The CPU is that of the agent and of the programs that it starts, Git's and SSH's.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.agent_setup import (
    AgentSetup,
    BenchmarkParts,
    create_namespace,
    open_agent_setup,
    open_parts,
)
from benchmarks.alone import Alone
from benchmarks.counters import look, seconds_with_children
from benchmarks.figures import Figure
from benchmarks.pushing import Eyes, Pushed, push
from benchmarks.workload import (
    APPLICATIONS,
    DEPLOYMENTS,
    DESTINATION,
    NAMESPACE,
    Object,
    application,
    files,
)
from playground.certificates import make_authority, serving
from playground.githost import GitHost, HostedRepository
from playground.sshhost import SshKey, ssh_host

WORK = "pushes with webhook to two applications in turn, fetched by SSH and by HTTPS"
_HTTPS, _SSH = "https", "ssh"
_AIM = 1.2


@dataclass(frozen=True, slots=True)
class Pushes:
    """What the pushes to one repository took."""

    repository: HostedRepository
    milliseconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def ssh_pushes(sandbox: Path, count: int) -> Alone:
    return Alone(
        benchmark="sources: pushes by SSH and by HTTPS",
        work=WORK,
        size=count,
        measure=partial(measure_pushes, sandbox, count),
    )


async def measure_pushes(sandbox: Path, count: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with AsyncExitStack() as stack:
            ground = await stack.enter_async_context(open_parts(Path(folder), sandbox))
            await create_namespace(ground.cluster, DESTINATION)
            secure, secure_url = await _behind_tls(stack, ground, Path(folder))
            plain, ssh_url = await _behind_ssh(stack, ground, Path(folder))
            setup = await stack.enter_async_context(open_agent_setup(ground))
            await setup.cluster.create(APPLICATIONS, application(_HTTPS, secure_url))
            await setup.cluster.create(APPLICATIONS, application(_SSH, ssh_url))
            return await _measured(setup, {_HTTPS: Pushes(secure), _SSH: Pushes(plain)}, count)


async def _measured(
    setup: AgentSetup, work: Mapping[str, Pushes], count: int
) -> tuple[Figure, ...]:
    machine = look()
    async with (
        setup.cluster.watch(DEPLOYMENTS) as changes,
        setup.cluster.watch(APPLICATIONS) as syncs,
    ):
        eyes = Eyes(deployments=changes, applications=syncs)
        for name, pushes in work.items():
            await push(setup, eyes, name, "first", pushes.repository)  # its first fetch, uncounted
        for number in range(count):
            for name, pushes in work.items():
                before = seconds_with_children(setup.agent.pid)
                done = await push(setup, eyes, name, f"2.{number}", pushes.repository)
                pushes.milliseconds.append(_milliseconds(done))
                pushes.cpu.append((seconds_with_children(setup.agent.pid) - before) * 1000)
    others = look().others_share(machine)
    return (
        *_compared(work),
        Figure(name="the machine's CPU that others took", unit="%", value=others),
    )


def _compared(work: Mapping[str, Pushes]) -> Sequence[Figure]:
    """The figures by SSH, with those by HTTPS as their floor."""
    ssh, https = work[_SSH], work[_HTTPS]
    return (
        Figure(
            name="git push done -> object changed, p50",
            unit="ms",
            value=statistics.median(ssh.milliseconds),
            floor=statistics.median(https.milliseconds),
            aim=_AIM,
        ),
        Figure(
            name="the same, longest",
            unit="ms",
            value=max(ssh.milliseconds),
            floor=max(https.milliseconds),
        ),
        Figure(
            name="CPU of the agent and its programs, a push",
            unit="ms",
            value=statistics.mean(ssh.cpu),
            floor=statistics.mean(https.cpu),
            aim=_AIM,
        ),
    )


def _milliseconds(done: Pushed) -> float:
    return (done.changed - done.pushed) * 1000


async def _behind_tls(
    stack: AsyncExitStack, ground: BenchmarkParts, folder: Path
) -> tuple[HostedRepository, str]:
    """A repository behind TLS, whose authority the agent knows, and its URL."""
    keys = folder / "tls"
    keys.mkdir()
    authority = make_authority(keys)
    host = await stack.enter_async_context(GitHost(folder / "https", serving(authority, keys)))
    trusted = {"127.0.0.1": authority.certificate_file.read_text()}
    await _config_map(ground, "argocd-tls-certs-cm", trusted)
    repository = host.create("bench/https")
    repository.commit(files((_HTTPS,)))
    return repository, repository.url


async def _behind_ssh(
    stack: AsyncExitStack, ground: BenchmarkParts, folder: Path
) -> tuple[HostedRepository, str]:
    """A repository behind SSH, whose host key the agent knows, and its URL."""
    git, key = ground.playground.git, SshKey()
    host = await stack.enter_async_context(ssh_host(folder / "ssh", git.folder))
    host.authorize(key)
    await _config_map(ground, "argocd-ssh-known-hosts-cm", {"ssh_known_hosts": host.known_hosts})
    repository = git.create("bench/ssh")
    repository.commit(files((_SSH,)))
    url = host.url(repository.name)
    secret: Object = {
        "metadata": {"name": "ssh", "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "stringData": {"url": url, "sshPrivateKey": key.private()},
    }
    await ground.cluster.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
    return repository, url


async def _config_map(ground: BenchmarkParts, name: str, data: Mapping[str, str]) -> None:
    body: Object = {"metadata": {"name": name}, "data": dict(data)}
    await ground.cluster.create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
