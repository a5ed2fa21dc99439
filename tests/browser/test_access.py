"""Passwords, sessions and the last administrator, in the browser on a service of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from service.lifecycle import Service, open_service
from tests.browser.chromium import chromium, context_of, expect, fill_login
from tests.service.service_fixture import settings

NEW = re.compile("^New password")
FIRST, SECOND = "correct horse battery", "a quite different battery"


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    file = tmp_path / "password"
    file.write_text(FIRST)
    async with open_service(settings(database_url, admin_password_file=file)) as opened:
        yield opened


@pytest.fixture
async def page(service: Service) -> AsyncIterator[Page]:
    """Of the first administrator."""
    async with chromium() as browser, context_of(browser, service.url) as context:
        opened = await context.new_page()
        await fill_login(opened, "admin", FIRST)
        await expect(opened.get_by_role("navigation", name="Pages")).to_be_visible()
        yield opened


async def test_the_own_password_is_changed_and_other_sessions_are_ended(page: Page) -> None:
    await page.get_by_role("link", name="Profile").click()
    await expect(page.get_by_text("this browser")).to_be_visible()
    await page.get_by_role("button", name="Change password…").click()
    dialog = page.get_by_role("dialog", name="Change your password")
    await dialog.get_by_label("Current password").fill("guessed")
    await dialog.get_by_label(NEW).fill(SECOND)
    await dialog.get_by_label("Repeat the new password").fill(SECOND + "x")
    await expect(dialog.get_by_text("The passwords do not match.")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Change password")).to_be_disabled()
    await dialog.get_by_label("Repeat the new password").fill(SECOND)
    await dialog.get_by_role("button", name="Change password").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("the current password is wrong")
    await dialog.get_by_label("Current password").fill(FIRST)
    await dialog.get_by_role("button", name="Change password").click()
    await expect(page.get_by_text("Your password was changed")).to_be_visible()
    await expect(dialog).to_be_hidden()
    await page.get_by_role("button", name="Sign out").click()
    await fill_login(page, "admin", SECOND)
    await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


async def test_an_administrator_sets_the_password_of_another(page: Page) -> None:
    await page.goto("/settings/members")
    await page.get_by_role("button", name="Add a member").click()
    await page.get_by_role("dialog").get_by_label("Name", exact=True).fill("mira")
    await page.get_by_role("dialog").get_by_label("Initial password").fill(FIRST)
    await page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("button", name="Set a password for mira").click()
    dialog = page.get_by_role("dialog", name="Set a password for mira")
    await dialog.get_by_label(NEW).fill(SECOND)
    await dialog.get_by_label("Repeat the new password").fill(SECOND)
    await dialog.get_by_role("button", name="Set password").click()
    await expect(page.get_by_text("Password of mira set")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await fill_login(page, "mira", SECOND)
    await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


async def test_the_last_administrator_is_told_why_the_role_stays(page: Page) -> None:
    await page.goto("/settings/members")
    button = page.get_by_role("button", name="Revoke role administrator everywhere")
    await button.click()
    await page.get_by_role("button", name="Really Revoke role").click()
    await expect(page.get_by_text("this is the last administrator")).to_be_visible()
    await expect(page.get_by_text("Make another person administrator")).to_be_visible()
    await expect(page.get_by_text("administrator everywhere")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("administrator everywhere")).to_be_visible()
