"""An agent started from what the service generated: the Deployment's settings, rights and files.

The manifest is applied to a real API server; then `gitops agent run` gets the container's
variables, the Secrets of its volumes as files, and its ServiceAccount's token. Only addresses are
this machine's: there is no image and no cluster network here.
"""

from __future__ import annotations

import base64
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port
from playground.certificates import Authority, make_authority, make_serving_pair
from playground.kubeapi import Access
from playground.kubernetes import ControlPlane
from playground.rights import until_granted
from tests.connect_proxy import behind_tls
from tests.flows.administrator import Administrator, administrator
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.agent_process import AGENT, ROOT, AgentProcess
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually
from tests.unit.deploy.chart_values import Object, the
from tests.unit.deploy.object_installer import installer

pytestmark = pytest.mark.usefixtures("whole_cluster")

_CHOSEN = "definitions=false&caSecret=company-ca&pullSecret=pull&registry=registry.example"


@dataclass
class InstallSite:
    agent_fixture: AgentFixture
    cluster: ControlPlane
    admin: Administrator
    authority: Authority
    folder: Path

    async def generated(self, name: str, query: str) -> tuple[list[Object], str]:
        """The manifest of a new agent, as objects, and its one-time token."""
        agent = await self.admin.call("POST", "/agents", {"name": name})
        path = f"/agents/{agent['id']}"
        url = f"/api/v1{path}/manifest?namespace={self.agent_fixture.namespace}&{query}"
        async with self.admin.http.get(url) as answer:
            assert answer.status == 200, await answer.text()
            found = [it for it in yaml.safe_load_all(await answer.text()) if it]
        token: str = (await self.admin.call("POST", f"{path}/enrolment-token"))["token"]
        return found, token

    async def make_secret(self, name: str, **data: str) -> None:
        path = f"/api/v1/namespaces/{self.agent_fixture.namespace}/secrets"
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        await self.agent_fixture.api.create(path, {**secret, "stringData": data})

    async def secret(self, name: str) -> Mapping[str, bytes]:
        path = f"/api/v1/namespaces/{self.agent_fixture.namespace}/secrets/{name}"
        data = (await self.agent_fixture.api.get(path))["data"]
        return {key: base64.b64decode(value) for key, value in data.items()}


@pytest.fixture
async def site(
    stopped_agent: AgentFixture, control_plane: ControlPlane, database_url: str, tmp_path: Path
) -> AsyncIterator[InstallSite]:
    authority, port = make_authority(tmp_path), free_port()
    pair = make_serving_pair(authority, tmp_path, ())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    inside = free_port()
    service_settings = settings(database_url, public_url=f"https://localhost:{port}")
    async with AsyncExitStack() as stack:
        at_port = service_settings.model_copy(update={"port": inside})
        running_service = RunningService(await stack.enter_async_context(open_service(at_port)))
        await stack.enter_async_context(behind_tls(context, inside, port))
        admin = await stack.enter_async_context(
            administrator(running_service, f"http://127.0.0.1:{inside}")
        )
        yield InstallSite(stopped_agent, control_plane, admin, authority, tmp_path)


@asynccontextmanager
async def started(site: InstallSite, name: str, query: str) -> AsyncIterator[AgentProcess]:
    """As `kubectl apply` and a kubelet would: Secrets first, then everything else."""
    objects, token = await site.generated(name, query)
    await site.make_secret("gitops-agent-enrolment", token=token)
    await site.make_secret("company-ca", **{"ca.crt": site.authority.certificate_file.read_text()})
    async with installer(site.cluster.access) as installing:
        assert await installing.apply(objects, dry_run=False) == {}
        await until_granted(site.agent_fixture.api, objects)
        try:
            agent = await process(site, the("Deployment", objects))
            async with agent.child:
                yield agent
        finally:
            for one in objects:
                if one["kind"] in ("ClusterRole", "ClusterRoleBinding"):
                    await installing.delete(one)


