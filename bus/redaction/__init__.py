"""Redaction of texts and names, shared by agent, handlers, command line and service. Pure.

`names` judges the name of a field, `credentials` finds what is a secret by its looks, `assignments`
finds what stands behind a sensitive name in a text, and `text` joins them, also for YAML over
several lines. Objects are walked by `handlers/report/redaction.py`.
"""

from bus.redaction.credentials import HIDDEN, failure_text, looks_opaque, without_user_info
from bus.redaction.names import is_sensitive, is_sensitive_path
from bus.redaction.text import masked

__all__ = [
    "HIDDEN",
    "failure_text",
    "is_sensitive",
    "is_sensitive_path",
    "looks_opaque",
    "masked",
    "without_user_info",
]
