"""A closed sync window: shown as a calendar, and passed once with a reason."""

from __future__ import annotations

from playwright.async_api import Page

from playground.demo.repository import NAMESPACE
from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect

pytestmark = MARKS

PROJECTS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/appprojects"
PROJECT = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "freezer", "namespace": NAMESPACE},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        "syncWindows": [
            {
                "kind": "deny",
                "schedule": "* * * * *",
                "duration": "1h",
                "timeZone": "Europe/Berlin",
                "description": "Release freeze",
                "applications": ["*"],
            },
            {
                "kind": "allow",
                "schedule": "0 8 * * 1-5",
                "duration": "9h",
                "timeZone": "Europe/Berlin",
                "manualSync": True,
                "applications": ["*"],
            },
        ],
    },
}


async def test_a_closed_window_is_a_calendar_and_one_sync_passes_it(
    page: Page, scene: BrowserScene
) -> None:
    await scene.call(scene.demo.laptop.api.create(PROJECTS, PROJECT))
    work = await scene.application("frozen", automated=False, project="freezer")
    await page.goto(f"/applications/{work.id}/windows")
    strip = page.get_by_role("region", name="Sync windows")
    await expect(strip).to_contain_text("Automated syncs are closed")
    await expect(strip).to_contain_text("times in Europe/Berlin")
    lane = strip.get_by_role("list", name="Allow for 9 h").get_by_role("listitem")
    await expect(lane.first).to_have_attribute("title", "Active Mon 08:00 to Mon 17:00")

    await page.get_by_role("button", name="Sync…").click()
    dialog = page.get_by_role("dialog", name="Sync frozen")
    await expect(dialog).to_contain_text("Release freeze")
    await dialog.get_by_label("Override the closed window").check()
    order = dialog.get_by_role("button", name="Sync", exact=True)
    await expect(order).to_be_disabled()
    await dialog.get_by_label("Reason").fill("payments are down")
    await order.click()
    await scene.is_synced(work)
    await page.goto("/audit")
    await expect(page.get_by_text("payments are down").first).to_be_visible()

    (project,) = [
        it for it in (await scene.get("/appprojects"))["items"] if it["name"] == "freezer"
    ]
    await page.goto(f"/appprojects/{project['id']}")
    await expect(page.get_by_role("region", name="Sync windows")).to_contain_text("Release freeze")
