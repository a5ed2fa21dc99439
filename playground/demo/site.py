"""The clusters of the demo, and its sites: a cluster with our definitions and the agent beside it.

The agent is a child process, as in production: it is told everything by settings and watched from
outside only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from playground.demo.control_plane import ACCOUNT, GITOPS, DemoService, written
from playground.demo.repository import NAMESPACE
from playground.kubeapi import KubeApi, install_definitions
from playground.kubernetes import ControlPlane
from playground.server import Server

_APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/applications"
_LIMITS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "gitops-agent-limits"},
    "data": {
        "clusters": "*",
        "namespaces": "*",
        "clusterScoped": "true",
        "override": "true",
        "overrideWindow": "true",
        "configMaps": "*",
    },
}
"""The demo's owner lets the control plane do everything that it can; nothing in the ConfigMaps is
anybody's secret, so the dashboard may show what they hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlan:
    """What a site is like: `environment` and `region` are what the fleet pages group by."""

    name: str
    environment: str
    region: str
    settings: Mapping[str, str]
    """More settings of the agent: its NATS, its Redis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCluster:
    """A cluster of the demo, with or without an agent of its own."""

    kubernetes: ControlPlane
    api: KubeApi

    async def create(self, application: Mapping[str, Any]) -> None:
        await self.api.create(_APPLICATIONS, application)

    async def application(self, name: str) -> dict[str, Any]:
        return await self.api.get(f"{_APPLICATIONS}/{name}")

    async def applications(self) -> list[dict[str, Any]]:
        listed = await self.api.get(_APPLICATIONS)
        items: list[dict[str, Any]] = listed["items"]
        return items


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSite(DemoCluster):
    """A cluster beside which an agent runs."""

    plan: SitePlan
    agent: Server


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteParts:
    """What every site stands on."""

    folder: Path
    sandbox: Path
    service: DemoService
    webhook_secret: str


@asynccontextmanager
async def open_site(
    plan: SitePlan, kubernetes: ControlPlane, ground: SiteParts
) -> AsyncIterator[DemoSite]:
    """The agent is enrolled and ready; no Application yet."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(kubernetes.api())
        await _furnish(api, ground.webhook_secret)
        token = await ground.service.new_agent(plan.name, plan.environment, plan.region)
        agent = await stack.enter_async_context(open_agent(plan, kubernetes, ground, token))
        yield DemoSite(plan=plan, kubernetes=kubernetes, api=api, agent=agent)


async def _furnish(api: KubeApi, webhook_secret: str) -> None:
    """What a cluster administrator does once: definitions, namespace, limits, webhook's secret."""
    await install_definitions(api)
    await api.create_namespace(NAMESPACE)
    await api.create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", _LIMITS)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "argocd-secret"},
        "stringData": {"webhook.github.secret": webhook_secret},
    }
    await api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)


@asynccontextmanager
async def open_agent(
    plan: SitePlan, kubernetes: ControlPlane, ground: SiteParts, token: str
) -> AsyncIterator[Server]:
    """`gitops agent run`, given when it acts; it enrols with the token by itself."""
    port, metrics_port = free_port(), free_port()
    folder = ground.folder / f"agent-{plan.name}"
    token_file = await asyncio.to_thread(written, folder / "token", token)
    program = ChildProgram(
        name="gitops-agent",
        command=(*GITOPS, "agent", "run"),
        folder=folder,
        environment={
            "GITOPS_ACCOUNT": ACCOUNT,
            "GITOPS_AGENT": plan.name,
            "GITOPS_NAMESPACE": NAMESPACE,
            "GITOPS_KUBE_KUBECONFIG": str(kubernetes.kubeconfig),
            "GITOPS_STATE_DIR": str(folder / "state"),
            "GITOPS_SANDBOX_BINARY": str(ground.sandbox),
            "GITOPS_HTTP_PORT": str(port),
            "GITOPS_HTTP_METRICS_PORT": str(metrics_port),
            "GITOPS_LOG_FORMAT": "json",
            "GITOPS_LINK_URL": ground.service.url,
            "GITOPS_LINK_TOKEN_FILE": str(token_file),
            **plan.settings,
        },
        ready_within=120,
        stop_grace=20.0,
    )
    url, metrics_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics_port}"
    async with ChildProcess(program, answers_ok(f"{metrics_url}/leaderz")) as child:
        yield Server(url=url, metrics_url=metrics_url, child=child)
