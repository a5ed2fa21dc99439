"""A private key of a Secret, as SSH reads it, and why it cannot be used. Pure.

Nobody is there to type a passphrase, so a key that wants one is refused before it is tried.
"""

from __future__ import annotations

import binascii
from base64 import b64decode

_BEGIN, _END = "-----BEGIN ", "-----END "
_OPENSSH = "OPENSSH PRIVATE KEY"
_MAGIC = b"openssh-key-v1\0"
_PUTTY = "PuTTY-User-Key-File"
_PUBLIC = ("ssh-", "ecdsa-sha2-", "sk-")
_LONGEST = 32 * 1024


def normalised_key(text: str) -> str:
    """Write the key as SSH wants it: lines that end as on Unix, the last one too."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return f"{lines}\n" if lines else ""


def key_problem(text: str) -> str:
    """Say why the key cannot be used, and what to do; empty where nothing speaks against it."""
    key = text.strip()
    if len(key) > _LONGEST:
        return f"its sshPrivateKey has more than {_LONGEST} characters, and is no key"
    if key.startswith(_PUBLIC):
        return "its sshPrivateKey is a public key; store the private one"
    if key.startswith(_PUTTY):
        return (
            "its sshPrivateKey has the format of PuTTY; convert it: "
            "puttygen KEY.ppk -O private-openssh -o KEY"
        )
    label = key.partition(_BEGIN)[2].partition("-----")[0]
    if not key.startswith(_BEGIN) or "PRIVATE KEY" not in label or _END + label not in key:
        return "its sshPrivateKey is no private key in PEM, from the line of BEGIN to that of END"
    if _wants_passphrase(key, label):
        return (
            "its sshPrivateKey is encrypted with a passphrase, which nobody can type here; "
            "store a key without one (ssh-keygen -p), and let the host limit what it may do"
        )
    return ""


def _wants_passphrase(key: str, label: str) -> bool:
    if label != _OPENSSH:
        return "ENCRYPTED" in key
    body = key.partition("-----\n")[2].partition(_END)[0]
    try:
        blob = b64decode("".join(body.split()), validate=True)
    except (binascii.Error, ValueError):
        return False
    return blob.startswith(_MAGIC) and _cipher(blob[len(_MAGIC) :]) != b"none"


def _cipher(fields: bytes) -> bytes:
    """Read the first field of an OpenSSH key (PROTOCOL.key): the cipher of its private part."""
    length = int.from_bytes(fields[:4])
    return fields[4 : 4 + length]
