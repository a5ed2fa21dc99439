"""An agent that is connected by the wizard, and what the page says while something is away."""

import asyncio
import re
import uuid
from pathlib import Path

from playwright.async_api import Page

from playground.demo.site import Ground, Plan, open_agent
from tests.browser.chromium import expect
from tests.browser.scene import MARKS, Scene

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
    await page.goto("/agents")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name))
    await expect(row).to_contain_text("Waiting")


async def test_an_agent_with_the_wizards_token_dials_in_and_says_what_it_allows(
    page: Page, scene: Scene, house_folder: Path, sandbox_binary: Path
) -> None:
    name = f"edge-{uuid.uuid4().hex[:6]}"
    await page.goto("/agents/connect")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Environment").fill("edge")
    await page.get_by_role("button", name="Create and continue").click()
    install = page.get_by_role("region", name="Install")
    await expect(install).to_contain_text("--from-literal=token=")
    token = re.search(r"--from-literal=token=([^\s'\"]+)", await install.inner_text())
    assert token is not None
    remote = scene.house.remote
    await scene.call(remote.api.create_namespace(name))
    limits = {**_LIMITS, "data": {"readOnly": "true"}}
    await scene.call(remote.api.create(f"/api/v1/namespaces/{name}/configmaps", limits))
    plan = Plan(name=name, environment="edge", region="", settings={"GITOPS_NAMESPACE": name})
    ground = Ground(
        folder=house_folder,
        sandbox=sandbox_binary,
        far_end=scene.house.far_end,
        webhook_secret="",
    )
    agent = open_agent(plan, remote.kubernetes, ground, token[1])
    await asyncio.to_thread(scene.background.enter, agent)
    await expect(page.get_by_text("The agent has enrolled and is connected")).to_be_visible()
    await page.goto("/agents")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name))
    await expect(row).to_contain_text("Connected")
    await expect(row).to_contain_text("Permissions of this control plane")
    await expect(row).to_contain_text("Read-only: the cluster owner allows no changes.")


async def test_an_agent_that_is_gone_dims_its_page_and_brightens_it_again(
    page: Page, scene: Scene
) -> None:
    work = await scene.application("dimmed", automated=False)
    await page.goto(f"/applications/{work.id}")
    dimmed = page.locator(".away")
    await expect(page.locator(".states")).to_contain_text("OutOfSync")
    await expect(dimmed).to_have_count(0)
    scene.house.laptop.agent.kill()
    try:
        await expect(dimmed).to_have_count(1)
        await expect(page.locator(".states")).to_contain_text("agent away for")
    finally:
        await scene.call(scene.house.laptop.agent.start())
    await expect(dimmed).to_have_count(0)


async def test_a_service_that_is_gone_is_said_and_the_page_comes_back(
    page: Page, scene: Scene
) -> None:
    work = await scene.application("cut", automated=False)
    await page.goto(f"/applications/{work.id}")
    mark = page.locator(".live")
    await expect(mark).to_have_text("live")
    await expect(page.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
    scene.house.far_end.server.kill()
    try:
        await expect(mark).to_contain_text("away")
        await expect(page.locator(".service-away")).to_contain_text("The service does not answer")
        await expect(page.locator("main.stale")).to_have_count(1)
        await expect(page.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
    finally:
        await scene.call(scene.house.far_end.server.start())
    await expect(mark).to_have_text("live")
    await scene.synced(work)
    await expect(page.locator(".states")).to_contain_text("Synced")
