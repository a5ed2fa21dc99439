"""Probes of the cluster for `gitops agent check`: identity, rights, repositories, settings."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from agent.bridge.identity.key_store import BrokenKeysError, KeyStore
from agent.download.disk import open_disk
from agent.download.services import DownloadServices
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import KubeConfigError, connect
from agent.kube.rights import Right, missing, who_am_i
from agent.settings import Settings
from agent.sources import source_readers
from agent.store.argo_secrets import ArgoSecrets
from agent.store.feeds import REMEDY
from agent.store.git_server_trust import GitServerTrust
from agent.store.named_config_map import data_of
from agent.version_range import NoRanges
from bus.redaction import without_user_info
from cli.local import signature_probe
from cli.local.probes import SECONDS, Finding
from cli.local.signature_probe import installed_program
from handlers.application.application import Application, AppProject, PartialObjectMetadata
from handlers.application.argo_parameters import PARAMETERS
from handlers.application.argo_settings import CONFIG_MAP, ArgoSettings, read_settings
from handlers.application.spec import Source
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, RepositoryError, Sources
from handlers.trust.signing_trust import KEYS

MOST_REPOSITORIES = 20


async def cluster(settings: Settings) -> Sequence[Finding]:
    """Probe the agent's identity and rights, and whether the repositories in use can be read."""
    try:
        async with _client(settings) as client:
            who = await who_am_i(client)
            findings = [Finding(part="cluster", ok=True, found=f"{client.url} as {who}")]
            findings += [_right(right) for right in await missing(client, rights(settings))]
            findings += await argo(client, settings.namespace)
            findings += await _signatures(client, settings.namespace)
            findings += await link(client, settings)
            return [*findings, *await _repositories(client, settings)]
    except (KubeConfigError, ClusterUnreachableError, ApplyRefusedError) as e:
        remedy = "Check GITOPS_KUBE_KUBECONFIG, or the pod's service account."
        return [Finding(part="cluster", ok=False, found=str(e), remedy=remedy)]


@asynccontextmanager
async def _client(settings: Settings) -> AsyncIterator[KubeClient]:
    connection = await connect(settings.kube.kubeconfig, settings.kube.context)
    async with kube_client(connection, answer_within=SECONDS) as client:
        yield client


def rights(settings: Settings) -> Iterator[Right]:
    """Probe the necessary rights: the agent's own objects, and samples of what it deploys."""
    home = settings.namespace
    own = {
        ("argoproj.io", "applications"): ("get", "list", "watch", "patch"),
        ("argoproj.io", "appprojects"): ("get", "list", "watch"),
        ("", "secrets"): ("get", "list", "watch"),
    }
    if settings.lease.enabled:
        own["coordination.k8s.io", "leases"] = ("get", "create", "update")
    for (group, resource), verbs in own.items():
        for verb in verbs:
            yield Right(verb=verb, group=group, resource=resource, namespace=home)
    if settings.rights_profile == "kinds":
        return  # whatever was chosen; what is not granted says so when it is deployed
    writes = () if settings.rights_profile == "read-only" else ("create", "patch", "delete")
    for namespace in settings.destination_namespaces or ("",):
        for group, resource in (("apps", "deployments"), ("", "services"), ("", "configmaps")):
            for verb in ("get", "list", "watch", *writes):
                yield Right(verb=verb, group=group, resource=resource, namespace=namespace)


async def link(client: KubeClient, settings: Settings) -> list[Finding]:
    """Name the key that credentials for this agent are sealed to; none without a link."""
    if not settings.link.url:
        return []
    part = "sealing key"
    try:
        keys = await KeyStore(client=client, namespace=settings.namespace).read()
    except BrokenKeysError as error:
        return [Finding(part=part, ok=False, found=str(error), remedy="Enrol the agent again.")]
    if keys is None:
        return [Finding(part=part, ok=True, found="made when the agent starts")]
    return [Finding(part=part, ok=True, found=keys.sealing_fingerprint)]


def _right(right: Right) -> Finding:
    remedy = "Give the agent's ServiceAccount this right; deploy/chart lists all that it needs."
    return Finding(part="rights", ok=False, found=f"may not {right}", remedy=remedy)


