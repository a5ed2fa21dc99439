"""`gitops agent run` that kills itself at one place: the test entry point of the kill tests.

    GITOPS_TEST_KILL=before:render python -m tests.flows.killed_agent

SIGKILL comes right before or after the first call of the named handler, or in the middle of a wave
(`after:apply`: the API server has stored the first object, nobody was told), when a branch is
pushed (`after:push`: neither its note nor the status is written), when a status is written and
nothing is published of it (`after:write 2`: the second that something is said of), when an
Application is let go (`after:farewell`), or when the results were published and their cause was not
acknowledged yet (`before:ack render`). Production code has no such hook: it is wrapped here.

With GITOPS_TEST_SIGNAL=STOP the process stops itself there once, and goes on when it is told to.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import agent.git.mirror
import agent.kube.cluster
import agent.leader_tasks
import agent.store.application_writes
import bus.dispatch
from bus.identity import AppKey
from bus.metadata_keys import PENDING_FACTS
from bus.route import Route
from cli.local.run import run_agent
from handlers.routes import Handlers, routes

VARIABLE = "GITOPS_TEST_KILL"
SIGNAL = "GITOPS_TEST_SIGNAL"

Call = Callable[..., Awaitable[Any]]


def main() -> None:
    when, _, place = os.environ[VARIABLE].partition(":")
    if place == "apply":
        cluster = agent.kube.cluster.KubeCluster
        cluster.apply = deadly(cluster.apply, when)  # type: ignore[assignment,method-assign]
    elif place == "push":
        mirror = agent.git.mirror.Mirror
        mirror.push = deadly(mirror.push, when)  # type: ignore[method-assign]
    elif place.startswith("write "):
        _die_after_write(int(place.removeprefix("write ")), is_noted)
    elif place == "farewell":
        _die_after_write(1, is_farewell)
    elif place.startswith("ack "):
        _die_before_ack_of(place.removeprefix("ack "))
    else:
        leader_tasks = vars(agent.leader_tasks)
        leader_tasks["routes"] = lambda handlers: deadly_routes(handlers, when, place)
    sys.exit(run_agent())


def deadly_routes(handlers: Handlers, when: str, place: str) -> tuple[Route, ...]:
    table = routes(handlers)
    assert place in {route.name for route in table}
    return tuple(
        replace(route, handler=deadly(route.handler, when)) if route.name == place else route
        for route in table
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
    patches = agent.store.application_writes.ApplicationPatches
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
    return PENDING_FACTS.name in patch.get("metadata", {}).get("annotations", {})


def is_farewell(patch: Mapping[str, Any]) -> bool:
    return "finalizers" in patch.get("metadata", {})


def _die_before_ack_of(handler: str) -> None:
    dispatch = bus.dispatch.Dispatch
    settle = dispatch._settle  # the only place between publishing and acknowledging

    async def settled(self: Any, item: Any, result: Any) -> None:
        if item.route.name != handler:
            await settle(self, item, result)
            return
        await self.publisher.publish(result.messages)
        die()

    dispatch._settle = settled  # type: ignore[method-assign]


def die() -> None:
    match os.environ.get(SIGNAL, "KILL"):
        case "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        case "STOP":
            os.environ[SIGNAL] = ""
            os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    main()
