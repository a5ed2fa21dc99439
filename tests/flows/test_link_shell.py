"""Shells in containers over the link: API server, kubelet and shell are real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path

import pytest

from bus.link import TaskPhase, TaskResult
from tests.flows.agent_fixture import AgentFixture
from tests.flows.fake_service_link import FakeServiceLink, acting, allow
from tests.flows.shell_fixture import POD, POD_WITHOUT_SHELL, permit, pods, shell
from tests.flows.test_exclusions import put_settings
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService


@pytest.fixture
async def open_link(
    linked_agent: AgentFixture, fake_service: FakeService
) -> AsyncIterator[FakeServiceLink]:
    """An agent that may open shells, with the pods of its application."""
    await permit(linked_agent)
    async with acting(linked_agent, fake_service) as link:
        await link.synced(pods())
        yield link


async def refusal(link: FakeServiceLink, word: str) -> TaskResult:
    """The refusal of a shell whose reason names `word`, once the agent knows of the change."""

    async def refused() -> TaskResult | None:
        attempt = shell(link)
        await attempt.open()
        await attempt.type("exit\n")
        result = await attempt.end()
        return result if word in result.message else None

    return await eventually(refused, what=f"a refusal that names {word}")


async def test_a_shell_is_off_until_settings_and_limits_permit_it(link: FakeServiceLink) -> None:
    await link.synced(pods())
    first = shell(link)
    await first.open()
    off = await first.end()
    await put_settings(link.agent, exec_enabled="true")
    unlimited = await refusal(link, "gitops-agent-limits")
    assert (off.phase, off.code) == (TaskPhase.FAILED, "not_allowed")
    assert "exec.enabled of argocd-cm" in off.message
    assert 'exec: "true"' in unlimited.message


async def test_what_is_typed_runs_in_the_pod_and_the_exit_code_comes_back(
    open_link: FakeServiceLink,
) -> None:
    link = open_link
    opened = shell(link, columns=91, rows=33)
    await opened.open()
    assert "33 91" in await opened.run("stty size")
    assert "web" in await opened.run("echo $POD")
    await opened.type(columns=120, rows=40)
    assert "40 120" in await opened.run("stty size")
    assert "grüße 🚀" in await opened.run("echo grüße 🚀")
    await opened.type("exit 7\n")
    ended = await opened.end()
    assert (ended.phase, ended.body["exitCode"]) == (TaskPhase.SUCCEEDED, 7), ended
    assert (ended.body["shell"], ended.body["container"]) == ("bash", "web")
    assert ended.body["received"] > 0


async def test_only_pods_of_the_application_with_a_shell_are_entered(
    open_link: FakeServiceLink,
) -> None:
    link = open_link
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger"},
        "spec": {"containers": [{"name": "c", "image": "registry.example/c:1"}]},
    }
    await link.agent.api.create(f"/api/v1/namespaces/{link.agent.destination}/pods", stranger)
    ended = {}
    for name, attempt in {
        "foreign": shell(link, "stranger"),
        "elsewhere": shell(link, namespace="kube-system"),
        "nowhere": shell(link, namespace=""),
        "container": shell(link, container="nope"),
        "path": shell(link, "web/../stranger"),
        "shell": shell(link, POD_WITHOUT_SHELL),
    }.items():
        await attempt.open()
        ended[name] = await attempt.end()
    assert {it.phase for it in ended.values()} == {TaskPhase.FAILED}
    assert ended["foreign"].code == ended["path"].code == "not_found"
    assert ended["elsewhere"].code == "not_found" or "namespace" in ended["elsewhere"].message
    assert ended["nowhere"].code == "not_found"
    assert "there are: web, side" in ended["container"].message
    assert "bash, sh, powershell, cmd" in ended["shell"].message


async def test_a_shell_ends_with_its_permission_and_lost_input(
    open_link: FakeServiceLink,
) -> None:
    link = open_link
    first, second, third = shell(link), shell(link), shell(link, "gone")
    for opened in (first, second, third):
        await opened.open()
        await opened.run("true")
    second._typed += 1
    await second.type("echo never\n")
    lost = await second.end()
    pod = f"/api/v1/namespaces/{link.agent.destination}/pods/gone"
    await link.agent.api.delete(f"{pod}?gracePeriodSeconds=0")
    deleted = await third.end()
    await put_settings(link.agent, exec_enabled="false")
    revoked = await first.end()
    assert "is no live object of" in deleted.message, deleted
    assert (lost.code, "lost on the way" in lost.message) == ("expired", True)
    assert (revoked.code, "exec.enabled" in revoked.message) == ("not_allowed", True), revoked


async def test_a_terminal_is_offered_while_settings_and_limits_both_permit_it(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    await allow(linked_agent, exec="true")
    async with acting(linked_agent, fake_service):
        await put_settings(linked_agent, exec_enabled="true")
        await fake_service.connected(times=2)
        await put_settings(linked_agent, exec_enabled="false")
        await fake_service.connected(times=3)
    offered = [
        permitted for permitted, _ in groupby(it.allowed["exec"] for it in fake_service.hellos)
    ]
    assert offered == [False, True, False]


async def test_a_shell_ends_with_its_pod(open_link: FakeServiceLink) -> None:
    link = open_link
    opened = shell(link)
    await opened.open()
    await opened.run("true")
    path = f"/api/v1/namespaces/{link.agent.destination}/pods/{POD}"
    await link.agent.api.delete(f"{path}?gracePeriodSeconds=0")
    ended = await opened.end()
    assert ended.phase is TaskPhase.FAILED
    assert "is no live object of" in ended.message


async def test_no_shell_is_opened_in_the_namespace_of_the_agent(
    open_link: FakeServiceLink,
) -> None:
    attempt = shell(open_link, namespace=open_link.agent.namespace)
    await attempt.open()
    ended = await attempt.end()
    assert (ended.phase, ended.code) == (TaskPhase.FAILED, "not_allowed")
    assert "the agent's own namespace" in ended.message


async def test_output_without_end_waits_for_the_reader_and_can_be_cancelled(
    open_link: FakeServiceLink,
) -> None:
    link = open_link
    opened = shell(link)
    await opened.open(credit=3)
    await eventually(lambda: opened.output, what="a prompt")
    await opened.type("yes\n")
    service = link.fake_service
    await eventually(lambda: len(service.chunks[opened.task.id]) == 3, what="all of the credit")
    await opened.cancel()
    ended = await opened.end()
    assert ended.phase is TaskPhase.CANCELLED
    assert len(service.chunks[opened.task.id]) == 3


async def test_an_agent_has_four_shells_and_a_fifth_when_one_has_ended(
    open_link: FakeServiceLink,
) -> None:
    opened = [shell(open_link) for _ in range(4)]
    for one in opened:
        await one.open()
        await one.run("true")
    fifth = shell(open_link)
    await fifth.open()
    refused = await fifth.end()
    await opened[0].type("exit\n")
    await opened[0].end()
    sixth = shell(open_link)
    await sixth.open()
    await sixth.run("true")
    assert refused.phase is TaskPhase.FAILED
    assert "4 shells are open at this agent" in refused.message


@pytest.fixture
def impatient_agent(linked_agent: AgentFixture) -> AgentFixture:
    link = linked_agent.settings.link.model_copy(update={"exec_idle": 2.0})
    linked_agent.settings = linked_agent.settings.model_copy(update={"link": link})
    return linked_agent


async def test_a_shell_in_which_nothing_happens_ends(
    impatient_agent: AgentFixture, fake_service: FakeService
) -> None:
    await permit(impatient_agent)
    async with acting(impatient_agent, fake_service) as link:
        await link.synced(pods())
        opened = shell(link)
        await opened.open()
        ended = await opened.end()
    assert (ended.code, "nothing came and went" in ended.message) == ("expired", True), ended


async def test_a_shell_does_not_outlive_its_agent(
    linked_agent: AgentFixture, fake_service: FakeService, tmp_path: Path
) -> None:
    await permit(linked_agent)
    async with acting(linked_agent, fake_service) as link:
        await link.synced(pods())
        opened = shell(link)
        await opened.open()
        await opened.run(f"trap 'echo gone > {tmp_path}/gone' EXIT HUP")
    await eventually((tmp_path / "gone").exists, what="the end of the shell")
    async with acting(linked_agent, fake_service, times=2) as link:
        again = await fake_service.do(opened.task)
    assert again.phase is not TaskPhase.SUCCEEDED
