"""The gate before the calls to a cluster: one that is closed lets nobody wait."""

from __future__ import annotations

import asyncio

import pytest

from agent.kube import call_gate
from agent.kube.call_gate import CallGate
from handlers.ports import ClusterUnreachableError, DestinationUnavailableError


async def endless() -> bytes:
    await asyncio.Event().wait()
    return b""


async def answered() -> bytes:
    return b"x"


async def started(gate: CallGate, count: int) -> list[asyncio.Task[bytes]]:
    calls = [asyncio.ensure_future(gate.run(endless)) for _ in range(count)]
    await asyncio.sleep(0)
    return calls


async def test_closing_ends_the_calls_and_refuses_others_until_it_opens() -> None:
    gate = CallGate("prod", lambda: None)
    (call,) = await started(gate, 1)
    gate.close("prod is away")
    with pytest.raises(DestinationUnavailableError, match="prod is away"):
        await call
    with pytest.raises(DestinationUnavailableError, match="prod is away"):
        await gate.run(answered)
    gate.open()
    assert await gate.run(answered) == b"x"


async def test_a_call_without_an_answer_is_suspicious(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_gate, "SUSPECT_AFTER", 0.0)
    suspected = asyncio.Event()
    (call,) = await started(CallGate("prod", suspected.set), 1)
    await asyncio.wait_for(suspected.wait(), 120)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_crowd_before_a_slow_server_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_gate, "SLOW", 0.0)
    gate = CallGate("prod", lambda: None)
    calls = await started(gate, call_gate.CROWD)
    with pytest.raises(ClusterUnreachableError, match="is slow"):
        await gate.run(answered)
    gate.close("over")
    await asyncio.wait(calls)
    assert all(isinstance(call.exception(), DestinationUnavailableError) for call in calls)
