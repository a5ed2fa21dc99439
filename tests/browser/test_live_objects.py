"""What a person does with one object of the tree: an action with its preview, and a deletion."""

from __future__ import annotations

import re
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

    await eventually(created_again)


async def test_an_object_is_edited_from_the_menu_of_the_tree(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("touched", automated=False)
    await scene.synced(work)
    await page.goto(f"/applications/{work.id}?as=list")
    await page.get_by_role("button", name="Menu of ConfigMap touched").click()
    menu = page.get_by_role("menu", name="ConfigMap touched")
    await expect(menu.get_by_role("menuitem", name="Summary")).to_be_focused()
    await menu.get_by_role("menuitem", name="Edit…").click()
    drawer = page.get_by_role("dialog", name="ConfigMap touched")
    text = drawer.get_by_label("Live object")
    await expect(text).to_have_value(re.compile("colour: blue"))
    await expect(drawer.get_by_role("button", name="Save")).to_be_disabled()
    await text.fill((await text.input_value()).replace("colour: blue", "colour: red"))
    await drawer.get_by_role("button", name="Preview").click()
    await expect(drawer).to_contain_text("metadata.labels.colour")
    await drawer.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Edit of ConfigMap touched done")).to_be_visible()
    assert await scene.colour(work) == "red"

    await page.goto(f"/applications/{work.id}?as=graph")
    await page.get_by_role("button", name="Menu of ConfigMap touched").click()
    await page.get_by_role("menuitem", name="Delete…").click()
    deletion = page.get_by_role("dialog", name="Delete ConfigMap touched?")
    await expect(deletion).to_contain_text("Git has it")


async def uid(scene: BrowserScene) -> Any:
    return (await scene.call(scene.demo.api.get(DEPLOYMENT)))["metadata"]["uid"]
