"""Charts and artifacts of a real OCI registry: open, with a password, and with tokens."""

import base64
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from joserfc import jwt
from joserfc.jwk import ECKey

from bus.status import Reason
from handlers.ports import RepositoryError
from playground.charthost import packaged, tar_gz
from playground.registry import CHART_LAYER, TAR_LAYER, OciRegistry, oci_registry
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.unit.agent.download.reader import SourceReading, answering, source_reading, text_of
from tests.unit.handlers.render.dependent_charts import DependentCharts

USER, PASSWORD = "kim", "a-password-nobody-may-see"
HASHED = "$2a$04$XzkZ7ZIfKQo5Jm4z5Hhu/OM9vZMuE4ee7lDQIrExXGu/C/RW9n6KK"
"""Of PASSWORD, by bcrypt."""
HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}


@pytest.fixture
async def registry(registry_binary: Path, tmp_path: Path) -> AsyncIterator[OciRegistry]:
    async with oci_registry(registry_binary, tmp_path / "open", tmp_path / "files") as opened:
        yield opened


@pytest.fixture
async def sandbox(sandbox_binary: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as opened:
        yield opened


@pytest.fixture
def reader(sandbox: Sandbox, tmp_path: Path) -> SourceReading:
    return source_reading(tmp_path, sandbox)


def plain(reader: SourceReading, address: str, **data: str) -> None:
    """A Secret for everything in the registry, which speaks no TLS."""
    reader.secret(address, kind="repo-creds", insecureOCIForceHttp="true", **data)


async def test_a_chart_is_read_by_version_and_range_and_an_artifact_by_tag_digest_and_range(
    registry: OciRegistry, reader: SourceReading
) -> None:
    plain(reader, registry.address)
    for version in ("1.0.0", "1.1.0+build.5"):
        archive = packaged("web", version)
        digest = await registry.push_chart("charts/web", version, archive)
    files = tar_gz({"./apps/a.yaml": config_map("a").encode()})
    flux = "application/vnd.cncf.flux.content.v1.tar+gzip"
    plain_digest = await registry.push("apps/web", "v1.2.0", [(flux, files)], ("text/plain", b""))
    charts, generic = f"{registry.address}/charts", f"oci://{registry.address}"

    assert await reader.resolved(charts, "^1", "web") == "1.1.0+build.5"
    assert await reader.resolved(charts, "1.0.0", "web") == "1.0.0"
    tree = await reader.files(charts, "1.1.0+build.5", "web")
    assert "version: 1.1.0+build.5" in text_of(tree, "Chart.yaml")
    assert await reader.resolved(f"{generic}/charts/web", ">=1.1.0") == digest
    assert text_of(await reader.files(f"{generic}/charts/web", digest), "Chart.yaml")
    assert await reader.resolved(f"{generic}/apps/web", "v1.2.0") == plain_digest
    tree = await reader.files(f"{generic}/apps/web", "1.x")
    assert text_of(tree, "apps/a.yaml") == config_map("a")


async def test_a_tag_that_moves_is_seen_by_the_next_fetch_and_what_was_kept_outlives_its_tag(
    registry: OciRegistry, reader: SourceReading
) -> None:
    plain(reader, registry.address)
    url = f"oci://{registry.address}/apps"
    layers = [(TAR_LAYER, tar_gz({"a": b"1"})), (TAR_LAYER, tar_gz({"a": b"2"}))]
    first = await registry.push("apps", "main", layers[:1], ("text/plain", b""))
    assert await reader.resolved(url, "main") == first
    second = await registry.push("apps", "main", layers[1:], ("text/plain", b""))
    assert await reader.resolved(url, "main") == first
    await reader.sources.fetch(reader.access(url))

    assert await reader.resolved(url, "main") == second
    assert text_of(await reader.files(url, "main"), "a") == "2"
    assert text_of(await reader.files(url, first), "a") == "1"


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("absent", "1.0.0", "its list of tags was answered with HTTP 404"),
        ("charts/web", "9.9.9", "no version '9.9.9' among 2 versions; there are"),
        ("charts/web", ">=9", "no version in the range '>=9' among 2 versions"),
        ("charts/web", "", "targetRevision is empty"),
        ("Charts/web", "1.0.0", "no name in a registry"),
        ("charts/several", "1.0.0", "2 layers with files"),
        ("charts/bomb", "1.0.0", "leads out of it"),
    ],
)
async def test_what_is_not_there_or_cannot_be_read_is_named(
    registry: OciRegistry, reader: SourceReading, name: str, target: str, message: str
) -> None:
    plain(reader, registry.address)
    layer = (CHART_LAYER, packaged("web", "1.0.0"))
    for version in ("1.0.0", "1.1.0"):
        await registry.push("charts/web", version, [layer])
    await registry.push("charts/several", "1.0.0", [layer, (CHART_LAYER, b"x")])
    await registry.push_chart("charts/bomb", "1.0.0", tar_gz({"web/../../x": b""}))

    with pytest.raises(RepositoryError, match=message):
        await reader.files(f"oci://{registry.address}/{name}", target)


