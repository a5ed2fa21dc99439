"""A host that issues logins over TLS: the answers that GitHub, Microsoft and Google document.

None of their services can be had in a test. What is asked is checked as they say they check it:
signature and times of a token, grant type and client of a form.
"""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from playground.certificates import make_authority, serving

APP_ID = "12345"
_LONGEST = 600


@dataclass(slots=True, kw_only=True)
class LoginHost:
    url: str = ""
    authority: str = ""
    """In PEM."""
    signer: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65537, 2048))
    owners: list[str] = field(default_factory=lambda: ["stranger", "Team"])
    page: int = 100
    """How many installations are on a page."""
    lasts: timedelta = timedelta(hours=1)
    clock: timedelta = timedelta(0)
    """How far the host's clock is ahead."""
    refuses: bool = False
    next_page: str = ""
    """Where the next page is named to be, in place of where it is."""
    issued: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)

    def key(self, passphrase: bytes = b"") -> str:
        hidden = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        return self.signer.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/api/v3/app/installations", self._installations)
        app.router.add_post("/api/v3/app/installations/{id}/access_tokens", self._token)
        app.router.add_post("/{tenant}/oauth2/v2.0/token", self._oauth)
        app.router.add_post("/token", self._oauth)
        return app

    async def _installations(self, request: web.Request) -> web.Response:
        if problem := self._problem(request):
            return problem
        first = int(request.query.get("page", "0"))
        shown = self.owners[first : first + self.page]
        body = [
            {"id": 70 + number, "account": {"login": owner}}
            for number, owner in enumerate(shown, first)
        ]
        headers = {}
        if first + self.page < len(self.owners):
            there = self.next_page or f"{self.url}/api/v3/app/installations"
            headers["Link"] = f'<{there}?page={first + self.page}>; rel="next"'
        return web.json_response(body, headers=headers)

    async def _token(self, request: web.Request) -> web.Response:
        if problem := self._problem(request):
            return problem
        return web.json_response(
            {"token": self._issue(), "expires_at": (datetime.now(UTC) + self.lasts).isoformat()},
            status=201,
        )

    async def _oauth(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(request.path)
        self.forms.append(form)
        if self.refuses:
            return web.json_response({"error": "invalid_client"}, status=401)
        if "assertion" in form:
            self.claims(form["assertion"])
        seconds = int(self.lasts.total_seconds())
        return web.json_response({"access_token": self._issue(), "expires_in": seconds})

    def _issue(self) -> str:
        self.issued.append(f"issued-{len(self.issued)}")
        return self.issued[-1]

    def _problem(self, request: web.Request) -> web.Response | None:
        self.asked.append(request.path)
        token = request.headers["Authorization"].removeprefix("Bearer ")
        try:
            claims = self.claims(token)
        except InvalidSignature:
            return web.json_response({"message": "not decoded"}, status=401)
        now = time.time() + self.clock.total_seconds()
        timely = claims["iat"] <= now < claims["exp"] <= claims["iat"] + _LONGEST
        if self.refuses or claims["iss"] != APP_ID or not timely:
            there = format_datetime(datetime.now(UTC) + self.clock, usegmt=True)
            return web.json_response({"message": "no"}, status=401, headers={"Date": there})
        return None

    def claims(self, token: str) -> dict[str, Any]:
        text, _, signature = token.rpartition(".")
        self.signer.public_key().verify(_decoded(signature), text.encode(), PKCS1v15(), SHA256())
        claims: dict[str, Any] = json.loads(_decoded(text.partition(".")[2]))
        return claims


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


@asynccontextmanager
async def login_host(folder: Path) -> AsyncIterator[LoginHost]:
    (folder / "authority").mkdir(parents=True)
    (folder / "server").mkdir()
    authority = make_authority(folder / "authority")
    host = LoginHost(authority=authority.certificate_file.read_text())
    server = TestServer(host.application(), scheme="https")
    await server.start_server(ssl=serving(authority, folder / "server"))
    host.url = str(server.make_url("")).rstrip("/")
    try:
        yield host
    finally:
        await server.close()
