"""`gitops app logs|resources|manifests` against a real service and an agent that answers."""

from __future__ import annotations

from typing import Any

from bus.link import Chunk, TaskPhase
from tests.unit.cli.service_fixture import ServiceFixture, answering

WEB = {"kind": "Deployment", "group": "apps", "namespace": "shop", "name": "web", "sync": "Synced"}


def tree(*pods: str, **state: str) -> dict[str, Any]:
    nodes = [{"kind": "Pod", "namespace": "shop", "name": name} for name in pods]
    return {"body": {"nodes": [{**WEB, **state}, *nodes]}}


async def test_the_only_pod_is_printed_line_by_line_as_it_is(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1")) as agent:
        agent.logs["web-1"] = (("one\n\tt", "wo\x1b[31m red\x1b[0m\nthr", "ee"), "succeeded")
        ran = await service.run("app", "logs", "shop", "--tail", "7", "--container", "main")
    assert (ran.code, ran.out) == (0, "one\n\ttwo red\nthree\n"), ran.err
    asked = agent.offered[-1].task.arguments
    assert (asked["tail"], asked["container"], asked["namespace"]) == (7, "main", "shop")


async def test_of_several_pods_each_line_says_which(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-2", "web-1")) as agent:
        agent.logs |= {it: ((f"hello of {it}\n",), "succeeded") for it in ("web-1", "web-2")}
        ran = await service.run("app", "logs", "shop")
    assert ran.out == "web-1  hello of web-1\nweb-2  hello of web-2\n"


async def test_lines_are_followed_of_all_pods_at_once(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1", "web-2")) as agent:
        agent.logs |= dict.fromkeys(("web-1", "web-2"), (("", "hello\n"), "succeeded"))
        ran = await service.run("app", "logs", "shop", "--follow", "--json")
    assert ran.code == 0, ran.err
    lines = sorted((it["pod"], it["namespace"], it["line"]) for it in ran.answers)
    assert lines == [("web-1", "shop", "hello"), ("web-2", "shop", "hello")]


async def test_a_log_that_cannot_be_read_does_not_end_the_others(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1", "web-2")) as agent:
        agent.logs = {"web-1": ((), "ContainerCreating"), "web-2": (("hello\n",), "succeeded")}
        ran = await service.run("app", "logs", "shop")
    assert (ran.code, ran.out) == (1, "web-2  hello\n")
    assert ran.err == "gitops: web-1: ContainerCreating\n"


async def test_lines_that_were_left_out_are_counted(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1")) as agent:
        late = Chunk(task="", number=0, text="late\n", dropped=12)
        agent.logs["web-1"] = ((late,), "succeeded")
        ran = await service.run("app", "logs", "shop")
    assert (ran.code, ran.out) == (0, "late\n")
    assert "web-1: 12 lines were too fast" in ran.err


async def test_a_pod_that_there_is_not_is_met_with_those_there_are(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1", "web-2")):
        ran = await service.run("app", "logs", "shop", "--pod", "nope")
    assert (ran.code, ran.out) == (2, "")
    assert "no pod nope; there are: web-1, web-2" in ran.err


async def test_an_application_without_pods_says_so(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree()):
        ran = await service.run("app", "logs", "shop")
    assert (ran.code, ran.out, ran.err) == (1, "", "gitops: prod/argocd/shop has no pods\n")


async def test_too_many_pods_are_not_followed_at_once(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree(*(f"web-{i}" for i in range(9)))):
        ran = await service.run("app", "logs", "shop", "--follow")
    assert ran.code == 2
    assert "choose one with --pod: web-0, web-1" in ran.err


async def test_resources_are_what_the_application_manages(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, tree=tree("web-1", health="Degraded")):
        ran = await service.run("app", "resources", "shop")
        plain = (await service.run("app", "resources", "shop", "--json")).answers
    head, row = ran.out.splitlines()
    assert head.split() == ["Kind", "Name", "Sync", "Health"]
    assert row.split() == ["apps/Deployment", "shop/web", "✓", "Synced", "◆", "Degraded"]
    assert [it["name"] for it in plain] == ["web"]


async def test_manifests_are_yaml_of_the_revision_that_is_asked(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    one = {"kind": "ConfigMap", "data": {"a": "1e3"}, "apiVersion": "v1", "metadata": {"name": "x"}}
    body = {"revision": "abc", "manifests": [one]}
    async with answering(service.running_service, manifests={"body": body}) as agent:
        ran = await service.run("app", "manifests", "shop", "--revision", "feature/a&b")
        plain = (await service.run("app", "manifests", "shop", "--json")).answers
    text = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '1e3'\n"
    assert (ran.code, ran.out) == (0, text), ran.err
    assert agent.offered[0].task.arguments == {"revision": "feature/a&b"}
    assert plain == [one]


async def test_manifests_that_do_not_render_are_exit_code_2(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    failed = {"phase": TaskPhase.FAILED, "code": "not_found", "message": "no branch 'x'"}
    async with answering(service.running_service, manifests=failed):
        ran = await service.run("app", "manifests", "shop", "--revision", "x")
    assert (ran.code, ran.out) == (2, "")
    assert "no branch 'x'" in ran.err
