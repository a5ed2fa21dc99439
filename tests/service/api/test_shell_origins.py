"""Who may open the WebSocket of a shell: no page of another site, whatever its browser adds."""

from __future__ import annotations

import pytest

from tests.service.api.api_fixture import PASSWORD, ApiFixture

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


async def cookie(api: ApiFixture) -> str:
    who = await api.person("administrator")
    answered = await api.call("POST", "/login", {"name": who.name, "password": PASSWORD})
    api.client.cookie_jar.clear()
    return answered.headers["Set-Cookie"].partition(";")[0]


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", "http://localhost:1"])
async def test_a_cookie_opens_no_shell_for_a_page_of_another_site(
    api: ApiFixture, origin: str
) -> None:
    application = await api.application(await api.agent("prod", connected=True), "shop")
    headers = {**UPGRADE, "Cookie": await cookie(api), **({"Origin": origin} if origin else {})}
    path = f"/applications/{application}/exec?pod=web&namespace=shop"
    refused = await api.call("GET", path, None, headers)
    assert (refused.status, refused.body["rule"]) == (403, "access")
    assert "Origin" in refused.body["detail"]
    denied = [it for it in await api.rows("audit") if it.decision == "denied"]
    assert [it.action for it in denied] == ["request.origin"]
