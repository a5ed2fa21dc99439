"""The entries of `operation.info`: what an operation says of itself, by name. Pure."""

from __future__ import annotations

from handlers.application.spec import Operation
from handlers.application.status import OperationState

COMMAND_ID = "commandId"
"""The name in `operation.info` under which a command leaves its id."""
OPERATION_ID = "operationId"
"""The name under which every operation keeps its own."""
END_REASON = "endReason"
"""Why an operation is not tried again: a `Reason`."""


def operation_id(state: OperationState) -> str:
    return info_of(state.operation, OPERATION_ID)


def info_of(operation: Operation, name: str) -> str:
    """The value of one entry of `operation.info`; empty where there is none."""
    values = (str(one.get("value", "")) for one in operation.info if one.get("name") == name)
    return next(values, "")
