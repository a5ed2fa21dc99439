"""The login to a cluster of EKS: whose identity it is, and what a Secret may not do with it."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web

from agent.kube.aws.credentials import AwsLoginError, find_credentials
from agent.kube.aws.signature import AwsRequest, SigningScope, signature
from agent.kube.aws.token import AwsAuth, token_of
from agent.kube.cluster_config import ClusterSecretError, LoginPermits
from agent.kube.cluster_secret import read_cluster_secret
from agent.loopback import free_port
from tests.unit.agent.kube.test_cluster_secret import secret

SERVER = "https://ABC.gr7.eu-west-1.eks.amazonaws.com"
ROLE = "arn:aws:iam::123456789012:role/deployer"
PERMITS = LoginPermits(aws_clusters=("prod-*@https://*.eks.amazonaws.com",))
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "c4nary-key"}
GRANTED = """<R><Credentials><AccessKeyId>ASIA{name}</AccessKeyId>
<SecretAccessKey>c4nary-{name}</SecretAccessKey><SessionToken>to+ken/{name}==</SessionToken>
<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></R>"""


class StsServer:
    """Answers as STS does: it grants credentials to a web identity and to a valid signature."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        asked = dict(await request.post()) or dict(request.query)
        self.seen.append({name: str(value) for name, value in asked.items()})
        if asked["Action"] == "AssumeRoleWithWebIdentity":
            return web.Response(text=GRANTED.format(name="WEB"))
        if not is_signed(urlsplit(str(request.url)).query, request.host, {}, "c4nary-key"):
            return web.Response(status=403, text="<E><Code>SignatureDoesNotMatch</Code></E>")
        return web.Response(text=GRANTED.format(name="ROLE"))


def is_signed(query: str, host: str, headers: Mapping[str, str], key: str) -> bool:
    """Whether the holder of the key signed the query, worked out from what was sent."""
    sent = dict(parse_qsl(query))
    proof = sent.pop("X-Amz-Signature")
    _, _, region, service, _ = sent["X-Amz-Credential"].split("/")
    signed_at = datetime.strptime(sent["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    request = AwsRequest(headers={"host": host, **headers}, query=sent)
    scope = SigningScope(region=region, service=service, signed_at=signed_at)
    return proof == signature(request.canonical(), key, scope)


@asynccontextmanager
async def sts_server() -> AsyncIterator[StsServer]:
    port = free_port()
    server = StsServer(f"http://127.0.0.1:{port}")
    application = web.Application()
    application.router.add_route("*", "/", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield server
    finally:
        await runner.cleanup()


def aws_config(**fields: str) -> dict[str, Any]:
    return {"awsAuthConfig": {"clusterName": "prod-1", **fields}}


def test_the_login_of_a_permitted_cluster_is_read() -> None:
    config = aws_config(roleARN=ROLE)
    found = read_cluster_secret(secret(config=config, server=SERVER), PERMITS)
    assert found.auth == AwsAuth(cluster="prod-1", role=ROLE)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another server": (aws_config(), "https://evil.example", "GITOPS_KUBE_AWS_CLUSTERS"),
    "a path that ends like the host": (
        aws_config(),
        "https://evil.example/x.eks.amazonaws.com",
        "GITOPS_KUBE_AWS_CLUSTERS",
    ),
    "another cluster": (aws_config(clusterName="dev"), SERVER, "GITOPS_KUBE_AWS_CLUSTERS"),
    "no name": (aws_config(clusterName=""), SERVER, "clusterName"),
    "a name that is a header": (aws_config(clusterName="a\nhost: b"), SERVER, "clusterName"),
    "a profile": (aws_config(profile="x"), SERVER, "profile"),
    "no role": (aws_config(roleARN="x"), SERVER, "roleARN"),
    "a proxy": ({**aws_config(), "proxyUrl": "http://evil.example:3128"}, SERVER, "proxyUrl"),
    "no check of who answers": (
        {**aws_config(), "tlsClientConfig": {"insecure": True}},
        SERVER,
        "insecure",
    ),
}


@pytest.mark.parametrize(("config", "server", "why"), REFUSED.values(), ids=REFUSED)
def test_what_would_lend_the_agents_identity_to_others_is_refused(
    config: dict[str, Any], server: str, why: str
) -> None:
    with pytest.raises(ClusterSecretError, match=why):
        read_cluster_secret(secret(config=config, server=server), PERMITS)


def test_nothing_is_lent_without_the_owners_word() -> None:
    with pytest.raises(ClusterSecretError, match="GITOPS_KUBE_AWS_CLUSTERS"):
        read_cluster_secret(secret(config=aws_config(), server=SERVER))


async def test_a_token_is_a_signed_question_to_sts_for_one_cluster() -> None:
    found = await find_credentials({**KEYS, "AWS_REGION": "eu-west-1"})
    token = token_of("prod-1", found, {"AWS_REGION": "eu-west-1"})
    kind, _, encoded = token.partition(".")
    url = urlsplit(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode())
    assert (kind, url.netloc, url.path) == ("k8s-aws-v1", "sts.eu-west-1.amazonaws.com", "/")
    asked = dict(parse_qsl(url.query))
    assert (asked["Action"], asked["X-Amz-Expires"]) == ("GetCallerIdentity", "60")
    assert asked["X-Amz-SignedHeaders"] == "host;x-k8s-aws-id"
    assert is_signed(url.query, url.netloc, {"x-k8s-aws-id": "prod-1"}, "c4nary-key")
    assert not is_signed(url.query, url.netloc, {"x-k8s-aws-id": "prod-2"}, "c4nary-key")
    assert "c4nary" not in url.query + repr(found)


async def test_a_pod_with_a_web_identity_is_that_role(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of the pod\n")
    async with sts_server() as sts:
        found = await find_credentials(
            {
                "AWS_ENDPOINT_URL_STS": sts.url,
                "AWS_WEB_IDENTITY_TOKEN_FILE": str(file),
                "AWS_ROLE_ARN": ROLE,
            }
        )
    assert (found.access_key, found.session_token) == ("ASIAWEB", "to+ken/WEB==")
    assert sts.seen[0]["WebIdentityToken"] == "of the pod"


async def test_a_role_is_assumed_with_what_the_agent_has() -> None:
    async with sts_server() as sts:
        environment = {**KEYS, "AWS_ENDPOINT_URL_STS": sts.url}
        found = await find_credentials(environment, ROLE)
        wrong = {**environment, "AWS_SECRET_ACCESS_KEY": "c4nary-other"}
        with pytest.raises(AwsLoginError, match="SignatureDoesNotMatch") as refused:
            await find_credentials(wrong, ROLE)
    assert (found.access_key, sts.seen[0]["RoleArn"]) == ("ASIAROLE", ROLE)
    assert "c4nary" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "no identity at AWS"),
        ({**KEYS, "AWS_REGION": "evil.example/"}, "AWS_REGION"),
        ({**KEYS, "AWS_ENDPOINT_URL_STS": "http://evil.example"}, "expected https"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://evil.example/"}, "a local address"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": ROLE}, "/nowhere"),
    ],
)
async def test_a_pod_without_usable_credentials_is_told_why(
    environment: dict[str, str], why: str
) -> None:
    with pytest.raises(AwsLoginError, match=why):
        await find_credentials(environment)


async def test_an_unreachable_sts_is_named() -> None:
    environment = {**KEYS, "AWS_ENDPOINT_URL_STS": f"http://127.0.0.1:{free_port()}"}
    with pytest.raises(AwsLoginError, match="cannot be reached"):
        await find_credentials(environment, ROLE)
