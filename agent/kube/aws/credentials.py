"""The agent's own AWS credentials, found where AWS' SDKs find those of a pod.

In this order: the variables of an access key, a web identity (IAM roles for service accounts), and
EKS Pod Identity. Profiles and the metadata of the node are not asked: a pod has an identity of its
own. A role of the cluster's Secret is assumed with these credentials.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import msgspec

from agent.kube.aws.signature import (
    AwsCredentials,
    AwsRequest,
    SigningScope,
    presigned_query,
)
from agent.kube.connection_config import KubeConfigError
from agent.proxies import proxy_of_environment

_TIMEOUT = aiohttp.ClientTimeout(total=15, sock_connect=5)
_LARGEST = 64 * 1024
_VERSION = "2011-06-15"
_SIGNED_SECONDS = 60
_SESSION = "plumbline-agent"
_EARLY = timedelta(minutes=5)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_GLOBAL = ("us-east-1", "https://sts.amazonaws.com")
_POD_IDENTITY = ("169.254.170.23", "fd00:ec2::23", "127.0.0.1", "localhost", "::1")
"""Hosts of container credentials that may be asked without TLS, as AWS' SDKs have them."""
_FIELDS = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")


class AwsLoginError(KubeConfigError):
    """No credentials of AWS; the message names what was tried, and no secret."""

    def __init__(self, why: str) -> None:
        super().__init__(f"config.awsAuthConfig: {why}")


class _ContainerCredentials(msgspec.Struct, frozen=True, rename="pascal"):
    access_key_id: str
    secret_access_key: str
    token: str
    expiration: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityTokenService:
    """Where STS is, by the variables that AWS' SDKs read."""

    region: str
    endpoint: str

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def url(
        self,
        query: Mapping[str, str],
        credentials: AwsCredentials,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Make a signed URL of one action; `headers` have to be sent with it."""
        request = AwsRequest(
            headers={"host": self.host, **(headers or {})}, query={**query, "Version": _VERSION}
        )
        scope = SigningScope(region=self.region, service="sts", signed_at=datetime.now(UTC))
        made = presigned_query(request, credentials, scope, seconds=_SIGNED_SECONDS)
        return f"{self.endpoint}/?{made}"


def security_token_service(environment: Mapping[str, str]) -> SecurityTokenService:
    """Find STS of the pod's region; raises AwsLoginError."""
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or ""
    if region and not _REGION.fullmatch(region):
        raise AwsLoginError("AWS_REGION is no region of AWS, as eu-central-1 is")
    legacy = environment.get("AWS_STS_REGIONAL_ENDPOINTS") == "legacy"
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    signed, endpoint = _GLOBAL
    if region and not legacy:
        signed, endpoint = region, f"https://sts.{region}.{domain}"
    own = environment.get("AWS_ENDPOINT_URL_STS", "").rstrip("/")
    if own and not own.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise AwsLoginError("AWS_ENDPOINT_URL_STS: expected https://host")
    return SecurityTokenService(region=signed, endpoint=own or endpoint)


async def find_credentials(environment: Mapping[str, str], role: str = "") -> AwsCredentials:
    """Find the agent's credentials, or those of the role; raises AwsLoginError."""
    service = security_token_service(environment)
    found = await _own_credentials(environment, service)
    return found if not role else await _assumed(service, found, role)


async def _own_credentials(
    environment: Mapping[str, str], service: SecurityTokenService
) -> AwsCredentials:
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        token = environment.get("AWS_SESSION_TOKEN", "")
        return AwsCredentials(access_key=key, secret_key=secret, session_token=token)
    token_file = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if token_file and (role := environment.get("AWS_ROLE_ARN")):
        return await _of_web_identity(service, role, await _read(token_file))
    if address := environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        return await _of_pod_identity(environment, address)
    raise AwsLoginError(
        "the agent's pod has no identity at AWS; give its ServiceAccount a role, by IAM roles for "
        "service accounts or EKS Pod Identity"
    )


async def _of_web_identity(service: SecurityTokenService, role: str, token: str) -> AwsCredentials:
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": _VERSION,
        "RoleArn": role,
        "RoleSessionName": _SESSION,
        "WebIdentityToken": token,
    }
    async with (
        _session(service.endpoint) as (http, proxy),
        http.post(f"{service.endpoint}/", data=form, proxy=proxy, allow_redirects=False) as answer,
    ):
        return await _granted(answer, f"AssumeRoleWithWebIdentity of {role}")


