"""Each page in both themes, wide and narrow: accessible, without an error, talking to nobody else.

Leaves a picture of each for people to look at; where, is printed.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect
from tests.browser.page_review import AXE, PAGES, file_name

pytestmark = MARKS

WIDTHS = (1440, 1024, 390)
_FIND = """async () => JSON.stringify(
    (await axe.run(document, { resultTypes: ['violations'] })).violations
        .filter((rule) => ['serious', 'critical'].includes(rule.impact))
        .map((rule) => [rule.id, rule.nodes.slice(0, 3).map((node) => node.target.join(' '))]))"""

_STILL = """async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const ends = (one) => one.effect.getComputedTiming().endTime !== Infinity;
    await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
}"""


@dataclass(slots=True)
class Watch:
    """What a page may not do, gathered while it is looked at."""

    origin: str
    found: list[str] = field(default_factory=list)

    def on(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.found.append(f"{page.url}: {error}"))
        page.on("request", lambda asked: self._asked(asked.url))
        page.on(
            "console",
            lambda line: (
                self.found.append(f"{page.url}: {line.text}") if line.type == "error" else None
            ),
        )

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin + "/", "data:", "blob:")):
            self.found.append(f"asks {url}")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    yield folder
    print(f"\npictures of every page: {folder}")


async def test_every_page_is_accessible_quiet_and_asks_only_its_own_service(
    page: Page, scene: BrowserScene, pictures: Path
) -> None:
    work = await scene.application("shown", automated=True)
    await page.context.add_init_script(path=AXE)
    watch = Watch(scene.url)
    watch.on(page)
    for path in PAGES:
        await page.goto(path.format(id=work.id, object=f"/ConfigMap/{work.name}/{work.name}"))
        await expect(page.locator("main h1, main h2").first).to_be_attached()
        await expect(page.locator(".skeleton")).to_have_count(0)
        watch.found += await _faults(page, path, pictures)
    assert watch.found == []


async def _found(page: Page) -> list[object]:
    await page.evaluate(_STILL)
    found: list[object] = json.loads(await page.evaluate(_FIND))
    return found


async def _faults(page: Page, path: str, pictures: Path) -> list[str]:
    faults = []
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            faults += [f"{path} {width} {theme}: {rule}" for rule in await _found(page)]
            await page.screenshot(path=pictures / file_name(path, width, theme))
    return faults
