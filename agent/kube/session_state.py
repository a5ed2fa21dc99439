"""SessionState is how far the contact with a destination cluster is, and why it ended.

A cluster belongs to whoever runs it, and may answer with anything. What no API server answers may
raise any error of a reader; UNFORESEEN names them, so that it ends its own contact only.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SessionState(StrEnum):
    CONNECTING = "connecting"
    SUCCESSFUL = "successful"
    FAILED = "failed"


UNFORESEEN = (
    ArithmeticError,
    AttributeError,
    ExceptionGroup,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)


def first_of(error: Exception) -> Exception:
    """Return the first error in a group, however deep: a group's own text says nothing."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def unforeseen(error: Exception) -> str:
    """Say that the contact broke; without the error's text, which may quote what was answered."""
    return (
        f"its answers broke the contact ({type(first_of(error)).__name__}). Check that an API "
        "server of Kubernetes answers at this address; if one does, report the traceback in the "
        "agent's log"
    )
