"""An agent that is connected by the wizard, and what the page says while something is away."""

import asyncio
import re
import uuid
from pathlib import Path

from playwright.async_api import Page, Request, Route

from playground.demo.site import SiteParts, SitePlan, open_agent
from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect

pytestmark = MARKS

_LIMITS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gitops-agent-limits"}}


async def test_the_wizard_makes_an_agent_and_shows_its_token_once(page: Page) -> None:
    name = f"edge-{uuid.uuid4().hex[:6]}"
    await page.goto("/agents/connect")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Environment").fill("staging")
    await page.get_by_role("button", name="Create and continue").click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()
    install = page.get_by_role("region", name="Install")
    await expect(install).to_contain_text("create secret generic gitops-agent-enrolment")
    await expect(install).to_contain_text("--from-literal=token=")
    await expect(install).to_contain_text("kind: Deployment")
    await expect(page.get_by_text("Waiting for the agent to connect")).to_be_visible()
    first = await token_of(page)
    await page.reload()
    await expect(install).to_contain_text("A new token ends the earlier one")
    await expect(page.get_by_role("region", name="commands")).to_have_count(0)
    await page.get_by_role("button", name="Create a new token").click()
    assert await token_of(page) != first
    await page.goto("/agents")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name))
    await expect(row).to_contain_text("Waiting")


async def test_an_agent_with_the_wizards_token_dials_in_and_says_what_it_allows(
    page: Page, scene: BrowserScene, scene_folder: Path, sandbox_binary: Path
) -> None:
    name = f"edge-{uuid.uuid4().hex[:6]}"
    await page.goto("/agents/connect")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Environment").fill("edge")
    await page.get_by_role("button", name="Create and continue").click()
    token = await token_of(page)
    remote = scene.demo.remote
    await scene.call(remote.api.create_namespace(name))
    limits = {**_LIMITS, "data": {"readOnly": "true"}}
    await scene.call(remote.api.create(f"/api/v1/namespaces/{name}/configmaps", limits))
    plan = SitePlan(name=name, environment="edge", region="", settings={"GITOPS_NAMESPACE": name})
    ground = SiteParts(
        folder=scene_folder,
        sandbox=sandbox_binary,
        service=scene.demo.service,
        webhook_secret="",
    )
    agent = open_agent(plan, remote.kubernetes, ground, token)
    await asyncio.to_thread(scene.background.enter, agent)
    connected = page.get_by_text("The agent has enrolled and is connected")
    await expect(connected).to_be_visible(timeout=120_000)
    await page.goto("/agents")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name))
    await expect(row).to_contain_text("Connected")
    await expect(row).to_contain_text("Permissions of this control plane")
    await expect(row).to_contain_text("Read-only: the cluster owner allows no changes.")


async def test_an_agent_that_is_gone_dims_its_page_and_brightens_it_again(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("dimmed", automated=False)
    await page.goto(f"/applications/{work.id}")
    dimmed = page.locator(".away")
    await expect(page.locator(".states")).to_contain_text("OutOfSync")
    await expect(dimmed).to_have_count(0)
    scene.demo.laptop.agent.kill()
    try:
        await expect(dimmed).to_have_count(1)
        await expect(page.locator(".states")).to_contain_text("agent away for")
    finally:
        await scene.call(scene.demo.laptop.agent.start())
    await expect(dimmed).to_have_count(0)


async def test_a_service_that_is_gone_is_said_and_the_page_comes_back(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("cut", automated=False)
    await page.goto(f"/applications/{work.id}")
    mark = page.locator(".live")
    await expect(mark).to_have_text("live")
    await expect(page.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
    scene.demo.service.server.kill()
    try:
        await expect(mark).to_contain_text("away")
        await expect(page.locator(".service-away")).to_contain_text("The service does not answer")
        await expect(page.locator("main.stale")).to_have_count(1)
        await expect(page.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
        async with page.expect_event("requestfailed", _of_history):
            await page.get_by_role("link", name="History", exact=True).click()
        await expect(page.get_by_role("alert")).to_have_count(1)
        await expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    finally:
        await scene.call(scene.demo.service.server.start())
    await expect(mark).to_have_text("live")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await expect(page.get_by_text("Never synced")).to_be_visible()
    await scene.synced(work)
    await expect(page.locator(".states")).to_contain_text("Synced")


async def test_what_changes_while_a_page_still_opens_its_stream_is_shown(
    page: Page, scene: BrowserScene
) -> None:
    """The page was read before its stream began: what happened in between nobody tells it."""
    work = await scene.application("raced", automated=False, service="raced")
    may_open = asyncio.Event()

    async def held(route: Route) -> None:
        await may_open.wait()
        await route.continue_()

    await page.route(re.compile("/api/v1/events"), held)
    await page.goto("/services")
    row = page.get_by_role("row").filter(has_text=work.name)
    await expect(row).to_contain_text("1 OutOfSync")
    await scene.synced(work)
    may_open.set()
    await expect(row).not_to_contain_text("OutOfSync")


async def token_of(page: Page) -> str:
    """The token in the commands; the manifest below them has a placeholder at the same place."""
    commands = page.get_by_role("region", name="commands")
    await expect(commands).to_contain_text("--from-literal=token=ge_")
    return (await commands.inner_text()).rpartition("--from-literal=token=")[2].strip()


def _of_history(asked: Request) -> bool:
    return asked.url.endswith("/history")
