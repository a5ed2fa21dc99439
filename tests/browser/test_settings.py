"""What is set up in the browser: sealed credentials, filters with a name, groups."""

import base64
import uuid
from typing import Any

from playwright.async_api import Page

from tests.browser.browser_scene import MARKS, BrowserScene
from tests.browser.chromium import expect
from tests.support import eventually

pytestmark = MARKS

_SECRETS = (
    "/api/v1/namespaces/argocd/secrets?labelSelector=argocd.argoproj.io/secret-type=repository"
)


async def test_a_sealed_credential_reaches_the_agents_secret_with_its_address(
    page: Page, scene: BrowserScene
) -> None:
    url = f"https://git.example/{uuid.uuid4().hex[:8]}.git"
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.post_data or ""))
    await page.goto("/repositories")
    await page.get_by_role("button", name="Add a repository").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox", name="Agent").select_option(label="laptop")
    await dialog.get_by_label("URL").fill(url)
    await dialog.get_by_label("User name and password or token, encrypted here").check()
    await dialog.get_by_label("User name", exact=True).fill("robot")
    await dialog.get_by_label("Password or token", exact=True).fill("pass-in-clear")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_role("row").filter(has_text=url)).to_be_visible()
    kept = await _secret(scene, url)
    assert (kept["username"], kept["password"]) == ("robot", "pass-in-clear")
    assert not any("pass-in-clear" in body for body in sent)


async def test_a_cluster_is_added_with_its_token_and_authority(
    page: Page, scene: BrowserScene
) -> None:
    server = f"https://cluster-{uuid.uuid4().hex[:8]}.example:6443"
    await page.goto("/clusters")
    await page.get_by_role("button", name="Add a cluster").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox", name="Agent").select_option(label="laptop")
    await dialog.get_by_label("API server").fill(server)
    await dialog.get_by_label("Bearer token, encrypted here").check()
    await dialog.get_by_label("Token", exact=True).fill("token-in-clear")
    await dialog.get_by_label("Certificate authority (PEM)").fill("-----BEGIN CERTIFICATE-----")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text(f"Addition of cluster {server} done")).to_be_visible()
    row = page.get_by_role("row").filter(has_text=server)
    await expect(row).to_be_visible()
    await row.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row).to_be_hidden()


async def test_filters_are_saved_under_a_name_and_found_again(
    page: Page, scene: BrowserScene
) -> None:
    name = f"laptop {uuid.uuid4().hex[:4]}"
    await page.goto("/applications?agent=laptop&sort=name")
    await page.get_by_text("Saved filters", exact=True).click()
    await page.get_by_role("button", name="Save these filters…").click()
    await page.get_by_role("dialog").get_by_label("Name").fill(name)
    await page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("summary")).to_contain_text(name)
    await page.goto("/applications")
    await page.get_by_text("Saved filters", exact=True).click()
    await page.get_by_role("link", name=name).click()
    await expect(page).to_have_url("/applications?agent=laptop&sort=name")
    await page.locator("summary").click()
    await page.get_by_role("button", name=f"Delete {name}").click()
    await expect(page.get_by_text(f"{name} deleted")).to_be_visible()
    names = [one["name"] for one in (await scene.get("/filters"))["items"]]
    assert name not in names


async def test_a_group_is_made_changed_and_a_role_given_for_it_alone(
    page: Page, scene: BrowserScene
) -> None:
    name = f"team-{uuid.uuid4().hex[:6]}"
    body = {"name": name, "displayName": name, "password": uuid.uuid4().hex}
    person = await scene.post("/principals", body)
    await page.goto("/settings/groups")
    await page.get_by_role("button", name="Add a group").click()
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Labels").fill("team=core")
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("button", name=f"Edit {name}").click()
    await page.get_by_label("Labels").fill("team=core, tier=web")
    await page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("tier=web")
    await page.goto("/settings/members")
    await page.get_by_role("button", name=f"Grant role… to {name}").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Role").select_option(label="deployer")
    await dialog.get_by_label("Applications").select_option(
        label=f"Group {name}: team=core, tier=web"
    )
    await dialog.get_by_role("button", name="Grant role", exact=True).click()
    row = page.get_by_role("row").filter(has_text=name)
    await expect(row).to_contain_text(f"deployer everywhere, group {name} only")
    bindings = (await scene.get(f"/bindings?principal={person['id']}"))["items"]
    assert bindings[0]["resourceGroup"]


async def test_what_is_known_of_an_agent_can_be_rebuilt(page: Page, scene: BrowserScene) -> None:
    work = await scene.application("rebuilt", automated=False)
    await page.goto("/agents")
    await page.get_by_role("button", name="Rebuild the data of laptop").click()
    dialog = page.get_by_role("dialog", name="Rebuild the data of laptop?")
    await dialog.get_by_role("button", name="Rebuild", exact=True).click()
    await expect(page.get_by_text("The data of laptop is being rebuilt")).to_be_visible()

    async def back() -> bool:
        found = await scene.call(scene.demo.service.application("laptop", work.name))
        return found is not None and found["sync"] == "OutOfSync"

    await eventually(back, what="the agent told it again")


async def test_a_service_shows_the_pods_that_run_of_it(page: Page, scene: BrowserScene) -> None:
    work = await scene.application("served", automated=True, service="served")
    await page.goto("/services")
    cell = page.get_by_role("row").filter(has_text=work.name).get_by_role("link", name="ready")
    await expect(cell).to_contain_text("1/1 ready")
    await expect(cell).to_contain_text("web:1.0")
    await cell.click()
    pods = page.get_by_role("list", name="Pods")
    await expect(pods.get_by_role("listitem")).to_contain_text(f"{work.name} on laptop")


async def _secret(scene: BrowserScene, url: str) -> dict[str, str]:
    found: list[dict[str, str]] = []

    async def there() -> bool:
        listed: dict[str, Any] = await scene.call(scene.demo.api.get(_SECRETS))
        found[:] = [_clear(one["data"]) for one in listed["items"]]
        return any(one.get("url") == url for one in found)

    await eventually(there, what="the Secret is in the agent's cluster")
    return next(one for one in found if one.get("url") == url)


def _clear(data: dict[str, str]) -> dict[str, str]:
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


async def test_the_actions_of_a_role_are_edited(page: Page, scene: BrowserScene) -> None:
    name = f"restarter-{uuid.uuid4().hex[:4]}"
    await page.goto("/settings/roles")
    await page.get_by_role("button", name="Add a role").click()
    added = page.get_by_role("dialog", name="Add a role")
    await added.get_by_label("Name", exact=True).fill(name)
    await added.get_by_label("gitops_application_view").check()
    await added.get_by_label("Resource actions").fill("restart")
    await expect(added).to_contain_text("restart is no pattern")
    await added.get_by_label("Resource actions").fill("action/apps/Deployment/restart")
    await added.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row").filter(has_text=name)
    await expect(row).to_contain_text("action/apps/Deployment/restart")
    await row.get_by_role("button", name="Edit…").click()
    edited = page.get_by_role("dialog", name=f"Edit the role {name}")
    await edited.get_by_label("Resource actions").fill("action/*/*/restart")
    await edited.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("action/*/*/restart")
    (role,) = [it for it in (await scene.get("/roles"))["items"] if it["name"] == name]
    assert (role["actions"], role["permissions"]) == (
        ["action/*/*/restart"],
        ["gitops_application_view"],
    )
