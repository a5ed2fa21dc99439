"""Git over SSH, from OpenSSH's own server: keys, host keys, and what is said where one is wrong."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import PrivateFormat

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError
from playground.githost import GitHost, HostedRepository
from playground.sshhost import SshHost, SshKey, ssh_host
from tests.connect_proxy import connect_proxy, refusing_proxy
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.support import eventually
from tests.unit.agent.kube.socks_server import SocksServer

pytestmark = pytest.mark.usefixtures("own_servers")

HEALING = {"automated": {"prune": True, "selfHeal": True}}
PASSWORD = "correct-horse-battery"


@dataclass(slots=True)
class Scene:
    """One repository behind SSH, and Mirrors that know what the test puts here."""

    host: SshHost
    repository: HostedRepository
    git: Mirrors
    folder: Path
    secrets: list[Secret] = field(default_factory=list)
    lines: str = ""

    @property
    def url(self) -> str:
        return self.host.url(self.repository.name)

    def secret(self, kind: str = "repository", url: str = "", **fields: str) -> None:
        self.secrets.append(
            Secret(
                namespace="argocd",
                name=f"{kind}-{len(self.secrets)}",
                labels={SECRET_TYPE: kind},
                data={"url": url or self.url, **fields},
            )
        )

    async def head(self) -> Revision:
        return await self.git.resolve(self.git.access(self.url), "main")

    async def refusal(self) -> RepositoryError:
        with pytest.raises(RepositoryError) as caught:
            await self.git.fetch(self.git.access(self.url))
        return caught.value


class Trust:
    def __init__(self) -> None:
        self.scene: Scene

    def authority(self, _url: str) -> str:
        return ""

    def known_hosts(self) -> str:
        return self.scene.lines


@pytest.fixture
async def scene(tmp_path: Path, git_host: GitHost) -> AsyncIterator[Scene]:
    trust, secrets = Trust(), list[Secret]()
    async with ssh_host(tmp_path / "ssh", git_host.folder) as host:
        repository = git_host.create(f"ssh-{tmp_path.name}")
        settings = MirrorSettings(folder=tmp_path / "mirrors")
        async with Mirrors(settings, SecretCredentials(lambda: secrets), trust) as git:
            found = Scene(host, repository, git, tmp_path / "mirrors", secrets, host.known_hosts)
            trust.scene = found
            yield found


KEYS = {
    "ed25519": (ed25519.Ed25519PrivateKey.generate(), PrivateFormat.OpenSSH),
    "ecdsa": (ec.generate_private_key(ec.SECP256R1()), PrivateFormat.TraditionalOpenSSL),
    "rsa": (rsa.generate_private_key(65537, 2048), PrivateFormat.TraditionalOpenSSL),
    "rsa in PKCS 8": (rsa.generate_private_key(65537, 2048), PrivateFormat.PKCS8),
}


async def test_keys_of_every_type_open_the_repository_and_stay_off_the_disk(scene: Scene) -> None:
    for number, (name, (private, form)) in enumerate(KEYS.items()):
        key = SshKey(private)
        scene.host.authorize(key)
        written = key.private(form).strip().replace("\n", "\r\n" if number else "\n")
        scene.secrets.clear()
        scene.secret(sshPrivateKey=written, project=name.replace(" ", "-"))
        commit = scene.repository.commit({"a.yaml": name.encode()})
        access = scene.git.access(scene.url, name.replace(" ", "-"))
        assert await scene.git.resolve(access, "main") == commit, name
        secret_line = key.private(form).splitlines()[2].encode()
        assert secret_line not in everything_below(scene.folder)


async def test_a_prefix_lends_its_key_and_a_password_is_never_offered(scene: Scene) -> None:
    key = SshKey()
    scene.host.authorize(key)
    commit = scene.repository.commit({"a": b"1"})
    prefix = re.sub(r"/[^/]+$", "", scene.url)
    scene.secret("repo-creds", prefix, sshPrivateKey=key.private())
    scene.secret("repository")
    assert await scene.head() == commit
    scene.secrets.clear()
    scene.secret(password=PASSWORD)
    error = await scene.refusal()
    assert "its URL is one of SSH, where no password counts" in error.message
    assert PASSWORD not in error.message


async def test_a_host_is_believed_by_its_line_alone(scene: Scene) -> None:
    key = SshKey()
    scene.host.authorize(key)
    scene.secret(sshPrivateKey=key.private())
    commit = scene.repository.commit({"a": b"1"})

    scene.lines = ""
    error = await scene.refusal()
    assert "argocd-ssh-known-hosts-cm" in error.message
    assert f"[127.0.0.1]:{scene.host.port}" in error.message
    assert error.reason is Reason.REPOSITORY_UNREACHABLE

    scene.lines = f"# ours\n{scene.host.known_hosts}"
    assert await scene.head() == commit

    await scene.host.replace()
    error = await scene.refusal()
    assert "the host key of 127.0.0.1 has changed: it shows the ED25519 key SHA256:" in (
        error.message
    )
    assert "replace line 2 of ssh_known_hosts" in error.message

    scene.lines = f"@revoked {scene.host.known_hosts}"
    assert "revokes" in (await scene.refusal()).message

    scene.lines = ""
    scene.secrets.clear()
    scene.secret(sshPrivateKey=key.private(), insecure="true")
    later = scene.repository.commit({"a": b"2"})
    await scene.git.fetch(scene.git.access(scene.url))
    assert await scene.head() == later


async def test_what_a_key_lacks_is_said(scene: Scene, tmp_path: Path) -> None:
    scene.host.authorize(SshKey())
    error = await scene.refusal()
    assert error.reason is Reason.CREDENTIALS_REFUSED
    assert "the host wants a key, and none is stored as sshPrivateKey" in error.message
    assert "Store a key that the host knows as sshPrivateKey" in error.message
    assert "argocd.argoproj.io/secret-type: repository" in error.message

    stranger = SshKey()
    cases = {
        stranger.private(): "the host refused this key",
        await stranger.encrypted(tmp_path, "swordfish"): "encrypted with a passphrase",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n": (
            "encrypted with a passphrase"
        ),
        stranger.public: "is a public key; store the private one",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n": (
            "SSH cannot read the key"
        ),
        "nonsense": "is no private key in PEM",
    }
    for key, expected in cases.items():
        scene.secrets.clear()
        scene.secret(sshPrivateKey=key)
        error = await scene.refusal()
        assert expected in error.message
        assert error.reason is Reason.CREDENTIALS_REFUSED
        assert key.strip() not in error.message


async def test_a_repository_that_is_not_there_is_said(scene: Scene) -> None:
    key = SshKey()
    scene.host.authorize(key)
    scene.secret("repo-creds", re.sub(r"/[^/]+$", "", scene.url), sshPrivateKey=key.private())
    with pytest.raises(RepositoryError, match="the host shows no repository there"):
        await scene.git.fetch(scene.git.access(scene.host.url("absent")))


async def test_fetches_share_a_connection_that_ends_with_the_agent(scene: Scene) -> None:
    key, other = SshKey(), SshKey()
    scene.host.authorize(key)
    scene.secret(sshPrivateKey=key.private(), project="one")
    scene.secret(sshPrivateKey=other.private(), project="two")
    for number in range(3):
        commit = scene.repository.commit({"a": str(number).encode()})
        access = scene.git.access(scene.url, "one")
        await scene.git.fetch(access)
        assert await scene.git.resolve(access, "main") == commit
    await eventually(lambda: scene.host.connections == 1)
    # The open connection of one project is no way in for another.
    with pytest.raises(RepositoryError, match="the host refused this key"):
        await scene.git.fetch(scene.git.access(scene.url, "two"))
    await scene.git.__aexit__()
    await eventually(lambda: scene.host.connections == 0)


@pytest.mark.parametrize("kind", ["socks5", "http"])
async def test_the_host_is_reached_through_the_proxy_of_the_secret(scene: Scene, kind: str) -> None:
    key = SshKey()
    scene.host.authorize(key)
    commit = scene.repository.commit({"a": b"1"})
    async with AsyncExitStack() as stack:
        if kind == "socks5":
            login = ("kim", "c4nary: word")
            socks = SocksServer(behind=("127.0.0.1", scene.host.port), login=login)
            port = (await stack.enter_async_context(socks.open())).port
            asked: Sequence[object] = socks.asked
        else:
            proxy = await stack.enter_async_context(connect_proxy())
            port, asked = proxy.port, proxy.asked
        scene.secret(
            sshPrivateKey=key.private(),
            proxy=f"{kind}://kim:c4nary%3A%20word@127.0.0.1:{port}",
        )
        assert await scene.head() == commit
        # The host's key is checked as it is without a proxy.
        lines, scene.lines = scene.lines, ""
        assert "argocd-ssh-known-hosts-cm" in (await scene.refusal()).message
        scene.lines = lines
    host = scene.host.port
    expected = {"socks5": ("127.0.0.1", host), "http": f"CONNECT 127.0.0.1:{host} HTTP/1.1"}
    assert set(asked) == {expected[kind]}


async def test_why_a_proxy_does_not_lead_to_the_host_is_said(scene: Scene) -> None:
    key = SshKey()
    scene.host.authorize(key)
    behind = ("127.0.0.1", scene.host.port)
    stranger = SocksServer(behind=behind, login=("kim", PASSWORD))
    closed = SocksServer(behind=behind, answer=2)
    async with stranger.open(), closed.open(), refusing_proxy() as refusing:
        cases = {
            f"socks5://kim:another@127.0.0.1:{stranger.port}": "refuses user and password",
            f"127.0.0.1:{stranger.port}": "refuses user and password",
            f"socks5://127.0.0.1:{closed.port}": "does not connect to the host",
            f"http://kim:{PASSWORD}@127.0.0.1:{refusing}": "refuses user and password",
            f"socks5://127.0.0.1:{scene.host.port}": "does not answer as one",
            f"http://127.0.0.1:{scene.host.port}": "does not answer as one",
            "socks5://127.0.0.1:1": "cannot be reached",
        }
        for proxy, expected in cases.items():
            scene.secrets.clear()
            scene.secret(sshPrivateKey=key.private(), proxy=proxy)
            error = await scene.refusal()
            assert expected in error.message, proxy
            assert error.reason is Reason.REPOSITORY_UNREACHABLE
            assert PASSWORD not in error.message
            assert "another" not in error.message


async def test_a_host_that_is_away_is_said_in_the_words_of_ssh(scene: Scene) -> None:
    await scene.host.down()
    error = await scene.refusal()
    assert "connect to host 127.0.0.1" in error.message
    assert "Check that the host is up" in error.message


@pytest.mark.parametrize(
    "url",
    [
        "ssh://-oProxyCommand=touch$IFS/tmp/x/app.git",
        "ssh://-oProxyCommand@host/app.git",
        "ext::sh -c touch% /tmp/x",
        "file:///etc",
        "fd::17/app",
    ],
)
async def test_a_url_that_is_an_option_or_another_transport_is_refused(
    scene: Scene, url: str
) -> None:
    with pytest.raises(RepositoryError) as caught:
        await scene.git.fetch(scene.git.access(url))
    assert caught.value.reason is Reason.INVALID_SPEC


async def test_a_push_over_ssh_is_synced_and_a_host_that_nobody_knows_is_named(
    stopped_agent: AgentFixture, git_host: GitHost, tmp_path: Path
) -> None:
    """The Secret and the ConfigMap as Argo CD has them, written while the agent runs."""
    agent, key = stopped_agent, SshKey()
    async with ssh_host(tmp_path / "ssh", git_host.folder) as host, agent.running():
        host.authorize(key)
        url = host.url(agent.repository.name)
        first = agent.commit({"web/a.yaml": config_map("a", key="1")})
        await agent.api.create(
            f"/api/v1/namespaces/{agent.namespace}/secrets",
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": "shop-repository",
                    "labels": {"argocd.argoproj.io/secret-type": "repository"},
                },
                "stringData": {"url": url, "sshPrivateKey": key.private()},
            },
        )
        await agent.apply_app("web", "web", source={"repoURL": url}, syncPolicy=HEALING)
        app = await agent.until(lambda one: "ComparisonError" in conditions(one), app="web")
        assert "argocd-ssh-known-hosts-cm" in conditions(app)["ComparisonError"]

        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-ssh-known-hosts-cm"},
            "data": {"ssh_known_hosts": host.known_hosts},
        }
        path = f"/api/v1/namespaces/{agent.namespace}/configmaps/argocd-ssh-known-hosts-cm"
        await agent.api.apply(path, body)
        assert await synced_to(agent, first) == {}
        second = agent.commit({"web/a.yaml": config_map("a", key="2")})
        assert await synced_to(agent, second) == {}


async def synced_to(agent: AgentFixture, sha: str) -> Mapping[str, str]:
    """The conditions of the Application once it is synced to this commit."""

    def is_there(app: Mapping[str, Any]) -> bool:
        return is_synced(app) and app["status"]["sync"]["revision"] == sha

    return conditions(await agent.until(is_there, app="web"))


def everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
