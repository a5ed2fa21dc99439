"""Provenance files of charts, taken apart; what is signed is read, and nothing else."""

import pytest

from handlers.trust.chart_provenance import ChartProvenance, chart_provenance
from handlers.trust.clear_signed import clear_signed

DIGEST = "sha256:" + "0a" * 32
BEGIN = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"
TEXT = f"""apiVersion: v2
name: web
version: 1.0.0+a

...
files:
  web-1.0.0.tgz: {DIGEST}"""
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nabcd\n-----END PGP SIGNATURE-----\n"


def test_a_message_is_its_text_and_its_signature() -> None:
    found = clear_signed(f"{BEGIN}a  \n- - b\n{SIGNATURE}".replace("\n", "\r\n").encode())
    assert found.payload == b"a\r\n- b"
    assert found.signature == SIGNATURE


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        TEXT.encode(),
        f"first\n{BEGIN}{TEXT}\n{SIGNATURE}".encode(),
        f"{BEGIN}{TEXT}\n{SIGNATURE}last\n".encode(),
        f"{BEGIN}{TEXT}\n{SIGNATURE}{BEGIN}{TEXT}\n{SIGNATURE}".encode(),
        f"{BEGIN}{TEXT}\n-----BEGIN\n{SIGNATURE}".encode(),
        f"{BEGIN}{TEXT}\n".encode(),
        BEGIN.replace("Hash", "Comment").encode() + f"{TEXT}\n{SIGNATURE}".encode(),
    ],
)
def test_what_is_not_one_message_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        clear_signed(content)


def test_the_signed_text_names_chart_version_and_digests() -> None:
    found = chart_provenance(TEXT.split("\n"))
    assert found == ChartProvenance("web", "1.0.0+a", (DIGEST,))
    quoted = TEXT.replace("1.0.0+a", '"1.0"')
    assert chart_provenance(quoted.split("\n")).version == "1.0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT.replace("...", "---"),
        f"{TEXT}\n...\nfiles:\n  a: {DIGEST}",
        TEXT.replace("name: web", "name: web\nname: other"),
        TEXT.replace("version: 1.0.0+a\n", ""),
        TEXT.replace("sha256:", "md5:"),
        TEXT.replace("files:", "images:"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it "):
        chart_provenance(text.split("\n"))
