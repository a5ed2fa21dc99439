"""Answers of hosts that issue logins, read as what their documentation says."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from agent.git.issued_logins.issuer import LoginIssueError
from agent.git.issued_logins.login_calls import LoginAnswer

T = TypeVar("T")
_FINE = 200
_SERVER_FAILS, _TOO_MANY = 500, 429


class OAuthToken(msgspec.Struct, frozen=True):
    """The answer of a token endpoint (RFC 6749, section 5.1)."""

    access_token: str
    expires_in: int = 0
    """Seconds."""


class _RefreshToken(msgspec.Struct, frozen=True):
    refresh_token: str


class _OAuthError(msgspec.Struct, frozen=True):
    error: str = ""


def decoded(answer: LoginAnswer, kind: type[T]) -> T:
    """Read the body; raises LoginIssueError."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = "what was answered is not what such a host answers"
        raise LoginIssueError(message, "Check the address in the Secret") from error


def oauth_token(answer: LoginAnswer, who: str, remedy: str) -> OAuthToken:
    """Read the token that `who` asked for; raises LoginIssueError, with the host's error code."""
    _check(answer, who, remedy)
    return decoded(answer, OAuthToken)


def refresh_token(answer: LoginAnswer, who: str, remedy: str) -> str:
    """Read the token that a registry has exchanged for another; raises LoginIssueError."""
    _check(answer, who, remedy)
    return decoded(answer, _RefreshToken).refresh_token


def _check(answer: LoginAnswer, who: str, remedy: str) -> None:
    if answer.status == _FINE:
        return
    try:
        code = msgspec.json.decode(answer.body, type=_OAuthError).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        code = ""
    shown = f" ({code})" if code.replace("_", "").isalnum() and len(code) < 100 else ""
    message = f"{who} gets no token: HTTP {answer.status}{shown}"
    raise LoginIssueError(message, remedy, refused=is_refusal(answer))


def is_refusal(answer: LoginAnswer) -> bool:
    """Whether the host means the key, and not its own state."""
    return answer.status < _SERVER_FAILS and answer.status != _TOO_MANY
