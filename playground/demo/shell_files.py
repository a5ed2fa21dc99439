"""The folder `.demo` of a running demo: what another terminal needs to use it.

    source .demo/env         gitops on PATH with completion, logged in; KUBECONFIG (bash, zsh)
    source .demo/env.fish    the same for fish
    .demo/info               every address, login and file of the demo (make demo-info)

The login has a file of its own (GITOPS_CONTEXTS), so no other login of the person is touched. The
folder goes when the demo ends; what a demo left that was killed is replaced by the next one.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playground.demo.control_plane import GITOPS, DemoService, written

FOLDER = Path(".demo")
CONTEXT = "demo"
_ENV = """\
# source .demo/env: this shell uses the demo, until it is closed.
export PATH={programs}:"$PATH"
export GITOPS_CONTEXTS={contexts}
export KUBECONFIG={kubeconfig}
if [ -n "${{ZSH_VERSION-}}" ]; then
    (( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -D; }}
    eval "$(gitops completion zsh)"
elif [ -n "${{BASH_VERSION-}}" ]; then
    eval "$(gitops completion bash)"
fi
"""
_ENV_FISH = """\
# source .demo/env.fish: this shell uses the demo, until it is closed.
set -gx PATH {programs} $PATH
set -gx GITOPS_CONTEXTS {contexts}
set -gx KUBECONFIG {kubeconfig}
gitops completion fish | source
"""


class DemoLoginError(RuntimeError):
    """`gitops login` failed; the text is what it printed."""


@dataclass(frozen=True, slots=True)
class ShellFiles:
    folder: Path

    @property
    def info(self) -> Path:
        return self.folder / "info"

    @property
    def contexts(self) -> Path:
        return self.folder / "contexts.json"

    @property
    def owner(self) -> Path:
        """The process id of the demo that made the folder."""
        return self.folder / "pid"


@asynccontextmanager
async def open_shell_files(
    service: DemoService, kubeconfig: Path, folder: Path
) -> AsyncIterator[ShellFiles]:
    """Make the folder, whose path is absolute, and log in.

    At the end the folder is removed, unless another demo has taken it over.
    """
    files = ShellFiles(folder)
    mine = str(os.getpid())
    await asyncio.to_thread(make_folder, files, kubeconfig)
    try:
        await _log_in(service, files)
        yield files
    finally:
        if files.owner.is_file() and files.owner.read_text() == mine:
            shutil.rmtree(files.folder, ignore_errors=True)


def require_demo_folder(folder: Path) -> None:
    """Raise FileExistsError where the folder is there and no demo made it."""
    if folder.exists() and not ShellFiles(folder).owner.exists():
        raise FileExistsError(f"{folder} was made by no demo: move it, or start the demo elsewhere")


def running_info(folder: Path = FOLDER) -> str | None:
    """The information of the demo that runs in this folder; None where none does."""
    files = ShellFiles(folder)
    try:
        os.kill(int(files.owner.read_text()), 0)
        return files.info.read_text()
    except (OSError, ValueError):
        return None


def make_folder(files: ShellFiles, kubeconfig: Path) -> None:
    """Make the folder anew; raises FileExistsError where it is no demo's."""
    require_demo_folder(files.folder)
    shutil.rmtree(files.folder, ignore_errors=True)
    files.folder.mkdir(mode=0o700)
    files.owner.write_text(str(os.getpid()))
    paths = {
        "programs": Path(sys.executable).parent,
        "contexts": files.contexts,
        "kubeconfig": kubeconfig,
    }
    values = {name: shlex.quote(str(path)) for name, path in paths.items()}
    (files.folder / "env").write_text(_ENV.format_map(values))
    (files.folder / "env.fish").write_text(_ENV_FISH.format_map(values))


async def _log_in(service: DemoService, files: ShellFiles) -> None:
    """Log in with an API token: it outlasts a session, and the demo may stay up for days."""
    made = await service.new_token(CONTEXT)
    token = await asyncio.to_thread(written, files.folder / "token", made)
    process = await asyncio.create_subprocess_exec(
        *GITOPS,
        *("login", service.url, "--context", CONTEXT, "--token", "--password-file", str(token)),
        env={**os.environ, "GITOPS_CONTEXTS": str(files.contexts)},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
    )
    output, _ = await process.communicate()
    token.unlink()
    if process.returncode:
        raise DemoLoginError(f"gitops login at {service.url}: {output.decode().strip()}")