async def _assumed(service: SecurityTokenService, own: AwsCredentials, role: str) -> AwsCredentials:
    query = {"Action": "AssumeRole", "RoleArn": role, "RoleSessionName": _SESSION}
    async with (
        _session(service.endpoint) as (http, proxy),
        http.get(service.url(query, own), proxy=proxy, allow_redirects=False) as answer,
    ):
        return await _granted(answer, f"AssumeRole of {role}")


async def _of_pod_identity(environment: Mapping[str, str], address: str) -> AwsCredentials:
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in _POD_IDENTITY:
        raise AwsLoginError("AWS_CONTAINER_CREDENTIALS_FULL_URI: expected https or a local address")
    file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    token = await _read(file) if file else environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    headers = {"Authorization": token} if token else {}
    async with (
        _session(address, proxied=False) as (http, _),
        http.get(address, headers=headers, allow_redirects=False) as answer,
    ):
        body = await _body(answer, "the credentials of EKS Pod Identity")
    try:
        found = msgspec.json.decode(body, type=_ContainerCredentials)
    except msgspec.MsgspecError:
        raise AwsLoginError("EKS Pod Identity answered without credentials") from None
    return AwsCredentials(
        access_key=found.access_key_id,
        secret_key=found.secret_access_key,
        session_token=found.token,
        until=_early(found.expiration),
    )


async def _granted(answer: aiohttp.ClientResponse, what: str) -> AwsCredentials:
    """Read the credentials of an answer of STS, whose values need no unescaping in XML."""
    text = (await _body(answer, what)).decode(errors="replace")
    found = [re.search(f"<{name}>([^<&]{{1,8192}})</{name}>", text) for name in _FIELDS]
    if not all(found):
        raise AwsLoginError(f"STS answered {what} without credentials")
    key, secret, token, until = (it[1] for it in found if it)
    try:
        end = datetime.fromisoformat(until)
    except ValueError:
        raise AwsLoginError(f"STS answered {what} without a time of expiry") from None
    return AwsCredentials(access_key=key, secret_key=secret, session_token=token, until=_early(end))


def _early(end: datetime) -> datetime:
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) - _EARLY


async def _body(answer: aiohttp.ClientResponse, what: str) -> bytes:
    body = await answer.content.read(_LARGEST)
    if answer.status != 200:
        code = re.search(rb"<Code>([A-Za-z.]{1,64})</Code>", body)
        why = code[1].decode() if code else f"status {answer.status}"
        raise AwsLoginError(f"AWS refused {what}: {why}")
    while chunk := await answer.content.read(_LARGEST):
        body += chunk
        if len(body) > _LARGEST:
            raise AwsLoginError(f"AWS answered {what} with more than {_LARGEST} bytes")
    return body


async def _read(file: str) -> str:
    try:
        return (await asyncio.to_thread(Path(file).read_text)).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AwsLoginError(f"the token of the pod, {file}, cannot be read") from error


@asynccontextmanager
async def _session(
    url: str, *, proxied: bool = True
) -> AsyncIterator[tuple[aiohttp.ClientSession, str | None]]:
    proxy = proxy_of_environment(url) if proxied else None
    try:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as http:
            yield http, proxy
    except TimeoutError:
        raise AwsLoginError(f"{urlsplit(url).netloc} did not answer in time") from None
    except (aiohttp.ClientError, OSError) as error:
        name = type(error).__name__
        raise AwsLoginError(f"{urlsplit(url).netloc} cannot be reached ({name})") from None