async def test_a_chart_may_depend_on_charts_of_a_registry(
    registry: OciRegistry, reader: SourceReading, sandbox: Sandbox
) -> None:
    plain(reader, registry.address)
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        await registry.push_chart("charts/db", version, packaged("db", version))
    charts = DependentCharts(sandbox=sandbox, reader=reader)
    url = f"oci://{registry.address}/charts"

    assert await charts.versions(("db", "^1", url)) == ["1.1.0"]
    assert await charts.versions(("db", "1.0.0", url)) == ["1.0.0"]
    refusal = await charts.refusal(("db", "9.9.9", url))
    assert "no version '9.9.9' among 3 versions" in refusal.message


async def test_pages_of_tags_are_followed(registry: OciRegistry, reader: SourceReading) -> None:
    plain(reader, registry.address)
    for number in range(12):
        layer = (TAR_LAYER, tar_gz({"a": b"%d" % number}))
        await registry.push("apps", f"1.{number}.0", [layer], ("text/plain", b""))
    url = f"oci://{registry.address}/apps"
    assert text_of(await reader.files(url, "*"), "a") == "11"


@asynccontextmanager
async def password_registry(binary: Path, folder: Path) -> AsyncIterator[OciRegistry]:
    users = folder / "users"
    users.write_text(f"{USER}:{HASHED}\n")
    auth = {"htpasswd": {"realm": "charts", "path": str(users)}}
    async with oci_registry(binary, folder / "closed", folder / "files", auth) as closed:
        yield closed


async def test_a_password_of_a_secret_opens_a_registry_and_none_is_asked_for_by_name(
    registry: OciRegistry, registry_binary: Path, reader: SourceReading, tmp_path: Path
) -> None:
    await registry.push_chart("charts/web", "1.0.0", packaged("web", "1.0.0"))
    async with password_registry(registry_binary, tmp_path) as closed:
        plain(reader, closed.address)
        charts = f"{closed.address}/charts"
        with pytest.raises(RepositoryError, match="HTTP 401") as caught:
            await reader.resolved(charts, "1.0.0", "web")
        assert caught.value.reason is Reason.CREDENTIALS_REFUSED
        reader.secrets.clear()
        plain(reader, closed.address, username=USER, password=PASSWORD)

        assert text_of(await reader.files(charts, "*", "web"), "Chart.yaml")


