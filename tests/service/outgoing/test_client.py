"""The outgoing client against real sockets: names that mean inner addresses, redirects, answers."""

from __future__ import annotations

import ast
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from service.outgoing import AddressPolicy, open_client
from service.outgoing.client import LARGEST_BODY
from service.outgoing.target import NOT_PUBLIC
from tests.paths import REPOSITORY

HTTP = AddressPolicy(plain_http=True)
NAMED = AddressPolicy(plain_http=True, allowed=(ip_network("127.0.0.2/32"),))
SERVICE = REPOSITORY / "service"


@dataclass
class LoopbackReceiver:
    """Listens on all of 127.0.0.0/8 and says what nobody outside may read."""

    port: int = 0
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        return web.Response(status=self.status, headers=self.headers, text="INNER-SECRET")


@pytest.fixture
async def receiver() -> AsyncIterator[LoopbackReceiver]:
    made = LoopbackReceiver()
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", made.take)
    async with TestServer(app, host="0.0.0.0") as server:
        made.port = server.port or 0
        yield made


@dataclass
class Answers(AbstractResolver):
    """A name server of the attacker's: another answer at each question."""

    rounds: list[list[str]]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=it, port=port, family=socket.AF_INET, proto=0, flags=0
            )
            for it in self.rounds.pop(0)
        ]

    async def close(self) -> None:
        return


@pytest.mark.parametrize("host", ["127。0。0。1", "①②⑦.0.0.1", "127.0.0.1", "127.1", "localhost"])
async def test_no_spelling_of_loopback_reaches_a_receiver(
    receiver: LoopbackReceiver, host: str
) -> None:
    async with open_client(HTTP) as client:
        answered = await client.post(f"http://{host}:{receiver.port}/x", b"{}", {})
    assert (answered.delivered, answered.words, receiver.paths) == (False, NOT_PUBLIC, [])


async def test_a_name_that_means_loopback_is_refused_at_its_connection(
    receiver: LoopbackReceiver,
) -> None:
    async with open_client(HTTP, Answers([["127.0.0.1"]])) as client:
        answered = await client.post(f"http://hooks.example:{receiver.port}/x", b"{}", {})
    assert (answered.words, receiver.paths) == (NOT_PUBLIC, [])


async def test_a_name_that_changes_its_meaning_is_judged_again(receiver: LoopbackReceiver) -> None:
    url = f"http://hooks.example:{receiver.port}/x"
    async with open_client(NAMED, Answers([["127.0.0.2"], ["127.0.0.1"]])) as client:
        first = await client.post(url, b"{}", {})
        second = await client.post(url, b"{}", {})
    assert first.words.startswith("500")
    assert (second.words, receiver.paths) == (NOT_PUBLIC, ["/x"])


async def test_every_address_of_a_name_is_judged(receiver: LoopbackReceiver) -> None:
    both = Answers([["127.0.0.1", "10.0.0.1"]])
    async with open_client(HTTP, both) as client:
        answered = await client.post(f"http://hooks.example:{receiver.port}/x", b"{}", {})
    assert (answered.words, receiver.paths) == (NOT_PUBLIC, [])


async def test_an_allowed_network_is_reached_and_nothing_of_the_answer_is_shown(
    receiver: LoopbackReceiver,
) -> None:
    async with open_client(NAMED) as client:
        refused = await client.post(f"http://127.0.0.2:{receiver.port}/a", b"{}", {})
        receiver.status = 204
        taken = await client.post(f"http://127.0.0.2:{receiver.port}/b", b"{}", {})
    assert refused.words == "500: the receiver did not accept it"
    assert (taken.delivered, taken.words) == (True, "204")


async def test_a_redirect_is_not_followed(receiver: LoopbackReceiver) -> None:
    receiver.status, receiver.headers = 307, {"Location": "/inner"}
    async with open_client(NAMED) as client:
        answered = await client.post(f"http://127.0.0.2:{receiver.port}/a", b"{}", {})
    assert (answered.delivered, receiver.paths) == (False, ["/a"])
    assert "redirects are not followed" in answered.words


async def test_plain_http_is_refused_unless_the_operator_says_so(
    receiver: LoopbackReceiver,
) -> None:
    policy = AddressPolicy(allowed=NAMED.allowed)
    async with open_client(policy) as client:
        answered = await client.post(f"http://127.0.0.2:{receiver.port}/a", b"{}", {})
    assert "expected https://" in answered.words
    assert receiver.paths == []


async def test_a_body_over_the_limit_is_not_sent(receiver: LoopbackReceiver) -> None:
    async with open_client(NAMED) as client:
        url = f"http://127.0.0.2:{receiver.port}/a"
        answered = await client.post(url, b"x" * (LARGEST_BODY + 1), {})
    assert (answered.delivered, receiver.paths) == (False, [])


def test_no_other_module_of_the_service_makes_a_client() -> None:
    """`urllib.parse` only takes texts apart; whatever opens a connection to others is listed."""
    clients = {"ClientSession", "TCPConnector", "urlopen", "create_connection", "open_connection"}
    libraries = {"httpx", "requests", "urllib3", "http.client", "urllib.request"}
    found = {
        str(path.relative_to(SERVICE))
        for path in SERVICE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in clients)
        or (isinstance(node, ast.Import) and libraries & {it.name for it in node.names})
        or (
            isinstance(node, ast.ImportFrom)
            and (node.module in libraries or clients & {it.name for it in node.names})
        )
    }
    assert found == {"outgoing/client.py"}
