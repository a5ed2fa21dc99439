"""The command line of SSH for a fetch: one key, the known hosts of the agent, nothing of a user.

No configuration file, no agent of keys, no password, no forwarding. A host is believed by the
lines of `argocd-ssh-known-hosts-cm` alone, unless the Secret says `insecure`.

SSH closes every file that it inherits, so key and known hosts, which live in the memory of this
process, are named by `/proc/PID/fd/N`: only processes of the same user can open that.
"""

from __future__ import annotations

import shlex

from agent.git.ssh_proxy import proxy_command

_CONNECT_SECONDS = 15
_ALIVE_SECONDS = 10
_ALIVE_TRIES = 3
_KEPT_SECONDS = 300
"""Without a fetch, after which a shared connection ends."""
_NOTHING = "/dev/null"


def ssh_command(
    *, key: str, known_hosts: str, insecure: bool, socket: str = "", proxy: str = ""
) -> str:
    """`GIT_SSH_COMMAND`, of paths that may be empty; `socket`: of a connection to share.

    `proxy`: of the document that says through which proxy the host is reached.
    """
    options = {
        "BatchMode": "yes",
        "CheckHostIP": "no",
        "ClearAllForwardings": "yes",
        "ConnectTimeout": str(_CONNECT_SECONDS),
        "ControlMaster": "auto" if socket else "no",
        "ControlPath": socket or "none",
        "ControlPersist": str(_KEPT_SECONDS) if socket else "no",
        "GlobalKnownHostsFile": _NOTHING,
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "IdentityFile": key or "none",
        "PermitLocalCommand": "no",
        "PreferredAuthentications": "publickey",
        "ProxyCommand": proxy_command(proxy) if proxy else "none",
        "ProxyUseFdpass": "yes" if proxy else "no",
        "ServerAliveCountMax": str(_ALIVE_TRIES),
        "ServerAliveInterval": str(_ALIVE_SECONDS),
        "StrictHostKeyChecking": "no" if insecure else "yes",
        "UpdateHostKeys": "no",
        "UserKnownHostsFile": _NOTHING if insecure else known_hosts or _NOTHING,
    }
    words = ["ssh", "-F", _NOTHING]
    for name, value in options.items():
        words += ["-o", f"{name}={value}"]
    return shlex.join(words)
