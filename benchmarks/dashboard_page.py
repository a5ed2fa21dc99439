"""The browser of `dashboard`: loads, types, listens and pans, and says how long each took.

Times come from the page's own clock: rows are seen by a MutationObserver that is there before the
page's scripts are, frames are the distances between animation frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from playwright.async_api import Browser, BrowserContext, Page, Route, async_playwright

from playground.browser import CHROMIUM_FLAGS, chromium_program

_ROW, _BOX = "tbody tr .name", ".canvas .box"
_LIVE_SECONDS, _PAN_STEPS = 5.0, 120
_LONG = 50.0
_SEEN = f"""
    new MutationObserver((_, observer) => {{
        if (!document.querySelector('{_ROW}')) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.firstRows = performance.now())));
    }}).observe(document, {{ childList: true, subtree: true }});
    window.countFrames = () => {{
        const times = []; let on = true;
        const step = (now) => {{ times.push(now); on && requestAnimationFrame(step); }};
        requestAnimationFrame(step);
        return () => {{ on = false; return times.slice(1).map((now, i) => now - times[i]); }};
    }};
"""
_COUNT = "() => { window.stopCounting = window.countFrames(); }"
"""Not an expression that is a function: that would be called at once."""
_TYPED = """async (total) => {
    const box = document.querySelector('input[type=search]');
    const said = () => document.querySelector('.page-head [role=status]').textContent;
    const before = said(); const began = performance.now();
    box.value = 'app-7'; box.dispatchEvent(new Event('input', { bubbles: true }));
    while (said() === before) await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""
_UNFOLD = f"""async (objects) => {{
    const began = performance.now();
    document.querySelectorAll('.canvas .box.group').forEach((group) => group.click());
    const drawn = () => document.querySelectorAll('{_BOX}').length;
    while (drawn() <= objects) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
}}"""


class Frames(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds from one to the next; `long_share`: percent of them over 50 ms."""

    p50: float
    p99: float
    long_share: float


@dataclass(slots=True)
class Looker:
    browser: Browser
    url: str
    token: str

    async def first_rows(self) -> float:
        """With an empty cache and a signed-in reader: from asking for the address to drawn rows."""
        async with self._page() as page:
            await page.goto("/applications")
            await page.wait_for_function("window.firstRows")
            return float(await page.evaluate("window.firstRows"))

    async def typing(self, total: int) -> float:
        async with self._page() as page:
            await _loaded(page, total)
            return float(await page.evaluate(_TYPED, total))

    async def frames_while_live(self, total: int) -> Frames:
        async with self._page() as page:
            await _loaded(page, total)
            await page.evaluate(_COUNT)
            await asyncio.sleep(_LIVE_SECONDS)
            return frames_of(await page.evaluate("window.stopCounting()"))

    async def pan_tree(self, objects: int) -> tuple[float, Frames]:
        async with self._page() as page:
            await page.route("**/tree", _tree_of(objects))
            await page.goto("/applications")
            await page.click(_ROW)
            await page.wait_for_selector(".canvas .box.group")
            drawn = float(await page.evaluate(_UNFOLD, objects))
            return drawn, await _pan(page)

    @asynccontextmanager
    async def _page(self) -> AsyncIterator[Page]:
        context = await self._context()
        yield await context.new_page()
        await context.close()

    async def _context(self) -> BrowserContext:
        context = await self.browser.new_context(
            base_url=self.url,
            viewport={"width": 1440, "height": 900},
            bypass_csp=True,
            extra_http_headers={"Authorization": f"Bearer {self.token}"},
        )
        await context.add_init_script(_SEEN)
        return context


@asynccontextmanager
async def open_looker(url: str, token: str) -> AsyncIterator[Looker]:
    program = chromium_program()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*CHROMIUM_FLAGS])
        yield Looker(browser=browser, url=url, token=token)
        await browser.close()


def frames_of(taken: Sequence[float]) -> Frames:
    found = sorted(taken) or [0.0]
    return Frames(
        p50=found[len(found) // 2],
        p99=found[min(len(found) - 1, len(found) * 99 // 100)],
        long_share=100 * sum(one > _LONG for one in found) / len(found),
    )


async def _loaded(page: Page, total: int) -> None:
    await page.goto("/applications")
    await page.get_by_text(f"{total:,} applications").wait_for()


async def _pan(page: Page) -> Frames:
    """Drags the drawing to and fro, a step a frame."""
    box = await page.locator(".view").bounding_box()
    assert box is not None
    x, y = box["x"] + 5, box["y"] + box["height"] - 5
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.evaluate(_COUNT)
    for step in range(_PAN_STEPS):
        side = step % 60 if step % 60 < 30 else 60 - step % 60
        await page.mouse.move(x + 8 * side, y - 12 * side)
    frames = frames_of(await page.evaluate("window.stopCounting()"))
    await page.mouse.up()
    return frames


def _tree_of(objects: int) -> Callable[[Route], Awaitable[None]]:
    """Answers for the agent: Deployments with what they own, so many objects in all."""

    async def answer(route: Route) -> None:
        await route.fulfill(json={"nodes": [_node(n) for n in range(objects)]})

    return answer


def _node(number: int) -> dict[str, Any]:
    owner = number - number % 5
    kind = "Deployment" if number == owner else "Pod"
    return {
        "group": "apps" if kind == "Deployment" else "",
        "version": "v1",
        "kind": kind,
        "namespace": "shop",
        "name": f"part-{number}",
        "health": "Healthy",
        "healthMessage": "",
        "sync": "Synced" if kind == "Deployment" else "",
        "parents": [] if kind == "Deployment" else [f"apps/Deployment/shop/part-{owner}"],
        "images": [],
        "createdAt": None,
        "info": [],
    }