async def process(site: InstallSite, deployment: Object) -> AgentProcess:
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    folders = await mounted(site, pod)
    account = f"/api/v1/namespaces/{site.agent_fixture.namespace}/serviceaccounts"
    granted = await site.agent_fixture.api.create(
        f"{account}/{pod['serviceAccountName']}/token", {}
    )
    access = Access(
        url=site.cluster.url,
        ca_file=site.cluster.access.ca_file,
        token=granted["status"]["token"],
    )
    nats = site.agent_fixture.settings.nats.url
    assert nats is not None
    here = {
        "PYTHONPATH": str(ROOT),
        "GITOPS_NATS_URL": nats.get_secret_value(),
        "GITOPS_HTTP_HOST": "127.0.0.1",
        "GITOPS_HTTP_PORT": str(port := free_port()),
        "GITOPS_HTTP_METRICS_PORT": str(metrics_port := free_port()),
        "GITOPS_SANDBOX_BINARY": str(site.agent_fixture.settings.sandbox.binary),
        "GITOPS_KUBE_KUBECONFIG": str(access.write_kubeconfig(site.folder / "kubeconfig")),
        "GITOPS_LOG_FORMAT": "json",
    }
    program = ChildProgram(
        name="agent",
        command=(sys.executable, *AGENT[:-2], *container["args"]),
        folder=site.folder / "agent",
        environment={**variables(site, container, folders), **here},
        ready_within=120.0,
        stop_grace=20.0,
    )
    return AgentProcess(
        child=ChildProcess(program, answers_tcp(port)),
        url=f"http://127.0.0.1:{port}",
        metrics_url=f"http://127.0.0.1:{metrics_port}",
    )


async def mounted(site: InstallSite, pod: Mapping[str, Any]) -> Mapping[str, Path]:
    """Mount path -> a folder with what the volume holds in the cluster."""
    volumes = {it["name"]: it for it in pod["volumes"]}
    found: dict[str, Path] = {}
    for mount in pod["containers"][0]["volumeMounts"]:
        folder = site.folder / "mounted" / mount["name"]
        folder.mkdir(parents=True)
        source = volumes[mount["name"]].get("secret")
        for key, value in (await site.secret(source["secretName"])).items() if source else ():
            (folder / key).write_bytes(value)
        found[mount["mountPath"]] = folder
    return found


def variables(
    site: InstallSite, container: Mapping[str, Any], folders: Mapping[str, Path]
) -> dict[str, str]:
    found = {}
    for it in container["env"]:
        value = it.get("value", site.agent_fixture.namespace)
        inside = [path for path in folders if value.startswith(path)]
        found[it["name"]] = (
            value.replace(path := max(inside), str(folders[path])) if inside else value
        )
    return found


async def connected(site: InstallSite) -> bool:
    return [it["status"] for it in await site.admin.items("/agents")] == ["connected"]


async def test_an_agent_of_the_generated_manifest_enrols_and_syncs(site: InstallSite) -> None:
    agent_fixture = site.agent_fixture
    async with started(
        site, f"i{agent_fixture.namespace}", f"{_CHOSEN}&features=sync,logs"
    ) as agent:
        await agent.until_ready()
        await eventually(lambda: connected(site), what="the agent has enrolled")
        agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
        await agent_fixture.apply_app("web", "web", syncPolicy={"automated": {}})
        await agent_fixture.until_synced("web")
        (app,) = await eventually(lambda: site.admin.items("/applications"))
        ended = await site.admin.order("POST", f"/applications/{app['id']}/sync", {})
        assert ended["phase"] == "succeeded", ended
    assert agent.logged("live state of a kind is not followed") == []


async def test_what_may_only_look_is_ordered_nothing(site: InstallSite) -> None:
    agent_fixture = site.agent_fixture
    query = f"{_CHOSEN}&features=&readOnly=true"
    async with started(site, f"i{agent_fixture.namespace}", query) as agent:
        await agent.until_ready()
        agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
        await agent_fixture.apply_app("web", "web", syncPolicy={"automated": {}})
        (app,) = await eventually(lambda: site.admin.items("/applications"))
        ended = await site.admin.order("POST", f"/applications/{app['id']}/sync", {})
        assert (ended["phase"], ended["code"]) == ("failed", "not_allowed"), ended
        assert "readOnly" in ended["message"]
        assert await agent_fixture.get("configmaps/a") is None
