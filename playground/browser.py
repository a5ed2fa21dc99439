"""Chromium as Playwright starts it, and what a reader of the dashboard does first and waits for.

Used by the pictures of the README, the review of pages, the browser tests and the benchmark of the
dashboard. Those of them that measure or check something add what they look at.
"""

from __future__ import annotations

import shutil

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
SIGNED_IN = "nav[aria-label=Pages]"
"""What every page has for somebody who has signed in, and no other has."""
_DRAWN = """async () => {
    await document.fonts.ready;
    const ends = document.getAnimations().filter((one) => one.effect?.getTiming().iterations === 1);
    await Promise.allSettled(ends.map((one) => one.finished));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""An endless animation, such as that of a spinner, is not waited for."""


class BrowserMissingError(Exception):
    """There is no Chromium on PATH; the text says how one is installed."""


def chromium_program() -> str:
    """Return the path of Chromium. Raises BrowserMissingError."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise BrowserMissingError("no chromium on PATH: run `make browser`")
    return program


def sign_in(page: Page, name: str, password: str) -> None:
    """Fill in the form of the login page, which is open, and wait for the dashboard."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector(SIGNED_IN, state="attached")


def is_settled(page: Page, *, within: float = 5.0) -> bool:
    """Wait until the page's first data are drawn; False if some had not come after `within` s."""
    page.wait_for_selector("main h1, main h2", state="attached")
    try:
        page.wait_for_selector(".skeleton", state="detached", timeout=within * 1000)
    except PlaywrightTimeoutError:
        return False
    page.evaluate(_DRAWN)
    return True
