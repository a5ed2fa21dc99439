"""A process that was stopped for too long writes nothing when it goes on."""

from __future__ import annotations

import pytest
from aiohttp import web

from agent.kube.write_fence import WriteFence
from handlers.ports import ClusterUnreachableError
from tests.unit.agent.kube.test_transport import answered


class StoppedClock:
    """The clock of a process that is stopped, and goes on when the test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_fence_that_nobody_closed_is_open() -> None:
    assert WriteFence().is_open


def test_a_fence_is_open_for_as_long_as_it_was_extended() -> None:
    clock = StoppedClock()
    fence = WriteFence(clock)
    fence.extend(clock.now + 9)
    assert fence.is_open
    clock.now += 9
    assert not fence.is_open
    with pytest.raises(ClusterUnreachableError, match="has not renewed its place in the Lease"):
        fence.check("/api/v1/namespaces/shop/configmaps/a")


async def test_a_login_that_takes_longer_than_the_fence_is_open_is_followed_by_no_write() -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.method)
        return web.Response(text="{}")

    fence = WriteFence()

    async def late_login() -> dict[str, str]:
        fence.close()
        return {}

    async with answered(note, headers=late_login) as client:
        with pytest.raises(ClusterUnreachableError, match="has not renewed its place"):
            await client.fenced(fence).create("/api/v1/namespaces/shop/configmaps", b"{}")
    assert asked == []


async def test_behind_a_closed_fence_one_can_read_and_write_nothing() -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.method)
        return web.Response(text="{}")

    fence = WriteFence()
    async with answered(note) as client:
        fenced = client.fenced(fence)
        await fenced.create("/api/v1/namespaces/shop/configmaps", b"{}")
        fence.close()
        writes = (
            fenced.create("/api/v1/namespaces/shop/configmaps", b"{}"),
            fenced.replace("/api/v1/namespaces/shop/configmaps/a", b"{}"),
            fenced.merge_patch("/api/v1/namespaces/shop/configmaps/a", {}),
            fenced.delete("/api/v1/namespaces/shop/configmaps/a"),
            fenced.acting_as("alice").create("/api/v1/namespaces/shop/configmaps", b"{}"),
        )
        for write in writes:
            with pytest.raises(ClusterUnreachableError):
                await write
        await fenced.get("/api/v1/namespaces/shop/configmaps/a")
        await client.create("/api/v1/namespaces/shop/configmaps", b"{}")
    assert asked == ["POST", "GET", "POST"]
