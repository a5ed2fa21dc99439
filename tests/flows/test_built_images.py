"""Both images, built from the Dockerfile and started: as nobody, with nothing to write to.

The agent's image acts on the playground's cluster, the service's on its PostgreSQL. What they weigh
and how long they take to start is printed, never asserted.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest
from cyclonedx.schema import SchemaVersion
from rich.console import Console

from agent.loopback import free_port
from agent.settings import Settings
from playground.container import USER, container, volume
from playground.images.build import TARGETS, BuiltImage, MountedImage, build_images
from playground.images.components import bill_of_materials
from playground.screen import watching
from tests.flows.agent_fixture import AgentFixture, config_map

pytestmark = pytest.mark.timeout(1500)
each = pytest.mark.parametrize("target", TARGETS)
PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session")
def images() -> Iterator[Mapping[str, MountedImage]]:
    """Both, mounted once for all tests: a mount may be a copy of hundreds of megabytes."""
    with watching(Console(stderr=True)) as watch:
        built = build_images(watch)
    with ExitStack() as mounts:
        yield {target: mounts.enter_context(image.mounted()) for target, image in built.items()}


@pytest.fixture(scope="session")
def bills(images: Mapping[str, MountedImage]) -> Mapping[str, str]:
    return {target: bill_of_materials(image) for target, image in images.items()}


@each
def test_an_image_has_no_installer_and_no_shell_for_its_user(
    images: Mapping[str, MountedImage], target: str
) -> None:
    files = images[target].files
    (user,) = (
        line for line in (files / "etc/passwd").read_text().splitlines() if f":{USER}:" in line
    )
    assert user.endswith(":/usr/sbin/nologin")
    packages = {path.name for path in files.glob("opt/gitops/lib/python3.*/site-packages/*")}
    assert {"bus", "cli"} <= packages
    assert not {"pip", "setuptools", "pytest", "tests", "playground"} & packages
    assert ("agent" in packages, "service" in packages) == (True, target == "service")


@each
def test_nothing_in_an_image_belongs_to_its_user_but_its_state(
    images: Mapping[str, MountedImage], target: str
) -> None:
    files = images[target].files
    found = subprocess.run(
        ["find", str(files), "-uid", str(USER), "-not", "-path", str(files)],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    ).stdout.split()
    owned = {f"/{os.path.relpath(one, files)}" for one in found}
    assert owned <= {"/var/lib/gitops"}


@each
def test_a_bill_of_materials_names_what_each_tool_installed(
    bills: Mapping[str, str], target: str
) -> None:
    # Imported here: it takes seconds, in every process that only collects the tests.
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bills[target]) is None
    urls = [one["purl"] for one in json.loads(bills[target])["components"]]
    kinds = {url.partition(":")[2].partition("/")[0] for url in urls}
    assert kinds == ({"deb", "pypi", "golang"} if target == "agent" else {"deb", "pypi", "npm"})
    expected = {
        "agent": ("pkg:golang/helm.sh/helm/", "pkg:pypi/pygit2@", "pkg:deb/debian/git@"),
        "service": ("pkg:npm/vue@", "pkg:pypi/sqlalchemy@", "pkg:deb/debian/ca-certificates@"),
    }
    for start in expected[target]:
        assert any(url.startswith(start) for url in urls), start


async def test_the_agents_image_deploys_on_a_real_cluster(
    images: Mapping[str, MountedImage], stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    agent.commit({"web/map.yaml": config_map("from-the-image", one="1")})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    port, state = free_port(), volume(tmp_path / "state")
    kubeconfig = volume(tmp_path / "kube") / "config"
    kubeconfig.write_text(with_its_files(Path(str(agent.settings.kube.kubeconfig))))
    variables = {
        **agent_variables(agent.settings),
        "GITOPS_HTTP_PORT": "0",
        "GITOPS_HTTP_METRICS_PORT": str(port),
    }
    volumes = {state: "/var/lib/gitops", kubeconfig.parent: "/mnt"}
    variables["GITOPS_KUBE_KUBECONFIG"] = "/mnt/config"
    began = time.monotonic()
    running = container(images["agent"], tmp_path, port, variables, volumes=volumes)
    async with running as server:
        report_start(images["agent"].image, time.monotonic() - began)
        await agent.until_synced("web")
        assert await agent.get("configmaps/from-the-image")
        assert runs_as_nobody(server.child.pid)
    assert any(state.iterdir())


async def test_the_services_image_serves_on_a_real_database(
    images: Mapping[str, MountedImage], postgres_url: str, database_url: str, tmp_path: Path
) -> None:
    port, metrics = free_port(), free_port()
    secrets = volume(tmp_path / "secrets")
    (secrets / "password").write_text(PASSWORD)
    variables = {
        "GITOPS_SERVICE_DATABASE_URL": database_url,
        "GITOPS_SERVICE_PORT": str(port),
        "GITOPS_SERVICE_METRICS_PORT": str(metrics),
        "GITOPS_SERVICE_ADMIN_PASSWORD_FILE": "/mnt/password",
        "GITOPS_SERVICE_KEY_FILE": "/mnt/key",
        "GITOPS_SERVICE_KEY_GENERATE": "true",
    }
    began = time.monotonic()
    running = container(images["service"], tmp_path, metrics, variables, volumes={secrets: "/mnt"})
    url = f"http://127.0.0.1:{port}"
    async with running as server, aiohttp.ClientSession(url) as session:
        report_start(images["service"].image, time.monotonic() - began)
        async with session.get("/") as page:
            assert (page.status, page.content_type) == (200, "text/html")
        login = {"name": "admin", "password": PASSWORD}
        async with session.post("/api/v1/login", json=login) as answer:
            assert answer.status == 200, await answer.text()
        assert runs_as_nobody(server.child.pid)


def with_its_files(kubeconfig: Path) -> str:
    """The kubeconfig with the contents of the files that it names, as `kubectl --flatten` does."""
    config = json.loads(kubeconfig.read_text())
    parts = [
        *(one["cluster"] for one in config["clusters"]),
        *(one["user"] for one in config["users"]),
    ]
    for part in parts:
        for name in ("certificate-authority", "client-certificate", "client-key"):
            if file := part.pop(name, ""):
                part[f"{name}-data"] = base64.b64encode(Path(file).read_bytes()).decode()
    return json.dumps(config)


def agent_variables(settings: Settings) -> dict[str, str]:
    return {
        "GITOPS_ACCOUNT": settings.account,
        "GITOPS_AGENT": settings.agent,
        "GITOPS_NAMESPACE": settings.namespace,
        "GITOPS_DESTINATION_NAMESPACES": ",".join(settings.destination_namespaces),
        "GITOPS_NATS_URL": settings.nats.url.get_secret_value() if settings.nats.url else "",
        "GITOPS_LEASE_ENABLED": "false",
        "GITOPS_SANDBOX_WORKERS": "1",
    }


def runs_as_nobody(pid: int | None) -> bool:
    """Whether every process below bubblewrap's own has the image's user and no capability."""
    processes = [status_of(one) for one in descendants(pid or 0)]
    inside = [one for one in processes if one["Name"] not in ("bwrap", "setpriv")]
    assert inside
    return all(
        one["Uid"].split() == [str(USER)] * 4 and int(one["CapPrm"], 16) == 0 for one in inside
    )


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in children for one in (int(child), *descendants(int(child)))]


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def report_start(image: BuiltImage, seconds: float) -> None:
    logged = f"\nimage of the {image.target}: {image.megabytes} MB, ready after {seconds:.1f} s"
    Console(stderr=True).print(logged, highlight=False)
