"""`git http-backend` answers one HTTP request: Git's own server side, spoken to as CGI (RFC 3875).

Bodies are held in memory: this serves tests and a demo, not a company.
"""

import os
import subprocess
from pathlib import Path

import msgspec

_ANSWERS_WITHIN = 120
# The user's own Git settings must not change what a test sees.
_HERMETIC = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class GitRequest(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: str
    content_type: str
    protocol: str
    user: str
    body: bytes


class GitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: dict[str, str]
    body: bytes


def answer(root: Path, request: GitRequest) -> GitAnswer:
    """Blocking: call it in a thread."""
    done = subprocess.run(
        ["git", "http-backend"],
        input=request.body,
        env={"PATH": os.environ["PATH"], **_HERMETIC, **_variables(root, request)},
        capture_output=True,
        timeout=_ANSWERS_WITHIN,
        check=False,
    )
    if done.returncode != 0 and not done.stdout:
        return GitAnswer(status=500, headers={}, body=done.stderr)
    return _parse(done.stdout)


def _variables(root: Path, request: GitRequest) -> dict[str, str]:
    return {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": request.method,
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.content_type,
        "CONTENT_LENGTH": str(len(request.body)),
        "GIT_PROTOCOL": request.protocol,
        "REMOTE_USER": request.user,
        "REMOTE_ADDR": "127.0.0.1",
    }


def _parse(said: bytes) -> GitAnswer:
    head, _, body = said.partition(b"\r\n\r\n")
    pairs = (line.partition(":") for line in head.decode().splitlines())
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    status = int(headers.pop("Status", "200 OK").split()[0])
    return GitAnswer(status=status, headers=headers, body=body)
