"""What people come for: a push arrives, a sync is requested, a difference is read, a step back."""

from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene, SceneWork
from tests.browser.chromium import expect
from tests.support import eventually

pytestmark = MARKS

SHORT = 7


async def test_a_push_is_seen_arriving_without_a_reload(page: Page, scene: BrowserScene) -> None:
    work = await scene.application("pushed", automated=True)
    await page.goto(f"/applications/{work.id}/pushes")
    await expect(page.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
    await page.evaluate("window.neverReloaded = true")
    commit = scene.push(work.name, "green")
    arrived = page.get_by_role("region", name=f"Push {commit[:SHORT]}")
    await expect(arrived.locator(".outcome")).to_contain_text("Synced")
    await expect(arrived.locator(".hops li").first).to_be_visible()
    await expect(arrived.locator(".hops li").nth(2)).to_be_visible()
    await expect(page.locator(".why code")).to_contain_text(commit[:SHORT])
    assert await page.evaluate("window.neverReloaded")
    assert await scene.colour(work) == "green"


async def test_a_sync_shows_what_it_will_do_and_then_does_it(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("asked", automated=False)
    await page.goto(f"/applications/{work.id}")
    await expect(page.locator(".states")).to_contain_text("OutOfSync")
    tree = page.get_by_role("group", name="Tree of objects")
    for box in ("Application asked", "ConfigMap asked"):
        await expect(tree.get_by_title(box)).to_be_in_viewport(ratio=0.9)  # not cut off by anything
    await page.get_by_role("button", name="Sync…").click()
    dialog = page.get_by_role("dialog", name=f"Sync {work.name}")
    await expect(dialog).to_contain_text("ConfigMap asked")
    await dialog.get_by_role("button", name="Sync", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text(f"Sync of {work.name} requested")).to_be_visible()
    await expect(page.locator(".states")).to_contain_text("Synced")
    await eventually(lambda: _all_ended(scene), what="every task ended")
    assert await scene.colour(work) == "blue"


async def test_the_diff_shows_a_hand_edit_beside_what_git_says(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("edited", automated=False)
    await scene.synced(work)
    await page.goto(f"/applications/{work.id}/diff")
    await expect(page.get_by_text("No differences")).to_be_visible()
    edit = {"metadata": {"labels": {"colour": "by-hand"}}}
    await scene.call(scene.demo.api.patch(work.object, edit))
    difference = page.get_by_role("region", name="Difference")
    await expect(difference.locator("td.minus", has_text="colour: by-hand")).to_be_visible()
    await expect(difference.locator("td.plus", has_text="colour: blue")).to_be_visible()
    await expect(page.locator(".states")).to_contain_text("OutOfSync")


async def test_the_history_leads_back_to_what_ran_before(page: Page, scene: BrowserScene) -> None:
    work = await scene.application("back", automated=False)
    await scene.synced(work)
    scene.push(work.name, "red")
    await page.goto(f"/applications/{work.id}/history")
    await expect(page.locator(".states")).to_contain_text("OutOfSync")
    await scene.synced(work)
    assert await scene.colour(work) == "red"
    await page.get_by_role("button", name="Roll back…").first.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("What this will do")
    await dialog.get_by_role("button", name="Roll back", exact=True).click()
    await expect(dialog).to_be_hidden()
    await eventually(lambda: _is(scene, work, "blue"), what="the older colour is back")
    await expect(page.get_by_role("button", name="Roll back…")).to_have_count(2)
    await page.get_by_role("button", name="Roll back…").last.click()
    await expect(dialog).to_contain_text("Nothing: the cluster already matches.")
    await expect(dialog.get_by_role("button", name="Roll back", exact=True)).to_be_disabled()


async def test_a_rollback_switches_auto_sync_off_first_and_stays(
    page: Page, scene: BrowserScene
) -> None:
    work = await scene.application("undone", automated=True)
    await eventually(lambda: _is(scene, work, "blue"), what="it was delivered")
    scene.push(work.name, "red")
    await eventually(lambda: _is(scene, work, "red"), what="the push arrived")
    await page.goto(f"/applications/{work.id}/history")
    await page.get_by_role("button", name="Roll back…").first.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Auto-sync is on")
    await expect(dialog).to_contain_text("1 object changed")
    await dialog.get_by_role("button", name="Roll back", exact=True).click()
    await expect(dialog).to_be_hidden()
    await eventually(lambda: _is(scene, work, "blue"), what="the older colour is back")
    await expect(page.locator(".states")).to_contain_text("auto-sync off")
    await expect(page.get_by_text(f"Rollback of {work.name}").last).to_contain_text("done")
    assert await scene.colour(work) == "blue"


async def _is(scene: BrowserScene, work: SceneWork, colour: str) -> bool:
    return await scene.colour(work) == colour


async def _all_ended(scene: BrowserScene) -> bool:
    tasks = (await scene.get("/tasks?limit=100"))["items"]
    return bool(tasks) and all(
        one["phase"] not in ("queued", "offered", "running") for one in tasks
    )
