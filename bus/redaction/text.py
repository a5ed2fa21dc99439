"""Texts that hold a secret somewhere: log lines, messages, commit texts, fields. Pure.

The last line of defence. What is known to be a secret is masked by `handlers/report/known.py`, and
fields that hold one are masked whole by `handlers/report/redaction.py`.
"""

from __future__ import annotations

from bus.redaction.assignments import without_assignments
from bus.redaction.blocks import without_blocks
from bus.redaction.credentials import without_tokens, without_user_info


def masked(text: str) -> str:
    """Mask what looks like a secret in `text`.

    Most texts are short words and cost next to nothing: every pattern needs one of a few signs.
    """
    text = without_tokens(without_user_info(text))
    if "\n" in text:
        text = without_blocks(text)
    return without_assignments(text)
