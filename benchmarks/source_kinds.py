"""The same chart, read from each kind of source: a Git repository, a Helm repository, a registry.

Every host is behind a relay that counts what it sends. Each application has the chart's four
objects; a release changes the tag of its image, and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import urlsplit

import yaml

from benchmarks.agent_setup import BenchmarkParts
from benchmarks.relay import Relay
from benchmarks.workload import NAMESPACE, Object, objects
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrl
from handlers.application.source_address import key_of
from playground.charthost import ChartHost, packaged
from playground.registry import OciRegistry, oci_registry

CHART = "web"
_RELEASE, _TAG = "RELEASE-NAME", "IMAGE-TAG"
_SHARED = "envs/all.yaml"


class MeasuredSource(StrEnum):
    GIT = "Git"
    HELM = "Helm repository"
    OCI = "OCI registry"
    TWO = "two sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Connections to the hosts of a source, and the bytes that these have sent."""

    connections: int
    sent: int

    def since(self, before: Traffic) -> Traffic:
        return Traffic(
            connections=self.connections - before.connections, sent=self.sent - before.sent
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSource:
    """A source that can be read: `release` publishes the chart with another tag of its image."""

    spec: Mapping[str, Any]
    """`source` or `sources` of an Application."""
    repositories: tuple[RepositoryKey, ...]
    relays: tuple[Relay, ...]
    release: Callable[[int], Coroutine[Any, Any, None]]

    @property
    def traffic(self) -> Traffic:
        return Traffic(
            connections=sum(relay.connections for relay in self.relays),
            sent=sum(relay.answered for relay in self.relays),
        )


def chart_files(tag: str) -> dict[str, str]:
    """The chart's files beside its Chart.yaml."""
    text = yaml.safe_dump_all(objects(_RELEASE, _TAG))
    template = text.replace(_RELEASE, "{{ .Release.Name }}").replace(_TAG, "{{ .Values.tag }}")
    return {"templates/config.yaml": template, "values.yaml": f"tag: {tag!r}\n"}


def tag_of(release: int) -> str:
    return f"1.{release}"


@asynccontextmanager
async def open_source(
    kind: MeasuredSource, ground: BenchmarkParts, folder: Path, registry: Path
) -> AsyncIterator[OpenSource]:
    """Open the source with nothing published; `registry` is the program of the OCI registry."""
    async with AsyncExitStack() as stack:
        match kind:
            case MeasuredSource.GIT:
                yield await _git(stack, ground)
            case MeasuredSource.HELM:
                yield await _helm(stack)
            case MeasuredSource.OCI:
                yield await _oci(stack, ground, folder, registry)
            case MeasuredSource.TWO:
                yield await _two(stack, ground, folder, registry)
            case _:
                assert_never(kind)


async def _git(stack: AsyncExitStack, ground: BenchmarkParts) -> OpenSource:
    relay, url = await _behind_relay(stack, ground.repository.url)

    async def release(number: int) -> None:
        chart = {"Chart.yaml": f"apiVersion: v2\nname: {CHART}\nversion: 1.0.0\n"}
        files = {**chart, **chart_files(tag_of(number))}
        ground.repository.commit({f"chart/{path}": text for path, text in files.items()})

    source = {"repoURL": url, "targetRevision": "main", "path": "chart"}
    return OpenSource(
        spec={"source": source},
        repositories=(RepositoryKey.of(url),),
        relays=(relay,),
        release=release,
    )


async def _helm(stack: AsyncExitStack) -> OpenSource:
    host = await stack.enter_async_context(ChartHost())
    relay, url = await _behind_relay(stack, host.url)

    async def release(number: int) -> None:
        host.publish(CHART, f"1.{number}.0", chart_files(tag_of(number)))

    return OpenSource(
        spec={"source": _chart(url, "1.x")},
        repositories=(_chart_key(url),),
        relays=(relay,),
        release=release,
    )


async def _oci(
    stack: AsyncExitStack, ground: BenchmarkParts, folder: Path, binary: Path
) -> OpenSource:
    registry, relay, address = await _registry(stack, ground, folder, binary)

    async def release(number: int) -> None:
        await _push(registry, number)

    return OpenSource(
        spec={"source": _chart(f"{address}/charts", "1.x")},
        repositories=(_chart_key(f"oci://{address}/charts"),),
        relays=(relay,),
        release=release,
    )


async def _two(
    stack: AsyncExitStack, ground: BenchmarkParts, folder: Path, binary: Path
) -> OpenSource:
    registry, relay, address = await _registry(stack, ground, folder, binary)
    git_relay, url = await _behind_relay(stack, ground.repository.url)
    await _push(registry, 0)

    async def release(number: int) -> None:
        ground.repository.commit({_SHARED: f"tag: {tag_of(number)!r}\n"})

    helm = {"valueFiles": [f"$values/{_SHARED}"]}
    sources = [
        {**_chart(f"{address}/charts", "1.0.0"), "helm": helm},
        {"repoURL": url, "targetRevision": "main", "ref": "values"},
    ]
    return OpenSource(
        spec={"sources": sources},
        repositories=(_chart_key(f"oci://{address}/charts"), RepositoryKey.of(url)),
        relays=(relay, git_relay),
        release=release,
    )


async def _push(registry: OciRegistry, number: int) -> None:
    version = f"1.{number}.0"
    archive = packaged(CHART, version, chart_files(tag_of(number)))
    await registry.push_chart(f"charts/{CHART}", version, archive)


async def _registry(
    stack: AsyncExitStack, ground: BenchmarkParts, folder: Path, binary: Path
) -> tuple[OciRegistry, Relay, str]:
    """Start a registry, which speaks plain HTTP; returns it, its relay and the relay's address."""
    registry = await stack.enter_async_context(
        oci_registry(binary, folder / "registry", folder / "registry-files")
    )
    relay, url = await _behind_relay(stack, f"http://{registry.address}")
    address = url.removeprefix("http://")
    secret: Object = {
        "metadata": {
            "name": "registry",
            "labels": {"argocd.argoproj.io/secret-type": "repo-creds"},
        },
        "stringData": {"url": address, "type": "helm", "insecureOCIForceHttp": "true"},
    }
    await ground.cluster.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
    return registry, relay, address


async def _behind_relay(stack: AsyncExitStack, url: str) -> tuple[Relay, str]:
    """Open a relay to the URL's server; returns it, and the URL that leads through it."""
    parts = urlsplit(url)
    relay = Relay((parts.hostname or "", parts.port or 80))
    await stack.enter_async_context(relay.open())
    return relay, parts._replace(netloc=f"127.0.0.1:{relay.port}").geturl()


def _chart_key(url: str) -> RepositoryKey:
    return key_of(RepositoryUrl.parse(url), CHART)


def _chart(url: str, version: str) -> Object:
    return {"repoURL": url, "chart": CHART, "targetRevision": version}
