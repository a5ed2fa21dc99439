"""`gitops agent run` that kills itself at one place: the test entry point of the kill tests.

    GITOPS_TEST_KILL=before:render python -m tests.flows.killed_agent

SIGKILL comes right before or after the first call of the named room, or in the middle of a wave
(`after:apply`: the API server has stored the first object, nobody was told), when a status is
written and nothing is published of it (`after:write 2`: the second that something is said of), when
an Application is let go (`after:farewell`), or when the results were published and their cause was
not acknowledged yet (`before:ack render`). Production code has no such hook: it is wrapped here.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import agent.acting
import agent.kube.cluster
import agent.store.patching
import bus.dispatch
from bus.identity import AppKey
from bus.route import Route
from cli.run import run_agent
from handlers.routes import Rooms, house_plan
from handlers.tell.note import ANNOTATION

VARIABLE = "GITOPS_TEST_KILL"

Call = Callable[..., Awaitable[Any]]


def main() -> None:
    when, _, place = os.environ[VARIABLE].partition(":")
    if place == "apply":
        cluster = agent.kube.cluster.KubeCluster
        cluster.apply = deadly(cluster.apply, when)  # type: ignore[assignment,method-assign]
    elif place.startswith("write "):
        _die_after_write(int(place.removeprefix("write ")), is_noted)
    elif place == "farewell":
        _die_after_write(1, is_farewell)
    elif place.startswith("ack "):
        _die_before_ack_of(place.removeprefix("ack "))
    else:
        acting = vars(agent.acting)
        acting["house_plan"] = lambda rooms: deadly_plan(rooms, when, place)
    sys.exit(run_agent())


def deadly_plan(rooms: Rooms, when: str, place: str) -> tuple[Route, ...]:
    plan = house_plan(rooms)
    assert place in {route.name for route in plan}
    return tuple(
        replace(route, room=deadly(route.room, when)) if route.name == place else route
        for route in plan
    )


def deadly(call: Call, when: str) -> Call:
    @wraps(call)
    async def called(*arguments: Any) -> Any:
        if when == "before":
            die()
        answer = await call(*arguments)
        die()
        return answer

    return called


def _die_after_write(number: int, counts: Callable[[Mapping[str, Any]], bool]) -> None:
    patches = agent.store.patching.ApplicationPatches
    write = patches.patch_application
    left = number

    async def written(self: Any, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        nonlocal left
        answer = await write(self, key, patch)
        left -= counts(patch)
        if not left:
            die()
        return answer

    patches.patch_application = written  # type: ignore[method-assign]


def is_noted(patch: Mapping[str, Any]) -> bool:
    return ANNOTATION in patch.get("metadata", {}).get("annotations", {})


def is_farewell(patch: Mapping[str, Any]) -> bool:
    return "finalizers" in patch.get("metadata", {})


def _die_before_ack_of(room: str) -> None:
    dispatch = bus.dispatch.Dispatch
    settle = dispatch._settle  # the only place between publishing and acknowledging

    async def settled(self: Any, item: Any, said: Any) -> None:
        if item.route.name != room:
            await settle(self, item, said)
            return
        await self.publisher.publish(said.messages)
        die()

    dispatch._settle = settled  # type: ignore[method-assign]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
