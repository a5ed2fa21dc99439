"""Names and messages that would like to be more than text: drawn as they are, and never run."""

import uuid

from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect
from tests.browser.page_review import PAGES

pytestmark = MARKS

RUNS = "window.hacked=1"
HTML = f'<img src=x onerror="{RUNS}">'
SQL = "'; DROP TABLE agents; --"


async def test_what_people_and_commits_say_is_drawn_and_never_run(
    page: Page, scene: BrowserScene
) -> None:
    mark = uuid.uuid4().hex[:6]
    work = await scene.application("hostile", automated=True)
    commit = scene.push(work.name, "black", message=f"{HTML} <script>{RUNS}</script> {SQL}")
    person = {"name": f"{SQL} {mark}", "displayName": HTML, "kind": "service"}
    await scene.post("/principals", person)
    agent = {"name": f"hostile-{mark}", "environment": f'"><svg onload="{RUNS}">', "region": HTML}
    await scene.post("/agents", agent)
    await scene.post("/filters", {"name": f"{HTML} {mark}", "query": f"search={SQL}"})
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for path in PAGES:
        await page.goto(path.format(id=work.id, object=f"/ConfigMap/{work.name}/{work.name}"))
        await expect(page.locator("main h1, main h2").first).to_be_attached()
        await expect(page.locator(".skeleton")).to_have_count(0)
        assert await page.evaluate("window.hacked") is None, path
    await page.goto(f"/applications/{work.id}/pushes")
    push = page.get_by_role("region", name=f"Push {commit[:7]}")
    await expect(push).to_contain_text(HTML)
    await page.goto("/settings/members")
    await expect(page.get_by_text(HTML).first).to_be_visible()
    await page.goto(f"/applications?search={HTML}")
    await expect(page.locator("main h1, main h2").first).to_be_attached()
    assert await page.evaluate("window.hacked") is None
    assert dialogs == []
