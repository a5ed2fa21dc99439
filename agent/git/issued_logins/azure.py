"""Logins of Azure: a service principal with a secret, and the workload identity of the pod.

https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow. The
token goes as bearer to Azure DevOps, whose resource the scope names. A registry of Azure exchanges
one of the resource manager for a refresh token, which is the password of a user without a name:
https://github.com/Azure/acr/blob/main/docs/AAD-OAuth.md.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from agent.git.issued_logins.issuer import IssuedLogin, LoginIssueError
from agent.git.issued_logins.login_answers import oauth_token, refresh_token
from agent.git.issued_logins.login_calls import LoginCalls
from bus.repository_url import RepositoryUrl

_SCOPE = "499b84ac-1321-427f-aa17-267ca6975798/.default"
_AUTHORITY = "https://login.microsoftonline.com"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_FEDERATED = ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE")
_HTTPS = 443
_LONGEST_ASSERTION = 64 * 1024
_DEVOPS = "dev.azure.com"
_DEVOPS_FORMER = ".visualstudio.com"
_REGISTRIES = (".azurecr.io", ".azurecr.us", ".azurecr.cn")
_MANAGER = "https://management.core.windows.net"
_NO_NAME = "00000000-0000-0000-0000-000000000000"
_EXCHANGED_FOR = timedelta(hours=1)
"""A refresh token of a registry lasts three hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePrincipal:
    client: str
    tenant: str
    secret: str = field(repr=False)
    authority: str = _AUTHORITY
    for_registries = False

    def scope(self, _url: RepositoryUrl) -> str:
        return ""

    async def issue(self, _url: RepositoryUrl, calls: LoginCalls, now: datetime) -> IssuedLogin:
        who = f"the service principal {self.client}"
        form = {"client_id": self.client, "client_secret": self.secret}
        remedy = "Check client id, secret and tenant, and that the secret has not expired"
        return await _issued(calls, now, _Tenant(self.authority, self.tenant), form, who, remedy)


@dataclass(frozen=True, slots=True)
class WorkloadIdentity:
    """The identity that Azure's webhook gives the pod by variables of its environment."""

    for_registries = True

    def scope(self, url: RepositoryUrl) -> str:
        """Name a registry: it issues a login of its own."""
        return url.origin.host if _is_of_registry(url) else ""

    async def issue(self, url: RepositoryUrl, calls: LoginCalls, now: datetime) -> IssuedLogin:
        """Ask for a token; it is the agent's own and no Secret's, so only Azure sees it."""
        host, is_of_registry = url.origin.host, _is_of_registry(url)
        is_azure = host == _DEVOPS or host.endswith(_DEVOPS_FORMER)
        if is_of_registry:
            is_azure = host.endswith(_REGISTRIES) and url.origin.port == _HTTPS
        if not is_azure or not (is_of_registry or url.origin.scheme == "https"):
            message = f"the workload identity of the agent is not shown to {str(url.origin)[:100]}"
            there = f"registries at *{_REGISTRIES[0]} only"
            remedy = there if is_of_registry else f"repositories at https://{_DEVOPS} only"
            raise LoginIssueError(message, f"Use it for {remedy}")
        if calls.access.insecure or calls.access.proxy:
            message = "the workload identity is not shown past a proxy, or to an unverified server"
            raise LoginIssueError(message, "Remove insecure and proxy from the Secret")
        remedy = "Label the agent's pod and ServiceAccount for Azure Workload Identity"
        missing = [name for name in _FEDERATED if not os.environ.get(name)]
        if missing:
            raise LoginIssueError(f"the agent's environment has no {missing[0]}", remedy)
        client, tenant, file = (os.environ[name] for name in _FEDERATED)
        try:
            assertion = await asyncio.to_thread(_read, Path(file))
        except (OSError, UnicodeDecodeError) as error:
            message = "the file of AZURE_FEDERATED_TOKEN_FILE cannot be read"
            raise LoginIssueError(message, remedy) from error
        form = {
            "client_id": client,
            "client_assertion_type": _ASSERTION,
            "client_assertion": assertion,
        }
        authority = os.environ.get("AZURE_AUTHORITY_HOST", "").rstrip("/") or _AUTHORITY
        who = f"the workload identity {client}"
        asked = _Tenant(authority, tenant)
        if is_of_registry:
            manager = os.environ.get("AZURE_ARM_TOKEN_RESOURCE", "").rstrip("/") or _MANAGER
            form["scope"] = f"{manager}/.default"
            token = await _issued(calls, now, asked, form, who, remedy)
            return await _exchanged(calls, now, host, token.bearer_token, who)
        return await _issued(calls, now, asked, form, who, remedy)


@dataclass(frozen=True, slots=True)
class _Tenant:
    authority: str
    name: str

    @property
    def token_endpoint(self) -> str:
        return f"{self.authority}/{self.name}/oauth2/v2.0/token"


async def _issued(
    calls: LoginCalls,
    now: datetime,
    tenant: _Tenant,
    form: Mapping[str, str],
    who: str,
    remedy: str,
) -> IssuedLogin:
    common = {"grant_type": "client_credentials", "scope": _SCOPE}
    answer = await calls.post(tenant.token_endpoint, {}, {**common, **form})
    token = oauth_token(answer, who, remedy)
    until = now + timedelta(seconds=token.expires_in)
    return IssuedLogin(bearer_token=token.access_token, until=until)


async def _exchanged(
    calls: LoginCalls, now: datetime, registry: str, token: str, who: str
) -> IssuedLogin:
    """Have the registry exchange a token of the resource manager for one of its own."""
    form = {"grant_type": "access_token", "service": registry, "access_token": token}
    answer = await calls.post(f"https://{registry}/oauth2/exchange", {}, form)
    remedy = f"Give {who} the role AcrPull on the registry {registry}"
    password = refresh_token(answer, who, remedy)
    return IssuedLogin(username=_NO_NAME, password=password, until=now + _EXCHANGED_FOR)


def _is_of_registry(url: RepositoryUrl) -> bool:
    return url.origin.scheme == "oci"


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(_LONGEST_ASSERTION).decode().strip()


def service_principal(data: Mapping[str, str]) -> tuple[ServicePrincipal | None, str]:
    """Read a principal of a Secret's data, and why it cannot be used; templates write `ID`."""
    client, tenant = (
        (data.get(f"azureServicePrincipal{name}Id") or data.get(f"azureServicePrincipal{name}ID"))
        for name in ("Client", "Tenant")
    )
    secret = data.get("azureServicePrincipalClientSecret", "")
    if not (client or tenant or secret):
        return None, ""
    if not (client and tenant and secret):
        return None, "a service principal needs client id, client secret and tenant id"
    authority = data.get("azureActiveDirectoryEndpoint", "").strip().rstrip("/") or _AUTHORITY
    if not _TENANT.fullmatch(tenant):
        return None, "its azureServicePrincipalTenantId is neither an id nor a domain"
    if not authority.startswith("https://") or "@" in authority or "?" in authority:
        return None, "its azureActiveDirectoryEndpoint is not like https://HOST"
    return ServicePrincipal(client=client, tenant=tenant, secret=secret, authority=authority), ""


def workload_identity(data: Mapping[str, str]) -> tuple[WorkloadIdentity | None, str]:
    """Read whether a Secret's data asks for the identity of the pod."""
    wanted = data.get("useAzureWorkloadIdentity", "").strip().lower() in ("1", "t", "true")
    return (WorkloadIdentity() if wanted else None), ""
