"""The cluster's part of `gitops agent check`: who we are, what we may do, and Git."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from agent.git.credentials import SecretCredentials
from agent.git.failures import CERTIFICATES
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.kube.client import KubeClient, kube_client
from agent.kube.config import KubeConfigError, connect
from agent.kube.rights import Right, missing, who_am_i
from agent.settings import Settings
from agent.store.certificates import Certificates
from agent.store.secrets import Secrets
from bus.redaction import without_user_info
from cli.argo_probe import argo
from cli.probes import SECONDS, Finding
from handlers.application.application import Application
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, RepositoryError

MOST_REPOSITORIES = 20


async def cluster(settings: Settings) -> Sequence[Finding]:
    """Who we are, what we may do, and whether the repositories in use can be read."""
    try:
        async with _client(settings) as client:
            who = await who_am_i(client)
            findings = [Finding(part="cluster", ok=True, found=f"{client.url} as {who}")]
            findings += [_right(right) for right in await missing(client, rights(settings))]
            findings += await argo(client, settings.namespace)
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
    """What the agent cannot do without: its own objects, and samples of what it deploys."""
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


def _right(right: Right) -> Finding:
    remedy = "Give the agent's ServiceAccount this right; deploy/chart lists all that it needs."
    return Finding(part="rights", ok=False, found=f"may not {right}", remedy=remedy)


async def _repositories(client: KubeClient, settings: Settings) -> list[Finding]:
    home = f"namespaces/{settings.namespace}"
    listed = await client.get(f"/apis/argoproj.io/v1alpha1/{home}/applications")
    apps = msgspec.json.decode(listed, type=_Listed).items
    secrets = Secrets()
    for raw in msgspec.json.decode(await client.get(f"/api/v1/{home}/secrets"), type=_Raws).items:
        secrets.put(bytes(raw))
    sources = sorted({(app.source.repo_url, app.spec.project) for app in apps if app.source})
    with tempfile.TemporaryDirectory(prefix="gitops-check-") as folder:
        mirrors = Mirrors(
            MirrorSettings(folder=Path(folder), fetch_seconds=60.0),
            SecretCredentials(secrets.all),
            (await _certificates(client, home)).for_url,
        )
        async with mirrors:
            return [await _repository(*one, mirrors) for one in sources[:MOST_REPOSITORIES]]


async def _certificates(client: KubeClient, home: str) -> Certificates:
    """None where they are not there or may not be read: a fetch then says what it misses."""
    found = Certificates()
    with suppress(ApplyRefusedError):
        found.put(await client.get(f"/api/v1/{home}/configmaps/{CERTIFICATES}"))
    return found


async def _repository(url: str, project: str, mirrors: Mirrors) -> Finding:
    try:
        await mirrors.fetch(mirrors.access(url, project))
    except RepositoryError as e:
        remedy = "Check the URL and the repository Secret in the control namespace."
        return Finding(part="git", ok=False, found=without_user_info(e.message), remedy=remedy)
    return Finding(part="git", ok=True, found=f"{without_user_info(url)} can be fetched")


class _Listed(msgspec.Struct, frozen=True):
    items: tuple[Application, ...]


class _Raws(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...]
