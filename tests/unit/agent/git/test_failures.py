"""What is told about a fetch that failed."""

import shutil
from pathlib import Path

import pytest

from agent.git.credentials import GitCredential
from agent.git.failures import failure, not_made
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from agent.git.transport import Remote
from bus.status import Reason
from handlers.ports import RepositoryAccess, RepositoryError
from tests.unit.agent.git.test_transport import HEADER, REMOTE


@pytest.mark.parametrize(
    ("complaint", "reason"),
    [
        ("fatal: Authentication failed for 'x'", Reason.CREDENTIALS_REFUSED),
        ("fatal: could not read Username for 'x': disabled", Reason.CREDENTIALS_REFUSED),
        ("fatal: The requested URL returned error: 403", Reason.CREDENTIALS_REFUSED),
        ("fatal: repository 'x' not found", Reason.REPOSITORY_UNREACHABLE),
        ("fatal: Failed to connect to x port 1: refused", Reason.REPOSITORY_UNREACHABLE),
        ("fatal: SSL certificate problem: expired", Reason.REPOSITORY_UNREACHABLE),
        ("", Reason.REPOSITORY_UNREACHABLE),
    ],
)
def test_reasons(complaint: str, reason: Reason) -> None:
    error = failure(REMOTE, complaint)
    assert error.reason is reason
    assert str(REMOTE.url) in error.message
    assert "argocd/x" in error.message


@pytest.mark.parametrize(
    "complaint",
    [
        "fatal: write error: No space left on device",
        (
            "error: file write error: No space left on device\nfatal: unable to write object\n"
            "fatal: fetch-pack: invalid index-pack output"
        ),
        "fatal: sha1 file '/x/pack' write error: Disk quota exceeded",
        "fatal: the program git cannot be run: [Errno 28] No space left on device",
    ],
)
def test_a_full_disk_of_ours_is_told_as_such(complaint: str) -> None:
    error = failure(REMOTE, complaint)
    assert error.reason is Reason.DISK_FULL
    assert "GITOPS_STATE_DIR" in error.message
    assert "that the server is up" not in error.message


def test_a_mirror_that_cannot_be_made_is_not_the_server_s_fault() -> None:
    """libgit2's words on a file system that is full, and on one that is not ours to write."""
    template = "failed to initialize repository with template 'info/exclude'"
    error = not_made(REMOTE, f"{template}: No space left on device")
    assert error.reason is Reason.DISK_FULL
    assert "GITOPS_STATE_DIR" in error.message
    error = not_made(REMOTE, "failed to make directory '/x/y.git': Permission denied")
    assert "Permission denied" in error.message
    assert "GITOPS_STATE_DIR" in error.message


async def test_a_folder_that_cannot_be_written_is_told_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    settings = MirrorSettings(folder=tmp_path / "git")
    async with Mirrors(settings, SecretCredentials(tuple)) as mirrors:
        shutil.rmtree(tmp_path / "git")
        (tmp_path / "git").write_text("in the way")
        with pytest.raises(RepositoryError, match="its mirror cannot be made") as raised:
            await mirrors.fetch(RepositoryAccess(url=REMOTE.url))
    assert str(REMOTE.url) in raised.value.message


def test_another_protocol_is_refused_with_a_remedy() -> None:
    error = failure(REMOTE, "fatal: transport 'ssh' not allowed")
    assert "over https" in error.message


def test_a_server_that_repeats_the_credential_is_not_quoted() -> None:
    output = f"remote: you sent {HEADER}\nfatal: 'https://kim:hide-me@git.example' hide-me {HEADER}"
    message = failure(REMOTE, output).message
    assert "hide-me" not in message
    assert HEADER not in message


@pytest.mark.parametrize(
    "first",
    [
        "Failed to connect to x port 1 after 3 ms: refused",
        "verification failed. CAfile: /dev/fd/3 CRLfile: none",
        "could not load PEM client certificate from /dev/fd/3, no start line",
    ],
    ids=["time", "authority", "certificate"],
)
def test_the_same_cause_reads_the_same(first: str) -> None:
    second = first.replace("3 ms", "87 ms").replace("fd/3", "fd/41")
    assert failure(REMOTE, first).message == failure(REMOTE, second).message


@pytest.mark.parametrize(
    ("complaint", "remedy"),
    [
        ("server certificate verification failed.", "ConfigMap argocd-tls-certs-cm, key git.exam"),
        ("SSL certificate problem: unable to get local issuer", "ConfigMap argocd-tls-certs-cm"),
        ("GnuTLS recv error (-110): The TLS connection was non-properly terminated.", "of ours"),
        (
            "unable to access 'x': The requested URL returned error: 301",
            "write that address as URL",
        ),
        ("OpenSSL: tlsv13 alert certificate required, errno 0", "of ours"),
        ("error reading X.509 key or certificate file", "of ours"),
    ],
)
def test_a_greeting_that_failed_says_which_certificate_to_look_at(
    complaint: str, remedy: str
) -> None:
    assert remedy in failure(REMOTE, f"fatal: {complaint}").message


@pytest.mark.parametrize(
    ("credential", "output"),
    [
        (REMOTE.credential, "the server refused this login (credentials of Secret argocd/x)"),
        (None, "the server asks for a login (no Secret fits this URL)"),
    ],
    ids=["with a Secret", "without"],
)
def test_a_login_that_git_would_prompt_for_is_said_in_our_words(
    credential: GitCredential | None, output: str
) -> None:
    complaint = "fatal: could not read Username for 'https://x': terminal prompts disabled"
    assert output in failure(Remote(url=REMOTE.url, credential=credential), complaint).message
