"""SSH signatures as ssh-keygen makes them, against its own form of allowed signers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from handlers.trust.allowed_signers import FIELD, allowed_signers
from handlers.trust.signature import SignatureCheck, SignatureState
from handlers.trust.signed_object import signed_commit
from handlers.trust.ssh_check import checked_ssh
from tests.signers import Signers

NOW = 1_800_000_000.0
HEAD = b"tree 1\nauthor Ada <a@b> 1 +0000"
MESSAGE = b"\n\nhello\n"
ABOUT = SignatureCheck(id="1", state=SignatureState.UNREADABLE)
KINDS = [("ed25519", ""), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521"), ("rsa", "2048")]


def keygen(*arguments: object, content: bytes = b"") -> bytes:
    command = ("ssh-keygen", "-q", *map(str, arguments))
    return subprocess.run(
        command, input=content, capture_output=True, check=True, timeout=60
    ).stdout


@pytest.fixture
def key(tmp_path: Path, signers: Signers) -> Path:
    return made(tmp_path, "ed25519")


def made(folder: Path, kind: str, bits: str = "") -> Path:
    key = folder / f"{kind}{bits}"
    keygen("-t", kind, *(("-b", bits) if bits else ()), "-N", "", "-C", "", "-f", key)
    return key


def public(key: Path) -> str:
    return key.with_name(f"{key.name}.pub").read_text().strip()


def checked(
    key: Path, line: str, *, namespace: str = "git", message: bytes = MESSAGE, now: float = NOW
) -> SignatureCheck:
    """Sign a commit, and check it against one line."""
    written = keygen("-Y", "sign", "-f", key, "-n", namespace, content=HEAD + MESSAGE)
    header = b"\ngpgsig " + written.strip().replace(b"\n", b"\n ")
    signers, _ = allowed_signers({FIELD: line})
    return checked_ssh(ABOUT, signed_commit(HEAD + header + message), signers, now)


@pytest.mark.parametrize(("kind", "bits"), KINDS)
def test_a_signature_of_every_kind_of_key_is_checked(
    tmp_path: Path, signers: Signers, kind: str, bits: str
) -> None:
    other = made(tmp_path, kind, bits)
    found = checked(other, f"ada@example.org {public(other)}")
    assert found.state is SignatureState.GOOD
    assert found.key == keygen("-l", "-f", other).decode().split()[1]
    assert found.principals[0].is_of("ada@example.org")
    assert not found.principals[0].is_of("eve@example.org")


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


def test_changed_content_has_a_bad_signature(key: Path) -> None:
    found = checked(key, f"ada {public(key)}", message=MESSAGE + b"!")
    assert found.state is SignatureState.BAD


def test_a_signature_for_something_else_than_git_proves_nothing(key: Path) -> None:
    found = checked(key, f"ada {public(key)}", namespace="file")
    assert found.state is SignatureState.UNREADABLE


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ('namespaces="git"', SignatureState.GOOD),
        ('namespaces="file,g?t"', SignatureState.GOOD),
        ('namespaces="file"', SignatureState.KEY_UNKNOWN),
        ('valid-before="20990101"', SignatureState.GOOD),
        ('valid-after="20200101",valid-before="20260101"', SignatureState.KEY_EXPIRED),
        ('valid-after="20990101000000Z"', SignatureState.KEY_EXPIRED),
        ("cert-authority", SignatureState.KEY_UNKNOWN),
        ('no-such-option="1"', SignatureState.KEY_UNKNOWN),
    ],
)
def test_a_line_holds_as_its_options_say(key: Path, options: str, state: SignatureState) -> None:
    assert checked(key, f"ada {options} {public(key)}").state is state


def test_a_key_that_nobody_lists_is_not_known(tmp_path: Path, key: Path) -> None:
    other = made(_folder(tmp_path), "ed25519")
    assert checked(key, f"ada {public(other)}").state is SignatureState.KEY_UNKNOWN


def test_a_small_rsa_key_proves_nothing(key: Path) -> None:
    small = made(key.parent, "rsa", "1024")
    assert checked(small, f"ada {public(small)}").state is SignatureState.BAD


@pytest.mark.parametrize(
    ("principals", "is_of"),
    [
        ("ada@example.org", True),
        ("*@example.org", True),
        ("*@example.org,!ada@*", False),
        ("eve@example.org,a?a@example.org", True),
        ("example.org", False),
    ],
)
def test_principals_are_patterns(key: Path, principals: str, *, is_of: bool) -> None:
    ((signer,), _) = allowed_signers({FIELD: f"{principals} {public(key)}"})
    assert signer.is_of("ada@example.org") is is_of


@pytest.mark.parametrize(
    "line", ["ada", "ada ssh-ed25519 AAAA", "ada ssh-ed25519 !", "ada x y z", "ssh-ed25519 AAAA"]
)
def test_a_line_that_is_not_understood_trusts_nobody_and_is_named(line: str) -> None:
    signers, problems = allowed_signers({FIELD: f"# a comment\n{line}\n"})
    assert signers == ()
    assert [problem.startswith("line 2 of") for problem in problems] == [True]


@pytest.mark.parametrize("cut", [0, 10, 60, 100, 200])
def test_a_damaged_signature_cannot_be_read(key: Path, cut: int) -> None:
    written = keygen("-Y", "sign", "-f", key, "-n", "git", content=HEAD + MESSAGE)
    lines = written[:cut] + b"\n-----END SSH SIGNATURE-----"
    header = b"\ngpgsig " + lines.replace(b"\n", b"\n ")
    signers, _ = allowed_signers({FIELD: f"ada {public(key)}"})
    found = checked_ssh(ABOUT, signed_commit(HEAD + header + MESSAGE), signers, NOW)
    assert found.state is SignatureState.UNREADABLE
