"""Stages of the demo that use the service: what it shows of both sites, and its tasks for them."""

from __future__ import annotations

from typing import Any

import aiohttp

from playground.demo.repository import guestbook_deployment
from playground.demo.running_demo import RunningDemo, create_remote_application
from playground.demo.stage import DemoStage, observe


async def _agents_connected(demo: RunningDemo) -> str:
    async def seen() -> str:
        agents = (await demo.service.get("/agents"))["items"]
        state = {str(one["name"]): str(one["status"]) for one in agents}
        here = state == {"laptop": "connected", "remote": "connected"}
        return ", ".join(f"{name} {status}" for name, status in state.items()) if here else ""

    return await observe(demo, seen)


async def _second_environment(demo: RunningDemo) -> str:
    await create_remote_application(demo)

    async def seen() -> str:
        found = await demo.service.application("remote", "shop")
        good = found and (found["sync"], found["health"]) == ("Synced", "Healthy")
        return f"remote/shop in {found['environment']}: Synced, Healthy" if found and good else ""

    return await observe(demo, seen)


async def _push_in_the_service(demo: RunningDemo) -> str:
    made = demo.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.3")}, message="guestbook 1.3"
    )
    return await observe(demo, lambda: _shown(demo, made))


async def _sync_from_the_service(demo: RunningDemo) -> str:
    found = await demo.service.application("laptop", "guestbook")
    answer = await demo.service.post(f"/applications/{(found or {})['id']}/sync")
    task = answer["task"]["id"]

    async def seen() -> str:
        state = await demo.service.get(f"/tasks/{task}")
        done = state["phase"] == "succeeded"
        return f"task {state['kind']} {state['phase']} for {state['subject']}" if done else ""

    return await observe(demo, seen)


async def _service_away(demo: RunningDemo) -> str:
    server = demo.service.server
    server.kill()
    made = demo.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.4")}, message="guestbook 1.4"
    )

    async def synced() -> str:
        app = await demo.application("guestbook")
        return "synced" if app["status"]["sync"].get("revision") == made else ""

    await observe(demo, synced)
    await server.start()
    words = await observe(demo, lambda: _shown(demo, made))
    return f"synced without the service; after its return: {words}"


async def _shown(demo: RunningDemo, revision: str) -> str:
    """What the service says of the guestbook, once it knows the revision."""
    try:
        found: dict[str, Any] | None = await demo.service.application("laptop", "guestbook")
    except aiohttp.ClientError:
        return ""
    if found is None or (found["revision"], found["sync"]) != (revision, "Synced"):
        return ""
    return f"the service shows guestbook Synced at {revision[:7]}"


SERVICE_STAGES = (
    DemoStage(
        name="both agents connected",
        expected="the service knows two agents by the links that they opened",
        run=_agents_connected,
    ),
    DemoStage(
        name="a second environment",
        expected="an application of the remote cluster is Synced and Healthy in the service",
        run=_second_environment,
    ),
    DemoStage(
        name="push seen in the service",
        expected="the service shows the new commit",
        run=_push_in_the_service,
    ),
    DemoStage(
        name="sync from the service",
        expected="the task reaches the agent, runs once, and its result is known",
        run=_sync_from_the_service,
    ),
    DemoStage(
        name="service killed and started again",
        expected="the agent goes on without it; what it missed arrives afterwards",
        run=_service_away,
    ),
)
