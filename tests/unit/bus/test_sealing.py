from __future__ import annotations

import pytest

from bus.link.sealing import sealing_fingerprint


def test_the_fingerprint_has_the_form_of_openssh() -> None:
    """The same vector stands in the tests of the dashboard."""
    found = sealing_fingerprint("j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8=")
    assert found == "SHA256:7t2IPaCpRRWT3Ao45YP7dw+ifbvtIJwgQE4HXmjE8Mk"


@pytest.mark.parametrize("key", ["", "c2hvcnQ="])
def test_what_is_no_key_has_no_fingerprint(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        sealing_fingerprint(key)
