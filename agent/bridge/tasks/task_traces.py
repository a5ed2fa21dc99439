"""Traces of tasks: the span of one task, and the traces that go on while its operation runs. Pure.

A task of the service becomes `.operation` of an Application, and the watch that sees it asks for
the next step. That ask belongs to the task's trace, which the object in the cluster does not hold:
TaskTraces keeps it by Application.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bus.events import Event
from bus.identity import AppKey
from bus.link import LinkTask, TaskPhase, TaskResult
from bus.spans import FinishedSpan, SpanType
from bus.trace import Trace

_FINE = (TaskPhase.SUCCEEDED, TaskPhase.CANCELLED)


@dataclass(frozen=True, slots=True)
class TaskTraces:
    _traces: dict[object, Trace] = field(default_factory=dict)

    @contextmanager
    def of_operation(self, app: AppKey, trace: Trace) -> Iterator[None]:
        """Keep the trace during the operation; a newer task of the Application replaces it."""
        self._traces[app] = trace
        try:
            yield
        finally:
            if self._traces.get(app) is trace:
                del self._traces[app]

    def trace_of(self, event: Event) -> Trace | None:
        """Find the trace that a watch's ask belongs to; None where the ask begins one."""
        return self._traces.get(event.key)


def parent_of(task: LinkTask) -> Trace | None:
    """Read the service's span from the task; None if the service sends no trace context."""
    return Trace.parse(task.traceparent, task.tracestate)


def task_span(
    task: LinkTask, result: TaskResult, trace: Trace, times: tuple[float, float]
) -> FinishedSpan:
    """`times`: begin and end, in seconds since the epoch."""
    began, ended = times
    return FinishedSpan(
        name=f"task {task.kind}",
        type=SpanType.CONSUMER,
        trace=trace,
        parent=parent_of(task),
        started=began,
        seconds=ended - began,
        attributes={
            "gitops.task": task.id,
            "gitops.task.kind": task.kind.value,
            "gitops.task.phase": result.phase.value,
            "gitops.task.code": result.code,
            "gitops.key": task.subject,
        },
        error="" if result.phase in _FINE else result.message or result.code,
    )
