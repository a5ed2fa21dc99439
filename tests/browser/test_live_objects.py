"""What a person does with one object of the tree: an action with its preview, and a deletion."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect
from tests.support import eventually

pytestmark = MARKS

DEPLOYMENT = "/apis/apps/v1/namespaces/acted/deployments/acted"


async def test_an_action_shows_what_it_will_do_and_then_does_it(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("acted", automated=True)
    await page.goto(f"/applications/{work.id}?object=apps/Deployment/acted/acted&view=actions")
    drawer = page.get_by_role("dialog", name="Deployment acted")
    await expect(drawer.get_by_role("button", name="resume")).to_be_disabled()
    await expect(drawer).to_contain_text("in this state already")

    await drawer.get_by_role("button", name="scale…").click()
    scale = page.get_by_role("dialog", name="scale: Deployment acted")
    await expect(scale.get_by_role("button", name="Run")).to_be_disabled()
    await scale.get_by_label("replicas").fill("2")
    await expect(scale).to_contain_text("spec.replicas")
    await scale.get_by_role("button", name="Cancel").click()

    await drawer.get_by_role("button", name="restart").click()
    restart = page.get_by_role("dialog", name="restart: Deployment acted")
    await expect(restart).to_contain_text("restartedAt")
    await restart.get_by_role("button", name="Run").click()
    await expect(restart).to_be_hidden()
    await expect(page.get_by_text("restart of Deployment acted done")).to_be_visible()
    template = (await scene.call(scene.demo.api.get(DEPLOYMENT)))["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]

    before = await uid(scene)
    await drawer.get_by_role("button", name="Delete…").click()
    deletion = page.get_by_role("dialog", name="Delete Deployment acted?")
    await expect(deletion).to_contain_text("Self-heal creates it again")
    await deletion.get_by_role("button", name="Delete", exact=True).click()
    await expect(deletion).to_be_hidden()

    async def created_again() -> bool:
        listed = await scene.call(scene.demo.api.get(DEPLOYMENT.rpartition("/")[0]))
        found = [it["metadata"]["uid"] for it in listed["items"]]
        return bool(found) and before not in found

    await eventually(created_again, 60)


async def uid(scene: BrowserScene) -> Any:
    return (await scene.call(scene.demo.api.get(DEPLOYMENT)))["metadata"]["uid"]
