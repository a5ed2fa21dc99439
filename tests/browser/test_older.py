"""Lists that are longer than a page: what is older is loaded when it is asked for.

The page's own question is made small on its way, so that a dozen facts are several pages; nothing
live comes, because more news than a page at once rightly begins the list anew.
"""

from playwright.async_api import Page, Route

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect

pytestmark = MARKS


async def test_older_facts_of_the_timeline_are_loaded_on_demand(
    page: Page, scene: BrowserScene
) -> None:
    await scene.application("older", automated=True)
    await page.route("**/api/v1/events*", _nothing_live)
    await page.route("**/api/v1/timeline?*", _three_at_once)
    await page.goto("/timeline")
    facts = page.get_by_role("region", name="Facts in words").get_by_role("listitem")
    await expect(facts).to_have_count(3)
    await expect(page.get_by_text("older ones are not loaded")).to_be_visible()
    await page.get_by_role("button", name="Load older").last.click()
    await expect(facts).to_have_count(6)


async def test_older_entries_of_the_audit_are_loaded_on_demand(page: Page) -> None:
    await page.route("**/api/v1/events*", _nothing_live)
    await page.route("**/api/v1/audit?*", _three_at_once)
    await page.goto("/audit")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(3)
    await page.get_by_role("button", name="Load older").click()
    await expect(rows).to_have_count(6)


async def _nothing_live(route: Route) -> None:
    await route.abort()


async def _three_at_once(route: Route) -> None:
    url = route.request.url
    for limit in ("limit=500", "limit=100"):
        url = url.replace(limit, "limit=3")
    await route.continue_(url=url)
