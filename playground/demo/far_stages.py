"""The far end, stage by stage: what the service shows of both sites, and what it asks of them."""

from __future__ import annotations

from typing import Any

import aiohttp

from playground.demo.house import House, create_remote_application
from playground.demo.repository import guestbook_deployment
from playground.demo.sight import sight
from playground.demo.stage import Stage


async def _agents_connected(house: House) -> str:
    async def seen() -> str:
        agents = (await house.far_end.get("/agents"))["items"]
        told = {str(one["name"]): str(one["status"]) for one in agents}
        here = told == {"laptop": "connected", "remote": "connected"}
        return ", ".join(f"{name} {status}" for name, status in told.items()) if here else ""

    return await sight(house, seen)


async def _second_environment(house: House) -> str:
    await create_remote_application(house)

    async def seen() -> str:
        found = await house.far_end.application("remote", "shop")
        good = found and (found["sync"], found["health"]) == ("Synced", "Healthy")
        return f"remote/shop in {found['environment']}: Synced, Healthy" if found and good else ""

    return await sight(house, seen)


async def _push_in_the_service(house: House) -> str:
    made = house.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.3")}, message="guestbook 1.3"
    )
    return await sight(house, lambda: _shown(house, made))


async def _sync_from_the_service(house: House) -> str:
    found = await house.far_end.application("laptop", "guestbook")
    answer = await house.far_end.post(f"/applications/{(found or {})['id']}/sync")
    task = answer["task"]["id"]

    async def seen() -> str:
        told = await house.far_end.get(f"/tasks/{task}")
        done = told["phase"] == "succeeded"
        return f"task {told['kind']} {told['phase']} for {told['subject']}" if done else ""

    return await sight(house, seen)


async def _service_away(house: House) -> str:
    server = house.far_end.server
    server.kill()
    made = house.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.4")}, message="guestbook 1.4"
    )

    async def synced() -> str:
        app = await house.application("guestbook")
        return "synced" if app["status"]["sync"].get("revision") == made else ""

    await sight(house, synced)
    await server.start()
    words = await sight(house, lambda: _shown(house, made))
    return f"synced without the service; after its return: {words}"


async def _shown(house: House, revision: str) -> str:
    """What the service says of the guestbook, once it knows the revision."""
    try:
        found: dict[str, Any] | None = await house.far_end.application("laptop", "guestbook")
    except aiohttp.ClientError:
        return ""
    if found is None or (found["revision"], found["sync"]) != (revision, "Synced"):
        return ""
    return f"the service shows guestbook Synced at {revision[:7]}"


FAR_STAGES = (
    Stage(
        name="both agents connected",
        expected="the service knows two agents by the links that they opened",
        run=_agents_connected,
    ),
    Stage(
        name="a second environment",
        expected="an application of the remote cluster is Synced and Healthy in the service",
        run=_second_environment,
    ),
    Stage(
        name="push seen in the service",
        expected="the service shows the new commit",
        run=_push_in_the_service,
    ),
    Stage(
        name="sync from the service",
        expected="the task reaches the agent, runs once, and its result is known",
        run=_sync_from_the_service,
    ),
    Stage(
        name="service killed and started again",
        expected="the agent goes on without it; what it missed arrives afterwards",
        run=_service_away,
    ),
)
