"""Public things of the tests: made with gpg 2.2 and ssh-keygen, for nobody."""

import base64
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

ED25519_ID = "73C06D3F1C944386"
ED25519 = """-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawF96xYJKwYBBAHaRw8BAQdA/0NcPrOExstkRYyVhDUOKiNfsawCeTxiGEpg
uc+S2By0K1JlbGVhc2UgUm9ib3QgKGVkMjU1MTkpIDxyb2JvdEBleGFtcGxlLm9y
Zz6IkAQTFggAOBYhBJiQQUge5w3xA4KL8nPAbT8clEOGBQJrAX3rAhsDBQsJCAcC
BhUKCQgLAgQWAgMBAh4BAheAAAoJEHPAbT8clEOGinUBAM5N5KIWCb9Mi08B1/5o
tp8C8CBpc/msgQcPNe9APN9oAQDJZ9lt7LOjyWAEgQAND3CrxadWBSUJRNGTBTdv
NC0GBQ==
=RD0+
-----END PGP PUBLIC KEY BLOCK-----
"""
RSA_ID = "AEE1F44E0A77ED42"
RSA = """-----BEGIN PGP PUBLIC KEY BLOCK-----

mI0EawF96wEEAJd9uhahXRCugFRQ2RVasoppsuPk2dVruYh6xgz2d1XdjbhFfjT1
1CA14g8K4UOvJvZE7xPWMobY9biyCNU5N92qRBjEhvfv13jLsUsAxP9xppAUSzQm
vrLKU4tQd/s7JH0/y+OTDk/O+eSbG9CZ29I9+y56kqu9JRxdkSmeHAShABEBAAG0
K1JlbGVhc2UgUm9ib3QgKHJzYTEwMjQpIDxyb2JvdEBleGFtcGxlLm9yZz6IzgQT
AQoAOBYhBErQv3/r1AgVfYiaba7h9E4Kd+1CBQJrAX3rAhsDBQsJCAcCBhUKCQgL
AgQWAgMBAh4BAheAAAoJEK7h9E4Kd+1CA7QD/iy4VN4SecnsOlsKTu+XLeImTM1p
e5fzgiDVaB6Y0CiJiUMH8T/BqAnAJ0a1ZeYHqIDHFrbOe2H812knc1zV4DFwYHFQ
EflcyIC3jmuQaqyw4rL0L9VOihHeuFfCwZ6vhEyryP5tl5JtilxQHKcFcgp5xIJ3
a8uBpAAw85AA/1OE
=/3LY
-----END PGP PUBLIC KEY BLOCK-----
"""
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpxfp4wzWufG5bk+Jk7VILU6CvCpzl3qd3vW/qKjBLh"
SSH_FINGERPRINT = "SHA256:Goyqp0H8qqRgN2ZNYqXZPSDXJI+dDCOTS1cjbjhVPC4"


def other_ssh_key(kind: str = "ssh-ed25519") -> str:
    blob = len(kind).to_bytes(4, "big") + kind.encode() + b"another key"
    return f"{kind} {base64.b64encode(blob).decode()}"


def certificate(name: str = "git.example", until: int = 2040) -> str:
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(until, 1, 1, tzinfo=UTC))
        .sign(key, None)
    )
    return made.public_bytes(Encoding.PEM).decode()
