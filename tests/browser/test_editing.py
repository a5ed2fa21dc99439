"""Applications made and changed in the browser: the cluster's answer is what is shown."""

import re
import uuid

from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect

pytestmark = MARKS

_PATH = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"


async def test_an_application_is_made_in_the_browser_and_opens_when_it_is_there(
    page: Page, scene: BrowserScene
) -> None:
    await page.goto("/applications/new")
    await page.get_by_label("Agent").select_option(label="laptop, dev")
    await page.get_by_label("Name", exact=True).fill("made")
    await page.get_by_label("Repository").fill(scene.demo.repository.url)
    await page.get_by_label("Path").fill("made")
    await page.get_by_label("Destination namespace").fill("made")
    await page.get_by_label("Sync automatically when Git changes").uncheck()
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="made", exact=True)).to_be_visible()
    await expect(page.locator(".states")).to_contain_text("OutOfSync")
    made = await scene.call(scene.demo.laptop.application("made"))
    assert made["spec"]["source"]["path"] == "made"
    assert "automated" not in made["spec"]["syncPolicy"]


async def test_a_manifest_that_cannot_be_read_says_where(page: Page) -> None:
    await page.goto("/applications/new")
    await page.get_by_label("Manifest").fill("kind: Application\nspec:\n  a: b: c\n")
    await expect(page.get_by_text("Line 3:")).to_be_visible()
    await expect(page.get_by_role("button", name="Create")).to_be_disabled()


async def test_a_change_shows_its_difference_and_reaches_the_cluster(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("changed", automated=False)
    await page.goto(f"/applications/{work.id}/settings")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Service").fill("paint")
    difference = page.get_by_role("region", name="Difference")
    await expect(
        difference.locator("td.plus", has_text="plumbline.dev/service: paint")
    ).to_be_visible()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text(f"{work.name} saved")).to_be_visible()
    await expect(page.get_by_text("plumbline.dev/service=paint")).to_be_visible()
    changed = await scene.call(scene.demo.laptop.application(work.name))
    assert changed["metadata"]["labels"]["plumbline.dev/service"] == "paint"


async def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("contested", automated=False)
    await page.goto(f"/applications/{work.id}/edit")
    await page.get_by_label("Service").fill("mine")
    await scene.call(scene.demo.api.patch(_PATH + work.name, {"metadata": {"labels": {"a": "b"}}}))
    await scene.labelled(work, "a", "b")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("it was changed after you read it")
    await page.get_by_role("button", name="Reload").click()
    difference = page.get_by_role("region", name="Difference")
    await expect(difference.locator("td.minus", has_text="a: b")).to_be_visible()
    await expect(page.get_by_label("Service")).to_have_value("mine")


async def test_what_the_agent_refuses_is_said_in_its_words(page: Page, scene: BrowserScene) -> None:
    work = await scene.application("refused", automated=False)
    await page.goto(f"/applications/{work.id}/edit")
    text = page.get_by_label("Manifest")
    await expect(text).to_have_value(re.compile("project: default"))
    before = await text.input_value()
    await text.fill(before.replace("targetRevision: main", "targetRevision: [main]"))
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("targetRevision")


async def test_an_appproject_is_made_listed_and_deleted(page: Page) -> None:
    name = f"team-{uuid.uuid4().hex[:6]}"
    await page.goto("/appprojects/new")
    await page.get_by_role("combobox", name="Agent").select_option(label="laptop")
    text = page.get_by_label("Manifest")
    await text.fill((await text.input_value()).replace('name: ""', f"name: {name}"))
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_text(f"AppProject {name} created")).to_be_visible()
    await page.get_by_role("link", name=name).click()
    await expect(page.get_by_label("Manifest")).to_have_value(re.compile("sourceRepos"))
    await page.get_by_role("button", name="Delete…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_text(f"AppProject {name} deleted")).to_be_visible()
    await expect(page.get_by_role("link", name=name)).to_have_count(0)