async def _repositories(client: KubeClient, settings: Settings) -> list[Finding]:
    home = f"namespaces/{settings.namespace}"
    listed = await client.get(f"/apis/argoproj.io/v1alpha1/{home}/applications")
    apps = msgspec.json.decode(listed, type=_Listed).items
    secrets = ArgoSecrets()
    for raw in msgspec.json.decode(await client.get(f"/api/v1/{home}/secrets"), type=_Raws).items:
        secrets.put(bytes(raw))
    used = sorted(
        {(app.source.repo_url, app.source.chart, app.spec.project) for app in apps if app.source}
    )
    trust = await _git_trust(client, home)
    with tempfile.TemporaryDirectory(prefix="gitops-check-") as folder:
        mirrors = Mirrors(
            MirrorSettings(folder=Path(folder), fetch_seconds=60.0),
            SecretCredentials(secrets.all),
            trust,
        )
        services = DownloadServices(
            disk=open_disk(Path(folder) / "charts"),
            credentials=SecretCredentials(secrets.all),
            trust=trust,
            outcomes=mirrors.outcomes,
            versions=NoRanges(),
        )
        async with mirrors:
            sources = source_readers(mirrors, services)
            return [
                await _repository(Source(repo_url=url, chart=chart), project, sources)
                for url, chart, project in used[:MOST_REPOSITORIES]
            ]


async def _git_trust(client: KubeClient, home: str) -> GitServerTrust:
    """Read by what Git servers are believed; what is missing or may not be read is empty."""
    found = GitServerTrust()
    for config_map in found.config_maps.members:
        with suppress(ApplyRefusedError):
            config_map.put(await client.get(f"/api/v1/{home}/configmaps/{config_map.name}"))
    return found


async def _repository(source: Source, project: str, sources: Sources) -> Finding:
    url = source.repo_url
    try:
        await sources.fetch(sources.access(source, project))
    except RepositoryError as e:
        remedy = "Check the URL and the repository Secret in the control namespace."
        return Finding(part="git", ok=False, found=without_user_info(e.message), remedy=remedy)
    return Finding(part="git", ok=True, found=f"{without_user_info(url)} can be fetched")


class _Listed(msgspec.Struct, frozen=True):
    items: tuple[Application, ...]


class _ListedProjects(msgspec.Struct, frozen=True):
    items: tuple[AppProject, ...]


class _Raws(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...]


_HELD = "Remove the setting, or sync by hand: automated syncs are held while it is there."
_CORRECT = "Correct the rule: its fields count as differences until then."
_REMEDY = "Nothing, if that is meant; docs/compatibility.md says what is acted on."


async def argo(client: KubeClient, namespace: str) -> list[Finding]:
    """Return a finding for each; what is not there or may not be read has none."""
    settings = read_settings(
        await _data(client, namespace, CONFIG_MAP), await _data(client, namespace, PARAMETERS)
    )
    sets: tuple[str, ...] = ()
    with suppress(ApplyRefusedError):
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/applicationsets"
        listed = msgspec.json.decode(await client.get(path), type=_ListedConfigMaps)
        sets = tuple(one.metadata.name for one in listed.items)
    return list(findings(settings, sets))


async def _signatures(client: KubeClient, namespace: str) -> list[Finding]:
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/appprojects"
    with suppress(ApplyRefusedError):
        projects = msgspec.json.decode(await client.get(path), type=_ListedProjects).items
        keys = await _data(client, namespace, KEYS)
        return list(signature_probe.findings(projects, keys, installed_program()))
    return []


async def _data(client: KubeClient, namespace: str, name: str) -> Mapping[str, str]:
    with suppress(ApplyRefusedError):
        raw = await client.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        return data_of(raw)
    return {}


def findings(settings: ArgoSettings, sets: Iterable[str]) -> Iterator[Finding]:
    """List what is not acted on; `sets` are the names of the ApplicationSets."""
    for one in settings.unsupported:
        found = f"{one.field} is not acted on by this version: {one.consequence}"
        remedy = _HELD if one.harmful else _REMEDY
        yield Finding(part="argo cd", ok=not one.harmful, found=found, remedy=remedy)
    for rule in settings.ignore_rules:
        for problem in rule.problems:
            yield Finding(part="argo cd", ok=False, found=problem, remedy=_CORRECT)
    names = sorted(sets)
    if names:
        found = f"no Applications are made of the ApplicationSets {', '.join(names)}"
        yield Finding(part="argo cd", ok=False, found=found, remedy=REMEDY)


class _ListedConfigMaps(msgspec.Struct, frozen=True):
    items: tuple[PartialObjectMetadata, ...]
