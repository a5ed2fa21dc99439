"""What GnuPG says about a signature, by the program gpg itself."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest

from agent.git.gnupg import Gnupg
from bus.status import Reason
from handlers.ports import RendererBusyError
from handlers.ports.rendering import RenderError
from handlers.trust.gnupg import public_key
from handlers.trust.gnupg_status import GnupgVerdict
from handlers.trust.signature import SignatureState
from handlers.trust.signing_trust import SigningTrust, signing_trust
from tests.signers import LONG_AGO, Signers

CONTENT = b"tree 1\nauthor a <a@b> 1 +0000\n\nhello\n"


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("good", SignatureState.GOOD),
        ("expired", SignatureState.KEY_EXPIRED),
        ("revoked", SignatureState.KEY_REVOKED),
        ("unlisted", SignatureState.KEY_UNKNOWN),
    ],
)
async def test_a_signature_is_as_good_as_its_key(
    signers: Signers, tmp_path: Path, key: str, state: SignatureState
) -> None:
    signed_by = getattr(signers, key)
    found = await Gnupg(tmp_path / "gnupg").check(
        CONTENT, signers.sign(CONTENT, signed_by), signing_trust(signers.listed)
    )
    assert found.state is state
    assert found.key.endswith(signed_by.id)


async def test_changed_content_has_a_bad_signature(signers: Signers, tmp_path: Path) -> None:
    signature = signers.sign(CONTENT, signers.good)
    found = await Gnupg(tmp_path / "gnupg").check(
        CONTENT + b"!", signature, signing_trust(signers.listed)
    )
    assert found.state is SignatureState.BAD


async def test_a_subkey_signs_for_its_primary_key(signers: Signers, tmp_path: Path) -> None:
    subkey = signers.gnupg.subkeys(signers.good.fingerprint)[0]
    found = await Gnupg(tmp_path / "gnupg").check(
        CONTENT, signers.gnupg.sign(CONTENT, subkey), signing_trust(signers.listed)
    )
    assert (found.state, found.key) == (SignatureState.GOOD, subkey)
    assert found.primary == signers.good.fingerprint


async def test_a_signature_may_expire_by_itself(signers: Signers, tmp_path: Path) -> None:
    gnupg, trust = Gnupg(tmp_path / "gnupg"), signing_trust(signers.listed)
    key = signers.good.fingerprint
    lasting = signers.gnupg.sign(CONTENT, key, options=("--default-sig-expire=20991231T000000",))
    found = await gnupg.check(CONTENT, lasting, trust)
    assert (found.state, found.expires > 4_000_000_000) == (SignatureState.GOOD, True)
    short = signers.gnupg.sign(CONTENT, key, since=LONG_AGO, options=("--default-sig-expire=1d",))
    assert (await gnupg.check(CONTENT, short, trust)).state is SignatureState.EXPIRED


async def test_a_signature_by_way_of_sha1_proves_nothing(signers: Signers, tmp_path: Path) -> None:
    weak = signers.gnupg.sign(CONTENT, signers.good.fingerprint, options=("--digest-algo=SHA1",))
    found = await Gnupg(tmp_path / "gnupg").check(CONTENT, weak, signing_trust(signers.listed))
    assert found.state is not SignatureState.GOOD


async def test_two_signatures_are_not_one(signers: Signers, tmp_path: Path) -> None:
    good, other = (signers.sign(CONTENT, key) for key in (signers.good, signers.unlisted))
    found = await Gnupg(tmp_path / "gnupg").check(
        CONTENT, good + other, signing_trust(signers.listed)
    )
    # Only the first block is read, as it is handed to gpg.
    assert found.state is SignatureState.GOOD
    both = signers.gnupg.sign(
        CONTENT, signers.good.fingerprint, options=("-u", signers.unlisted.fingerprint)
    )
    found = await Gnupg(tmp_path / "gnupg").check(CONTENT, both, signing_trust(signers.listed))
    assert found.state is SignatureState.UNREADABLE


@pytest.mark.parametrize(
    "written",
    [
        b"-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n",
        b"-----BEGIN PGP SIGNATURE-----\n\n",
        b"\xff",
        b"-----BEGIN PGP SIGNATURE-----\n" + b"A" * 100_000,
    ],
    ids=["noise", "cut off", "no text", "large"],
)
async def test_what_is_no_signature_cannot_be_read(tmp_path: Path, written: bytes) -> None:
    found = await Gnupg(tmp_path / "gnupg").check(CONTENT, written, SigningTrust())
    assert found.state is SignatureState.UNREADABLE


async def test_a_missing_program_is_named_with_its_package(
    signers: Signers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = signers.sign(CONTENT, signers.good)
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    with pytest.raises(RenderError, match="install GnuPG") as caught:
        await Gnupg(tmp_path / "gnupg").check(CONTENT, signature, signing_trust(signers.listed))
    assert caught.value.reason is Reason.SOURCE_UNPROVEN


async def test_keys_that_change_meanwhile_make_no_key_unknown(
    signers: Signers, tmp_path: Path
) -> None:
    gnupg, signature = Gnupg(tmp_path / "gnupg"), signers.sign(CONTENT, signers.good)
    one, other = dict(signers.listed), {signers.good.id: signers.good.armoured}
    trusts = [signing_trust(data) for data in (one, other) * 4]
    found = await asyncio.gather(
        *(gnupg.check(CONTENT, signature, trust) for trust in trusts), return_exceptions=True
    )
    verdicts = [it for it in found if isinstance(it, GnupgVerdict)]
    assert {it.state for it in verdicts} == {SignatureState.GOOD}
    rest = [it for it in found if not isinstance(it, GnupgVerdict)]
    assert all(isinstance(it, RendererBusyError) for it in rest)


async def test_a_key_that_gnupg_cannot_read_takes_no_other_key_along(
    signers: Signers, tmp_path: Path
) -> None:
    unread = _armoured(b"\x06\0\0\0\x01\x1b\0\0\0\x20" + b"x" * 32)
    data = {**signers.listed, public_key(unread).key_id: unread}
    trust = signing_trust(data)
    assert len(trust.keys) == len(data)
    signature = signers.sign(CONTENT, signers.good)
    found = await Gnupg(tmp_path / "gnupg").check(CONTENT, signature, trust)
    assert found.state is SignatureState.GOOD


async def test_a_program_that_is_killed_says_nothing_about_a_signature(
    signers: Signers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature, trust = signers.sign(CONTENT, signers.good), signing_trust(signers.listed)
    gnupg, program = Gnupg(tmp_path / "gnupg"), tmp_path / "bin" / "gpg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setitem(os.environ, "PATH", str(program.parent))
        with pytest.raises(RenderError, match="ended by the signal 9") as caught:
            await gnupg.check(CONTENT, signature, trust)
        assert caught.value.reason is Reason.WORKER_DIED
    assert (await gnupg.check(CONTENT, signature, trust)).state is SignatureState.GOOD


def _armoured(body: bytes) -> str:
    raw = bytes((0xC6, len(body))) + body
    block = "PGP PUBLIC KEY BLOCK-----"
    return f"-----BEGIN {block}\n\n{base64.b64encode(raw).decode()}\n-----END {block}\n"
