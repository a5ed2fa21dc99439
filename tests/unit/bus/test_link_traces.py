"""The trace of a task on the link, between an agent and a service of different versions."""

from __future__ import annotations

import msgspec
import pytest

from agent.bridge.tasks.task_traces import parent_of
from bus.link import LinkTask, Offer, TaskKind
from bus.link.wire import Frame, WireValue
from bus.trace import Trace

TRACE = Trace.start()
TASK = LinkTask(
    id="t1", kind=TaskKind.SYNC, subject="argocd/web", actor="ann", traceparent=str(TRACE)
)


class EarlierTask(WireValue, frozen=True, kw_only=True):
    """A task as it was before it had a trace."""

    id: str
    kind: str
    subject: str
    actor: str


class EarlierOffer(Frame, frozen=True, kw_only=True, tag="Offer"):
    task: EarlierTask


def test_an_agent_from_before_takes_a_task_with_a_trace() -> None:
    frame = msgspec.json.encode(Offer(task=TASK))
    task = msgspec.json.decode(frame, type=EarlierOffer).task
    assert (task.id, task.kind, task.actor) == ("t1", "sync", "ann")


def test_a_task_of_a_service_from_before_has_no_trace() -> None:
    task = EarlierTask(id="t1", kind="sync", subject="argocd/web", actor="ann")
    frame = msgspec.json.encode(EarlierOffer(task=task))
    assert parent_of(msgspec.json.decode(frame, type=Offer).task) is None


@pytest.mark.parametrize("context", ["", "nonsense", "00-" + "0" * 32 + "-" + "1" * 16 + "-01"])
def test_a_context_that_is_none_begins_a_trace(context: str) -> None:
    assert parent_of(msgspec.structs.replace(TASK, traceparent=context)) is None


def test_a_trace_arrives_as_it_was_sent() -> None:
    sent = msgspec.json.decode(msgspec.json.encode(Offer(task=TASK)), type=Offer)
    assert parent_of(sent.task) == TRACE
