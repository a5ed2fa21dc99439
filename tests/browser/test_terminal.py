"""A shell in a container: offered to who may have one, used, and over with its view."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page

from playground.demo.repository import NAMESPACE
from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect
from tests.support import eventually

pytestmark = MARKS

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


async def permit(scene: BrowserScene) -> None:
    """What the owner of the cluster does for it, and the administrator of Argo CD's settings."""
    api = scene.demo.api
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm"},
        "data": {"exec.enabled": "true"},
    }
    await scene.call(api.apply(f"{CONFIG_MAPS}/argocd-cm", settings))
    limits = {"data": {"exec": "true"}}
    await scene.call(api.patch(f"{CONFIG_MAPS}/gitops-agent-limits", limits))


async def test_a_terminal_runs_a_shell_for_who_may_have_one(
    page: Page, viewer: Page, scene: BrowserScene
) -> None:
    await permit(scene)
    work = await scene.application("entered", automated=True)

    async def pod() -> Any:
        listed = await scene.call(scene.demo.api.get("/api/v1/namespaces/entered/pods"))
        return next((it for it in listed["items"] if it["status"]["phase"] == "Running"), None)

    name = (await eventually(pod))["metadata"]["name"]
    address = f"/applications/{work.id}?object=/Pod/entered/{name}"

    await page.goto(address)
    drawer = page.get_by_role("dialog", name=f"Pod {name}")
    await drawer.get_by_role("button", name="Terminal").click()
    await expect(drawer.get_by_text("The audit records who opened it")).to_be_visible()
    await drawer.get_by_role("textbox", name="Terminal input").focus()
    shown = drawer.locator(".xterm-accessibility")
    await expect(shown).to_contain_text(re.compile(r"[$#]"))
    await page.keyboard.type("echo it''works\n")
    await expect(shown).to_contain_text("itworks")
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_visible()
    await page.keyboard.type("\nexit 5\n")
    await expect(drawer.get_by_text("The shell ended with exit code 5.")).to_be_visible()

    await viewer.goto(address)
    looked = viewer.get_by_role("dialog", name=f"Pod {name}")
    await expect(looked.get_by_role("button", name="Logs")).to_be_visible()
    await expect(looked.get_by_role("button", name="Terminal")).to_have_count(0)
