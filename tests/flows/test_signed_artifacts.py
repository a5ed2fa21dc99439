"""Charts and artifacts of a real registry that a project wants signed by cosign."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handlers.ports import RepositoryError
from playground.charthost import ChartHost, packaged, tar_gz
from playground.registry import TAR_LAYER, OciRegistry, oci_registry
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.cosign import public_pem, sign, signing_key
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.unit.agent.download.reader import SourceReading, source_reading, text_of

KEY, OTHER = signing_key(), signing_key()
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
def reader(sandbox: Sandbox, tmp_path: Path, registry: OciRegistry) -> SourceReading:
    """It reads for a project that wants everything signed by KEY."""
    made = source_reading(tmp_path, sandbox, signers=((public_pem(KEY),),))
    made.secret(registry.address, kind="repo-creds", insecureOCIForceHttp="true")
    return made


async def pushed(registry: OciRegistry, content: str) -> str:
    layer = (TAR_LAYER, tar_gz({"apps/a.yaml": content.encode()}))
    return await registry.push("apps", "main", [layer], ("text/plain", b""))


async def test_only_what_is_signed_by_a_named_key_is_read(
    registry: OciRegistry, reader: SourceReading, sandbox: Sandbox, tmp_path: Path
) -> None:
    url = f"oci://{registry.address}/apps"
    digest = await pushed(registry, "a: 1")
    with pytest.raises(RepositoryError, match="it has no signature"):
        await reader.files(url, "main")
    await sign(registry, "apps", digest, OTHER)
    with pytest.raises(RepositoryError, match="one signature, none by a key"):
        await reader.files(url, "main")
    await sign(registry, "apps", digest, KEY, named="sha256:" + "0" * 64)
    with pytest.raises(RepositoryError, match="0 signatures"):
        await reader.files(url, "main")
    await sign(registry, "apps", digest, KEY)
    assert text_of(await reader.files(url, "main"), "apps/a.yaml") == "a: 1"

    free = source_reading(tmp_path, sandbox)
    free.secrets.extend(reader.secrets)
    assert text_of(await free.files(url, "main"), "apps/a.yaml") == "a: 1"

    moved = await pushed(registry, "a: 2")
    await reader.sources.fetch(reader.access(url))
    with pytest.raises(RepositoryError, match=f"{moved} is not proven"):
        await reader.files(url, "main")
    assert text_of(await reader.files(url, digest), "apps/a.yaml") == "a: 1"


async def test_a_chart_is_proven_by_its_digest_and_one_over_http_never(
    registry: OciRegistry, reader: SourceReading
) -> None:
    charts = f"{registry.address}/charts"
    digest = await registry.push_chart("charts/web", "1.0.0", packaged("web", "1.0.0"))
    await registry.push_chart("charts/web", "1.1.0", packaged("web", "1.1.0"))
    await sign(registry, "charts/web", digest, KEY)
    assert text_of(await reader.files(charts, "1.0.0", "web"), "Chart.yaml")
    with pytest.raises(RepositoryError, match="it has no signature"):
        await reader.files(charts, "1.1.0", "web")
    async with ChartHost() as host:
        host.publish("web", "1.0.0")
        with pytest.raises(RepositoryError, match="which only registries have"):
            await reader.files(host.url, "1.0.0", "web")


async def test_an_application_is_deployed_when_its_artifact_is_signed(
    agent: AgentFixture, registry: OciRegistry
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "reg", "labels": {"argocd.argoproj.io/secret-type": "repo-creds"}},
        "stringData": {"url": registry.address, "type": "oci", "insecureOCIForceHttp": "true"},
    }
    policies = [
        {"repos": [{"url": f"oci://{registry.address}/**"}], "keys": [public_pem(KEY)]},
    ]
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {
            "name": "signed",
            "namespace": agent.namespace,
            "annotations": {
                "plumbline.dev/artifact-signers": json.dumps({"policies": policies}),
            },
        },
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
        },
    }
    await agent.api.create(f"/api/v1/namespaces/{agent.namespace}/secrets", secret)
    projects = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects"
    await agent.api.create(projects, project)
    digest = await pushed(registry, config_map("a", key="1"))
    source = {"repoURL": f"oci://{registry.address}/apps", "targetRevision": "main"}
    await agent.apply_app("apps", "apps", source=source, project="signed", syncPolicy=HEALING)
    unsigned = f"{digest} is not proven: it has no signature"
    await agent.until(lambda app: unsigned in error_of(app), app="apps")
    assert await agent.get("configmaps/a") is None

    await sign(registry, "apps", digest, KEY)
    await agent.patch_app("apps", REFRESH)
    app = await agent.until_synced("apps")
    assert app["status"]["sync"]["revision"] == digest
    assert conditions(app) == {}

    policies[0]["keys"] = [public_pem(OTHER)]
    annotation = {"plumbline.dev/artifact-signers": json.dumps({"policies": policies})}
    await agent.api.patch(f"{projects}/signed", {"metadata": {"annotations": annotation}})
    foreign = "none by a key that the AppProject names"
    await agent.until(lambda app: foreign in error_of(app), app="apps")


def error_of(app: dict[str, Any]) -> str:
    return conditions(app).get("ComparisonError", "")
