"""Objects that an API server takes unwillingly: in a namespace that is going, and at its limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.support import eventually

pytestmark = pytest.mark.timeout(300)

RETRYING = {
    "automated": {"prune": True, "selfHeal": True},
    "retry": {"limit": 1000, "backoff": {"duration": "1s", "factor": 1, "maxDuration": "1s"}},
}
ONCE = {"automated": {"selfHeal": True}, "retry": {"limit": 0}}


async def test_a_namespace_that_is_stuck_in_terminating_is_named_and_served_when_it_is_back(
    agent: AgentFixture,
) -> None:
    space = f"/api/v1/namespaces/{agent.destination}"
    stuck = {"metadata": {"name": "stuck", "finalizers": ["example.org/nobody-removes-it"]}}
    await agent.api.create(f"{space}/configmaps", stuck)
    await agent.api.delete(space)

    async def is_going() -> bool:
        return bool((await agent.api.get(space))["status"]["phase"] == "Terminating")

    await eventually(is_going, what="the namespace is Terminating")
    agent.commit({"web/web.yaml": config_map("web", a="1")})
    await agent.apply_app("web", "web", syncPolicy=RETRYING)
    refused = await agent.until(lambda app: "being terminated" in message(app), app="web")
    assert agent.destination in message(refused)
    assert "no right" not in message(refused)

    await agent.api.patch(f"{space}/configmaps/stuck", {"metadata": {"finalizers": None}})
    await eventually(lambda: is_gone(agent, space), what="the namespace is gone")
    await agent.api.create_namespace(agent.destination)
    await agent.until_synced("web")


async def test_an_object_of_the_largest_size_is_synced_and_healed_and_a_larger_one_is_named(
    agent: AgentFixture,
) -> None:
    """1.4 MB as JSON: a ConfigMap has 1 MiB of data at most, and 256 KiB of annotations."""
    agent.commit(
        {
            "large/large.yaml": large("large", 1_040_000),
            "beyond/beyond.yaml": large("beyond", 1_100_000),
            "web/web.yaml": config_map("web", a="1"),
        }
    )
    for app in ("large", "beyond", "web"):
        await agent.apply_app(app, app, syncPolicy=ONCE)
    await agent.until_synced("web")
    await agent.until_synced("large")
    refused = await agent.until(lambda app: "Too long" in message(app), app="beyond")
    assert "ConfigMap beyond" in message(refused)
    assert len(message(refused)) < 10_000

    path = f"/api/v1/namespaces/{agent.destination}/configmaps/large"
    await agent.api.patch(path, {"data": {"text": "by hand"}})

    async def healed() -> bool:
        return len((await agent.api.get(path))["data"]["text"]) == 1_040_000

    await eventually(healed, what="the large object is healed")


def large(name: str, size: int) -> str:
    """A ConfigMap whose text has a tenth of quotes, which JSON escapes."""
    text = ("x" * 9 + '"') * (size // 10)
    note = "n" * 250_000
    metadata = f"metadata:\n  name: {name}\n  annotations: {{example.org/note: {note}}}\n"
    return f"apiVersion: v1\nkind: ConfigMap\n{metadata}data:\n  text: '{text}'\n"


def message(app: dict[str, Any]) -> str:
    operation = app.get("status", {}).get("operationState", {})
    return "\n".join([operation.get("message", ""), *conditions(app).values()])


async def is_gone(agent: AgentFixture, space: str) -> bool:
    return not await agent.api.exists(space)
