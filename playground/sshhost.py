"""An SSH server on loopback for the repositories of a Git host: OpenSSH's, with its own keys.

Whoever has an authorized key may fetch and push, through Git's restricted shell, as the user that
runs the tests. A path in a URL begins at the folder of the repositories, as at Git hosts. The host
key can be made anew, as when a host is replaced.
"""

import asyncio
import getpass
import os
import shlex
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole
from playground.toolchain import ToolMissingError

_SHELL = """cd {} && git-shell -c "$(printf %s "$SSH_ORIGINAL_COMMAND" | sed "s, '/, './,")" """
"""Git asks for `git-upload-pack '/name.git'`: the slash is the folder of the repositories."""
_OPENSSH = serialization.PrivateFormat.OpenSSH
_OWN_DIRECTORY = Path("/run/sshd")
"""Where Debian's server puts itself before a login, when root starts it."""

PrivateKey = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class SshKey:
    """A key pair, private part in OpenSSH's format."""

    def __init__(self, key: PrivateKey | None = None) -> None:
        self._key = key or ed25519.Ed25519PrivateKey.generate()

    def private(self, form: serialization.PrivateFormat = _OPENSSH) -> str:
        """Write the private key in PEM."""
        plain = serialization.NoEncryption()
        return self._key.private_bytes(serialization.Encoding.PEM, form, plain).decode()

    async def encrypted(self, folder: Path, passphrase: str) -> str:
        """Write the private key as `ssh-keygen` encrypts it."""
        file = folder / "encrypted"
        write_whole(file, self.private().encode())
        command = ("ssh-keygen", "-q", "-p", "-N", passphrase, "-f", str(file))
        run = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        assert await run.wait() == 0
        return await asyncio.to_thread(file.read_text)

    @property
    def public(self) -> str:
        """One line without a comment."""
        return (
            self._key.public_key()
            .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
            .decode()
        )


class SshHost:
    def __init__(self, folder: Path, repositories: Path, port: int) -> None:
        self.user = getpass.getuser()
        self.port = port
        self._folder = folder
        self._repositories = repositories
        self._host_key = SshKey()
        self.child: ChildProcess

    def url(self, name: str) -> str:
        return f"ssh://{self.user}@127.0.0.1:{self.port}/{name}.git"

    @property
    def known_hosts(self) -> str:
        """The line by which this host is known."""
        return f"[127.0.0.1]:{self.port} {self._host_key.public}\n"

    def authorize(self, *keys: SshKey) -> None:
        """Let these keys in, and no other."""
        shell = _SHELL.format(shlex.quote(str(self._repositories))).strip()
        quoted = shell.replace('"', '\\"')
        options = f'restrict,command="{quoted}"'
        lines = "".join(f"{options} {key.public}\n" for key in keys)
        (self._folder / "authorized_keys").write_text(lines)

    @property
    def connections(self) -> int:
        """How many connections are open now."""
        return len(_children(self.child.pid))

    async def down(self) -> None:
        """Stop the server, and cut the connections, whose processes would outlive it."""
        connections = _descendants(self.child.pid)
        await self.child.stop()
        for pid in connections:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def replace(self) -> None:
        """As another machine that answers at this address: its host key is another."""
        await self.down()
        self._host_key = SshKey()
        self.write()
        await self.child.start()

    def write(self) -> None:
        """Write the server's files."""
        self._folder.mkdir(parents=True, exist_ok=True)
        key = self._folder / "host_key"
        key.write_text(self._host_key.private())
        key.chmod(0o600)
        # With a home of its own the user's shell reads no start-up file.
        options = {
            "AcceptEnv": "GIT_PROTOCOL",
            "AuthorizedKeysFile": self._folder / "authorized_keys",
            "HostKey": key,
            "ListenAddress": f"127.0.0.1:{self.port}",
            "MaxStartups": 200,
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "PidFile": "none",
            "SetEnv": f"HOME={self._folder}",
            "StrictModes": "no",
            "UsePAM": "no",
        }
        lines = (f"{name} {value}\n" for name, value in options.items())
        (self._folder / "sshd_config").write_text("".join(lines))


@asynccontextmanager
async def ssh_host(folder: Path, repositories: Path) -> AsyncIterator[SshHost]:
    """Serve the bare repositories below a folder; nobody is let in before `authorize`."""
    binary = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        raise ToolMissingError("no sshd found: apt-get install openssh-server")
    if os.geteuid() == 0:
        await asyncio.to_thread(_OWN_DIRECTORY.mkdir, mode=0o755, exist_ok=True)
    host = SshHost(folder, repositories, free_port())
    await asyncio.to_thread(host.write)
    host.authorize()
    command = (binary, "-D", "-e", "-f", str(folder / "sshd_config"))
    program = ChildProgram(name="sshd", command=command, folder=folder)
    async with ChildProcess(program, answers_tcp(host.port)) as child:
        host.child = child
        try:
            yield host
        finally:
            await host.down()


def _descendants(pid: int | None) -> list[int]:
    """The processes below one, as they are now."""
    children = _children(pid)
    return [*children, *(one for child in children for one in _descendants(child))]


def _children(pid: int | None) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]