@dataclass(slots=True, kw_only=True)
class TokenServer:
    """Gives tokens away as the realm of a registry: to one user, or to everybody."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    user: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.query))
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        expected = f"Basic {pair}" if self.user else None
        if request.headers.get("Authorization") != expected:
            return web.Response(status=401)
        kind, name, actions = request.query["scope"].split(":")
        now = int(dt.datetime.now(dt.UTC).timestamp())
        claims: dict[str, Any] = {
            "iss": "tests",
            "aud": request.query["service"],
            "nbf": now - 60,
            "exp": now + 300,
            "access": [{"type": kind, "name": name, "actions": actions.split(",")}],
        }
        chain = [base64.b64encode(self.certificate.public_bytes(Encoding.DER)).decode()]
        token = jwt.encode({"alg": "ES256", "x5c": chain}, claims, ECKey.import_key(self.key))
        return web.json_response({"token": token, "expires_in": 300})


@asynccontextmanager
async def token_registry(
    binary: Path, folder: Path, user: str
) -> AsyncIterator[tuple[OciRegistry, TokenServer]]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tokens")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, SHA256())
    )
    bundle = folder / "bundle.pem"
    bundle.write_bytes(certificate.public_bytes(Encoding.PEM))
    tokens = TokenServer(certificate=certificate, key=key, user=user)
    app = web.Application()
    app.router.add_get("/token", tokens.answer)
    server = TestServer(app)
    await server.start_server()
    try:
        auth = {
            "token": {
                "realm": str(server.make_url("/token")),
                "service": "registry of tests",
                "issuer": "tests",
                "rootcertbundle": str(bundle),
            }
        }
        async with oci_registry(binary, folder / "token", folder / "files", auth) as closed:
            yield closed, tokens
    finally:
        await server.close()


@pytest.mark.parametrize("user", ["", USER])
async def test_a_token_for_reading_one_repository_is_asked_for_and_kept(
    registry: OciRegistry, registry_binary: Path, reader: SourceReading, tmp_path: Path, user: str
) -> None:
    await registry.push_chart("charts/web", "1.0.0", packaged("web", "1.0.0"))
    async with token_registry(registry_binary, tmp_path, user) as (closed, tokens):
        plain(reader, closed.address, **({"username": USER, "password": PASSWORD} if user else {}))

        assert text_of(await reader.files(f"{closed.address}/charts", "^1", "web"), "Chart.yaml")

    asked = {"service": "registry of tests", "scope": "repository:charts/web:pull"}
    assert tokens.asked == [asked]


async def test_a_blob_that_is_somewhere_else_gets_no_login_and_no_answer_to_its_challenge(
    reader: SourceReading,
) -> None:
    """A storage that wants a login of its own could else send ours wherever it likes."""
    seen: list[str] = []

    async def storage(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        challenge = f'Bearer realm="http://{request.host}/token"'
        return web.Response(status=401, headers={"WWW-Authenticate": challenge})

    async with answering(storage) as elsewhere:

        async def answer(request: web.Request) -> web.Response:
            if "Authorization" not in request.headers:
                return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
            return web.Response(status=307, headers={"Location": elsewhere})

        async with answering(answer) as url:
            address = url.removeprefix("http://").removesuffix("/charts")
            plain(reader, address, username=USER, password=PASSWORD)
            with pytest.raises(RepositoryError, match="HTTP 401"):
                await reader.files(f"oci://{address}/charts", "1.0.0")
    assert set(seen) == {""}


@pytest.mark.parametrize(
    ("headers", "body", "message"),
    [
        ({"Docker-Content-Digest": "sha256:" + "0" * 64}, b"{}", "has the digest"),
        ({}, b"[" * 100_000, "cannot be read"),
        ({}, b"x" * (5 << 20), "more than the limit of 4194304 bytes"),
    ],
)
async def test_a_registry_that_sends_something_else_is_refused(
    reader: SourceReading, headers: dict[str, str], body: bytes, message: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers=headers)

    async with answering(answer) as url:
        address = url.removeprefix("http://").removesuffix("/charts")
        plain(reader, address)
        with pytest.raises(RepositoryError, match=message):
            await reader.files(f"oci://{address}/charts", "1.0.0")


async def test_applications_of_a_registry_are_deployed_and_a_moved_tag_is_followed(
    agent: AgentFixture, registry: OciRegistry
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "reg", "labels": {"argocd.argoproj.io/secret-type": "repo-creds"}},
        "stringData": {"url": registry.address, "type": "helm", "insecureOCIForceHttp": "true"},
    }
    await agent.api.create(f"/api/v1/namespaces/{agent.namespace}/secrets", secret)
    await registry.push_chart("charts/web", "1.0.0", packaged("web", "1.0.0"))
    layer = (TAR_LAYER, tar_gz({"apps/a.yaml": config_map("a", key="1").encode()}))
    first = await registry.push("apps", "main", [layer], ("text/plain", b""))
    chart = {"repoURL": f"{registry.address}/charts", "chart": "web", "targetRevision": "*"}
    generic = {"repoURL": f"oci://{registry.address}/apps", "targetRevision": "main"}
    await agent.apply_app("web", "", source=chart, syncPolicy=HEALING)
    await agent.apply_app("apps", "apps", source=generic, syncPolicy=HEALING)

    web_app, apps = await agent.until_synced("web"), await agent.until_synced("apps")
    assert web_app["status"]["sync"]["revision"] == "1.0.0"
    assert apps["status"]["sync"]["revision"] == first
    assert conditions(web_app) == conditions(apps) == {}

    layer = (TAR_LAYER, tar_gz({"apps/a.yaml": config_map("a", key="2").encode()}))
    second = await registry.push("apps", "main", [layer], ("text/plain", b""))
    await agent.patch_app("apps", REFRESH)
    await agent.until(lambda app: app["status"]["history"][-1]["revision"] == second, app="apps")
    deployed = await agent.get("configmaps/a")
    assert deployed is not None
    assert deployed["data"] == {"key": "2"}
