"""ExecPlugin runs a credential plugin of client-go's protocol, which an allow-list has to name.

A Secret of a cluster names the command; without the allow-list whoever may write such a Secret
could run any program as the agent. A plugin has no terminal, an environment of its own, a bounded
time and a bounded output. Its answer, an ExecCredential, is kept until shortly before it expires.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from agent.kube.connection_config import AuthHeaders, KubeConfigError
from agent.kube.renewed_token import RenewedToken

WITHIN = 20.0
_LARGEST_ANSWER = 64 * 1024
_EARLY = timedelta(seconds=60)
_WITHOUT_EXPIRY = timedelta(minutes=5)
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of the agent that a plugin sees; the Secret's `env` gives it others."""
_CLOUD = ("AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_")
"""Beginnings of the names by which clouds tell a pod who it is."""
EXEC_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status = _Status()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """The auth kind `execProviderConfig`."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = EXEC_VERSIONS[0]

    def headers(self, server: str) -> AuthHeaders:
        return RenewedToken(partial(self._renewed, server))

    async def _renewed(self, server: str) -> tuple[str, datetime]:
        """Run the plugin; its token is renewed shortly before it expires."""
        status = await self.run(server)
        now = datetime.now(UTC)
        end = status.expiration_timestamp
        until = now + _WITHOUT_EXPIRY if end is None else max(now + _EARLY, end) - _EARLY
        return status.token, until

    async def run(self, server: str) -> _Status:
        """Run the plugin once; raises KubeConfigError, which quotes nothing that it printed."""
        try:
            async with asyncio.timeout(WITHIN):
                answer = await self._output(server)
        except TimeoutError as error:
            raise self._failed(f"it did not end within {WITHIN:.0f} s") from error
        except OSError as error:
            raise self._failed(f"it cannot be started ({error.strerror})") from error
        except ValueError:
            raise self._failed(
                "it cannot be started, because its args or env hold a NUL or another character "
                "that no program can be given"
            ) from None
        try:
            credential = msgspec.json.decode(answer, type=_Credential)
        except (msgspec.MsgspecError, RecursionError):
            raise self._failed("its output is no ExecCredential in JSON") from None
        if credential.kind != "ExecCredential" or credential.api_version != self.api_version:
            raise self._failed(f"its output is no ExecCredential of {self.api_version}")
        if not credential.status.token:
            raise self._failed("its ExecCredential has no status.token; certificates are not used")
        end = credential.status.expiration_timestamp
        if end is not None and end.tzinfo is None:
            raise self._failed(
                "its status.expirationTimestamp has no time zone; expected RFC 3339, as in "
                "2030-01-31T12:00:00Z"
            )
        return credential.status

    async def _output(self, server: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            self.command,
            *self.args,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environment(server),
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            answer = await _bounded(process.stdout)
            code = await process.wait() if answer is not None else 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            while await process.stdout.read(8192):
                """Empty the pipe: the end of the process is not seen before that of its output."""
            await process.wait()
        if answer is None:
            raise self._failed(f"its output has more than {_LARGEST_ANSWER} bytes")
        if code:
            raise self._failed(f"it ended with code {code}")
        return answer

    def _environment(self, server: str) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in _INHERITED or name.startswith(_CLOUD)
        }
        spec = {"cluster": {"server": server}, "interactive": False}
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        variables = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        return {**inherited, **self.env, **variables}

    def _failed(self, why: str) -> KubeConfigError:
        return KubeConfigError(f"config.execProviderConfig, command {self.command!r}: {why}")


async def _bounded(stream: asyncio.StreamReader) -> bytes | None:
    """Read to the end; None where that is too much."""
    chunks = bytearray()
    while chunk := await stream.read(8192):
        chunks += chunk
        if len(chunks) > _LARGEST_ANSWER:
            return None
    return bytes(chunks)
