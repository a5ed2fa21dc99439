"""Another cluster for flow tests, and the Secrets by which an agent knows it."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.kubeapi import KubeApi, KubeApiError
from playground.kubernetes import ControlPlane
from tests.flows.agent_fixture import AgentFixture

SECRET_TYPE = "argocd.argoproj.io/secret-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondCluster:
    """A cluster other than the agent's, and a namespace in it."""

    cluster: ControlPlane
    api: KubeApi
    namespace: str

    @property
    def server(self) -> str:
        return self.cluster.url

    def destination(self, **identity: str) -> dict[str, str]:
        return {**(identity or {"server": self.server}), "namespace": self.namespace}

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return a ConfigMap of the namespace."""
        try:
            return await self.api.get(f"{self._maps}/{name}")
        except KubeApiError as error:
            if error.code == 404:
                return None
            raise

    async def edit(self, name: str, **data: str) -> None:
        await self.api.patch(f"{self._maps}/{name}", {"data": data})

    @property
    def _maps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"


def token_config(cluster: ControlPlane, token: str = "") -> dict[str, Any]:
    """The configuration of a bearer token; by default the administrator's."""
    authority = cluster.access.ca_file.read_bytes()
    tls = {"caData": b64encode(authority).decode()}
    return {"bearerToken": token or cluster.access.token, "tlsClientConfig": tls}


def certificate_config(cluster: ControlPlane) -> dict[str, Any]:
    """The configuration of the administrator's client certificate."""
    files = {
        "caData": cluster.access.ca_file,
        "certData": cluster.certificate.certificate_file,
        "keyData": cluster.certificate.key_file,
    }
    encoded = {name: b64encode(file.read_bytes()).decode() for name, file in files.items()}
    return {"tlsClientConfig": encoded}


async def register(
    agent: AgentFixture, secret: str, config: Mapping[str, Any], **fields: str
) -> None:
    """Create or change the Secret of a cluster in the control namespace."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "labels": {SECRET_TYPE: "cluster"}},
        "stringData": {**fields, "config": json.dumps(config)},
    }
    await agent.api.apply(secret_path(agent, secret), body)


async def unregister(agent: AgentFixture, secret: str) -> None:
    await agent.api.delete(secret_path(agent, secret))


def secret_path(agent: AgentFixture, secret: str) -> str:
    return f"/api/v1/namespaces/{agent.namespace}/secrets/{secret}"
