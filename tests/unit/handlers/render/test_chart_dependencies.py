"""Charts that others depend on, read from a real Helm repository and rendered in the sandbox."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.renderer.renderer import SandboxRenderer
from bus.status import Reason
from handlers.application.tool_settings import BuildOptions
from handlers.ports.chart_dependency import ChartDependency
from handlers.ports.rendering import MissingChartsError, RenderError
from playground.charthost import ChartHost
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.unit.agent.download.reader import source_reading
from tests.unit.agent.renderer.recipe_samples import helm, kustomize, objects
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import project
from tests.unit.handlers.render.dependent_charts import (
    DependentCharts,
    Wanted,
    chart_lock,
    chart_yaml,
)

LOGIN = ("kim", "a-password-nobody-may-see")


@pytest.fixture
async def charts(sandbox_binary: Path, tmp_path: Path) -> AsyncIterator[DependentCharts]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        yield DependentCharts(sandbox=sandbox, reader=source_reading(tmp_path, sandbox))


@pytest.fixture
async def host() -> AsyncIterator[ChartHost]:
    async with ChartHost(login=LOGIN) as opened:
        for version in ("1.0.0", "1.2.0", "1.2.4", "2.0.0"):
            opened.publish("db", version)
        yield opened


@pytest.fixture
def opened(charts: DependentCharts, host: ChartHost) -> DependentCharts:
    """The charts with the login of the host, which has a name."""
    charts.reader.secret(host.url, name="stable", username=LOGIN[0], password=LOGIN[1])
    return charts


@pytest.mark.parametrize(
    ("version", "chosen"),
    [("^1", "1.2.4"), ("1.2.0", "1.2.0"), ("1.2", "1.2.4"), ("v1.0.0", "1.0.0"), ("*", "2.0.0")],
)
async def test_the_highest_version_of_a_range_is_taken_with_the_login_of_the_repository(
    opened: DependentCharts, host: ChartHost, version: str, chosen: str
) -> None:
    assert await opened.versions(("db", version, host.url)) == [chosen]


@pytest.mark.parametrize("name", ["@stable", "alias:stable"])
async def test_a_repository_may_be_named_as_its_secret_names_it(
    opened: DependentCharts, name: str
) -> None:
    assert await opened.versions(("db", "1.0.0", name)) == ["1.0.0"]


async def test_the_name_of_a_secret_of_another_project_leads_nowhere(
    charts: DependentCharts, host: ChartHost
) -> None:
    charts.reader.secret(host.url, name="stable", project="other")
    refusal = await charts.refusal(("db", "1.0.0", "@stable"))
    assert refusal.reason is Reason.INVALID_SPEC
    assert "name: stable" in refusal.message


async def test_the_lock_says_the_version(opened: DependentCharts, host: ChartHost) -> None:
    wanted, locked = ("db", "^1", host.url), ("db", "1.0.0", host.url)
    assert await opened.versions(wanted, lock=chart_lock([wanted], [locked])) == ["1.0.0"]
    named = ("db", "^1", "@stable")
    lock = chart_lock([wanted], [locked])
    assert await opened.versions(named, lock=lock) == ["1.0.0"]


async def test_a_lock_that_is_out_of_sync_is_refused(
    opened: DependentCharts, host: ChartHost
) -> None:
    locked = ("db", "1.0.0", host.url)
    lock = chart_lock([("db", "^1", host.url)], [locked])
    refusal = await opened.refusal(("db", "^2", host.url), lock=lock)
    assert "out of sync" in refusal.message
    assert refusal.file == "chart/Chart.lock"
    assert host.requests == []


async def test_what_the_project_does_not_permit_is_not_asked_for(
    opened: DependentCharts, host: ChartHost
) -> None:
    opened.projects.found = project({"sourceRepos": ["https://git.example/*"]})
    refusal = await opened.refusal(("db", "^1", host.url))
    assert refusal.reason is Reason.NOT_PERMITTED
    assert f"add {host.url} to its spec.sourceRepos" in refusal.message
    assert host.requests == []


@pytest.mark.parametrize(
    ("wanted", "reason", "words"),
    [
        (("db", "9.9.9", "HOST"), Reason.REVISION_NOT_FOUND, "no version '9.9.9'"),
        (("db", ">=9", "HOST"), Reason.REVISION_NOT_FOUND, "among 4 versions"),
        (("db", "so-so", "HOST"), Reason.REVISION_NOT_FOUND, "neither a version nor a range"),
        (("gone", "1.x", "HOST"), Reason.REVISION_NOT_FOUND, "no version of a chart 'gone'"),
        (("../db", "1.x", "HOST"), Reason.INVALID_SPEC, "no name of a chart"),
        (("db", "1.x", "../db"), Reason.INVALID_SPEC, "no scheme"),
        (("db", "1.x", "ssh://git@h/x"), Reason.INVALID_SPEC, "expected https://"),
        (("db", "1.x", "https://kim:pw@h/x"), Reason.INVALID_SPEC, "no login in it"),
        (("db", "1.x", "https://h/x?token=t"), Reason.INVALID_SPEC, "query"),
    ],
)
async def test_a_dependency_that_cannot_be_had_is_named_with_its_cause(
    opened: DependentCharts, host: ChartHost, wanted: Wanted, reason: Reason, words: str
) -> None:
    name, version, repository = wanted
    refusal = await opened.refusal((name, version, repository.replace("HOST", host.url)))
    assert refusal.reason is reason
    assert words in refusal.message
    assert repr(name) in refusal.message
    assert "pw" not in refusal.message


async def test_a_login_that_is_missing_is_named(charts: DependentCharts, host: ChartHost) -> None:
    refusal = await charts.refusal(("db", "1.0.0", host.url))
    assert refusal.reason is Reason.CREDENTIALS_REFUSED
    assert "Store user name and password" in refusal.message


async def test_a_login_that_hosts_issue_for_git_opens_no_charts(
    charts: DependentCharts, host: ChartHost
) -> None:
    charts.reader.secret(host.url, useAzureWorkloadIdentity="true")
    refusal = await charts.refusal(("db", "1.0.0", host.url))
    assert refusal.reason is Reason.CREDENTIALS_REFUSED
    assert "for Git repositories only: store user name" in refusal.message


class WrongDigests(ChartHost):
    """Its index names other digests than those of its archives."""

    def index(self) -> str:
        return super().index().replace("digest: ", "digest: 0")


async def test_an_archive_of_another_digest_is_refused(charts: DependentCharts) -> None:
    async with WrongDigests() as host:
        host.publish("db", "1.0.0")
        refusal = await charts.refusal(("db", "1.0.0", host.url))
    assert "and the index names 0" in refusal.message
    assert "'db' 1.0.0" in refusal.message


async def test_dependencies_of_dependencies_are_read_and_a_circle_of_them_ends(
    opened: DependentCharts, host: ChartHost
) -> None:
    host.publish("a", "1.0.0", {"Chart.yaml": chart_yaml(("db", "1.0.0", host.url), name="a")})
    assert sorted(await opened.versions(("a", "1.0.0", host.url))) == ["1.0.0", "1.0.0"]

    for name, other in (("b", "c"), ("c", "b")):
        wanted = (other, "1.0.0", host.url)
        host.publish(name, "1.0.0", {"Chart.yaml": chart_yaml(wanted, name=name)})
    await opened.reader.sources.fetch(opened.reader.access(host.url, "b"))
    refusal = await opened.refusal(("b", "1.0.0", host.url))
    assert "circle" in refusal.message


async def test_a_version_that_was_published_after_the_last_look_is_found(
    opened: DependentCharts, host: ChartHost
) -> None:
    assert await opened.versions(("db", "1.0.0", host.url)) == ["1.0.0"]
    host.publish("db", "1.3.0")
    wanted = ChartDependency("db", host.url, "^1")
    _, (record,) = await opened.rendered({"chart/Chart.yaml": chart_yaml(("db", "^1", host.url))})
    assert record.revision == "1.2.4"
    assert await opened.dependencies.hold([record], "shop")
    assert not await opened.dependencies.hold([record], "shop", look=True)
    assert (await opened.dependencies.read(wanted, "shop")).record.revision == "1.3.0"

    host.publish("db", "4.0.0")
    later = ChartDependency("db", host.url, "4.0.0")
    with pytest.raises(RenderError):
        await opened.dependencies.read(later, "shop")
    found = await opened.dependencies.read(later, "shop", look=True)
    assert found.record.revision == "4.0.0"


async def test_what_was_read_is_read_again_where_it_is_not_permitted_any_more(
    opened: DependentCharts, host: ChartHost
) -> None:
    _, records = await opened.rendered({"chart/Chart.yaml": chart_yaml(("db", "1.0.0", host.url))})
    asked = len(host.requests)
    assert await opened.dependencies.hold(records, "shop", look=True)
    assert len(host.requests) == asked

    opened.projects.found = project({"sourceRepos": []})
    assert not await opened.dependencies.hold(records, "shop")
    opened.projects.found = project()
    opened.reader.secrets.clear()
    opened.reader.secret(host.url, project="shop")
    assert not await opened.dependencies.hold(records, "shop")


async def test_charts_of_a_kustomization_are_fetched_under_the_same_rules(
    opened: DependentCharts, host: ChartHost
) -> None:
    chart = f"{{name: db, repo: '{host.url}', version: ^1, releaseName: r, namespace: data}}"
    files = {"app/kustomization.yaml": f"helmCharts: [{chart}]\nnamePrefix: my-\n"}
    recipe = replace(kustomize(), build=BuildOptions(enable_helm=True), kube_version="v1.33.0")
    rendered, (record,) = await opened.rendered(files, recipe)
    (found,) = objects(rendered)
    assert found["metadata"]["name"].startswith("my-")
    assert (found["data"]["version"], record.revision) == ("1.2.4", "1.2.4")

    opened.projects.found = project({"sourceRepos": []})
    with pytest.raises(RenderError) as caught:
        await opened.rendered(files, recipe)
    assert caught.value.reason is Reason.NOT_PERMITTED


async def test_a_server_that_never_answers_is_named_in_time(charts: DependentCharts) -> None:
    waiting = asyncio.Event()

    async def ignore(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await waiting.wait()
        writer.close()

    server = await asyncio.start_server(ignore, "127.0.0.1", 0)
    try:
        charts.seconds = 0.2
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        refusal = await charts.refusal(("db", "1.0.0", url))
    finally:
        waiting.set()
        server.close()
    assert refusal.reason is Reason.REPOSITORY_UNREACHABLE
    assert url in refusal.message
    assert "not read within" in refusal.message


async def test_without_a_reader_the_chart_says_what_it_lacks(charts: DependentCharts) -> None:
    tree = WrittenTree({"chart/Chart.yaml": chart_yaml(("db", "1.x", "https://charts.example"))})
    with pytest.raises(MissingChartsError, match=r"db 1\.x; run `helm dependency build`"):
        await SandboxRenderer(charts.sandbox).render(helm(), tree)


async def test_a_chart_at_an_address_of_the_agents_machine_is_not_asked(
    opened: DependentCharts, host: ChartHost
) -> None:
    opened.own = "https://git.example/web"
    refusal = await opened.refusal(("db", "1.0.0", host.url))
    assert refusal.reason is Reason.NOT_PERMITTED
    assert "is at an address of the agent's machine" in refusal.message
