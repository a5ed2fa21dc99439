"""A NATS that somebody else runs: TLS, a private authority, client certificates, every login."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import nkeys
import pytest
from nacl.signing import SigningKey

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from bus.jetstream import Bus, BusSettings, CarrierUnreachableError
from playground.certificates import make_authority, make_client_pair, make_serving_pair

pytestmark = pytest.mark.usefixtures("own_servers")

ASK = RefreshRepository(repository=RepositoryKey.of("https://git.example/apps"))
OPEN = {"subs": -1, "data": -1, "payload": -1}
Serving = Callable[[str], AbstractAsyncContextManager[int]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """A nats-server with these lines of configuration; yields its port."""

    @asynccontextmanager
    async def opened(configuration: str) -> AsyncIterator[int]:
        port = free_port()
        file = tmp_path / "nats.conf"
        listen = f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{tmp_path}/js" }}\n'
        file.write_text(listen + configuration)
        command = (nats_binary(), "--config", str(file))
        program = ChildProgram(name="nats-server", command=command, folder=tmp_path)
        async with ChildProcess(program, answers_tcp(port)):
            yield port

    return opened


async def publishes(**settings: Any) -> bool:
    async with Bus.open(BusSettings(connect_seconds=5, agent="login", **settings)) as bus:
        await bus.provision()
        return len(await bus.publish(ASK)) == 1


def new_nkey(prefix: int) -> nkeys.KeyPair:
    raw = bytes(SigningKey.generate())
    return nkeys.from_seed(nkeys.encode_seed(raw, prefix))


async def test_tls_with_a_private_authority_and_a_client_certificate(
    serving: Serving, tmp_path: Path
) -> None:
    authority = make_authority(tmp_path)
    server = make_serving_pair(authority, tmp_path, ("localhost",))
    client = make_client_pair(authority, tmp_path, "agent", "agents")
    lines = (
        f'tls {{ cert_file: "{server.certificate_file}", key_file: "{server.key_file}", '
        f'ca_file: "{authority.certificate_file}", verify: true }}\n'
    )
    async with serving(lines) as port:
        url = f"tls://127.0.0.1:{port}"
        trust = {"tls_ca_file": str(authority.certificate_file)}
        own = {"tls_cert_file": str(client.certificate_file), "tls_key_file": str(client.key_file)}
        assert await publishes(url=url, **trust, **own)
        with pytest.raises(CarrierUnreachableError):
            await publishes(url=url, **trust)


async def test_a_server_of_a_strange_authority_is_not_trusted(
    serving: Serving, tmp_path: Path
) -> None:
    server = make_serving_pair(make_authority(tmp_path), tmp_path, ("localhost",))
    (tmp_path / "other").mkdir()
    other = make_authority(tmp_path / "other")
    lines = f'tls {{ cert_file: "{server.certificate_file}", key_file: "{server.key_file}" }}\n'
    async with serving(lines) as port:
        with pytest.raises(CarrierUnreachableError):
            await publishes(url=f"tls://127.0.0.1:{port}", tls_ca_file=str(other.certificate_file))


async def test_user_and_password(serving: Serving) -> None:
    async with serving('authorization { user: agent, password: "s3cret-word" }\n') as port:
        url = f"nats://127.0.0.1:{port}"
        assert await publishes(url=url, user="agent", password="s3cret-word")
        with pytest.raises(CarrierUnreachableError) as refused:
            await publishes(url=url, user="agent", password="wrong-word")
        assert "wrong-word" not in str(refused.value)


async def test_an_nkey_seed_from_a_file(serving: Serving, tmp_path: Path) -> None:
    key = new_nkey(nkeys.PREFIX_BYTE_USER)
    seed = tmp_path / "agent.nk"
    seed.write_bytes(key.seed)
    lines = f"authorization {{ users: [ {{ nkey: {key.public_key.decode()} }} ] }}\n"
    async with serving(lines) as port:
        assert await publishes(url=f"nats://127.0.0.1:{port}", nkey_seed_file=str(seed))


async def test_a_credentials_file(serving: Serving, tmp_path: Path) -> None:
    operator = new_nkey(nkeys.PREFIX_BYTE_OPERATOR)
    account = new_nkey(nkeys.PREFIX_BYTE_ACCOUNT)
    system = new_nkey(nkeys.PREFIX_BYTE_ACCOUNT)
    user = new_nkey(nkeys.PREFIX_BYTE_USER)
    unlimited = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    limits = {**OPEN, "imports": -1, "exports": -1, "conn": -1, "leaf": -1, **unlimited}
    system_name = system.public_key.decode()
    operator_jwt = signed(operator, operator, {"type": "operator", "system_account": system_name})
    jwts = {
        account: signed(operator, account, {"type": "account", "limits": limits}),
        system: signed(operator, system, {"type": "account"}),
    }
    preload = ", ".join(f"{key.public_key.decode()}: {jwt}" for key, jwt in jwts.items())
    lines = (
        f"operator: {operator_jwt}\nsystem_account: {system_name}\n"
        f"resolver: MEMORY\nresolver_preload: {{ {preload} }}\n"
    )
    file = tmp_path / "agent.creds"
    file.write_text(credentials(signed(account, user, {"type": "user", **OPEN}), user))
    async with serving(lines) as port:
        assert await publishes(url=f"nats://127.0.0.1:{port}", credentials_file=str(file))


def signed(issuer: nkeys.KeyPair, subject: nkeys.KeyPair, claims: dict[str, Any]) -> str:
    """A NATS JWT (version 2), signed with the issuer's nkey."""
    header = {"typ": "JWT", "alg": "ed25519-nkey"}
    body = {
        "jti": "x",
        "iat": 1,
        "iss": issuer.public_key.decode(),
        "sub": subject.public_key.decode(),
        "name": claims["type"],
        "nats": {"version": 2, **claims},
    }
    parts = [_encoded(json.dumps(part).encode()) for part in (header, body)]
    signature = issuer.sign(".".join(parts).encode())
    return ".".join([*parts, _encoded(signature)])


def credentials(jwt: str, user: nkeys.KeyPair) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
