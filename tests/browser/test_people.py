"""Who may come in, and what somebody sees who may only look."""

from playwright.async_api import Page

from playground.demo.control_plane import ADMINISTRATOR
from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect, fill_login

pytestmark = MARKS


async def test_a_wrong_password_is_refused_in_words(stranger: Page) -> None:
    await fill_login(stranger, ADMINISTRATOR, "not the password")
    await expect(stranger.get_by_role("alert")).to_contain_text("password")
    await expect(stranger.get_by_label("Password")).to_have_value("")
    await expect(stranger).to_have_url("/login")


async def test_a_stranger_is_sent_to_the_login_and_comes_back_where_they_wanted(
    stranger: Page, scene: BrowserScene
) -> None:
    await stranger.goto("/agents")
    await expect(stranger).to_have_url("/login?to=/agents")
    await stranger.get_by_label("Name").fill(ADMINISTRATOR)
    await stranger.get_by_label("Password").fill(scene.demo.service.password)
    await stranger.get_by_role("button", name="Sign in").click()
    await expect(stranger).to_have_url("/agents")
    await expect(stranger.get_by_role("heading", name="laptop")).to_be_visible()


async def test_a_viewer_sees_an_application_and_may_not_sync_it(
    viewer: Page, scene: BrowserScene
) -> None:
    work = await scene.application("looked-at", automated=False)
    await viewer.goto(f"/applications/{work.id}")
    await expect(viewer.get_by_role("heading", name=work.name, exact=True)).to_be_visible()
    sync = viewer.get_by_role("button", name="Sync…")
    await expect(sync).to_be_disabled()
    await expect(sync).to_have_attribute(
        "title", "You do not have permission to sync applications (gitops_application_sync)"
    )
    status = await viewer.evaluate(
        """async (id) => {
            const { csrf } = await (await fetch('/api/v1/me')).json();
            const headers = { 'X-CSRF-Token': csrf, 'Content-Type': 'application/json' };
            const ask = { method: 'POST', headers, body: '{}' };
            return (await fetch(`/api/v1/applications/${id}/sync`, ask)).status;
        }""",
        work.id,
    )
    assert status == 403
