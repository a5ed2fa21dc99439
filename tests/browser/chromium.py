"""Debian's Chromium, driven by Playwright: how it is started, and how somebody signs in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    StorageState,
    async_playwright,
    expect,
)

from playground.browser import CHROMIUM_FLAGS, chromium_program

__all__ = ["chromium", "context_of", "expect", "fill_login", "login_state"]

WAIT_MS = 90_000
"""Generous: it ends a test that would hang, and says nothing about how fast a page is."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    program = chromium_program()
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*CHROMIUM_FLAGS])
        yield browser
        await browser.close()


@asynccontextmanager
async def context_of(
    browser: Browser, url: str, state: StorageState | None = None
) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(
        base_url=url,
        storage_state=state,
        viewport={"width": 1440, "height": 900},
        reduced_motion="reduce",
    )
    context.set_default_timeout(WAIT_MS)
    yield context
    await context.close()


async def fill_login(page: Page, name: str, password: str) -> None:
    await page.goto("/login")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def login_state(browser: Browser, url: str, name: str, password: str) -> StorageState:
    """Through the form, once for all tests: their contexts start with its cookie."""
    async with context_of(browser, url) as context:
        page = await context.new_page()
        await fill_login(page, name, password)
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        return await context.storage_state()
