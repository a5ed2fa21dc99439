"""How a registry says that it wants a login."""

import pytest

from agent.oci.challenge import LoginChallenge, LoginScheme, challenge_of
from agent.oci.manifest import ArtifactError, content_layer, manifest_of

REALM = "https://auth.example/token"
BEARER = LoginChallenge(LoginScheme.BEARER, REALM, "registry.example")


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        (f'Bearer realm="{REALM}",service="registry.example",scope="a:b:pull,push"', BEARER),
        (f'bearer  scope="x,y" , service=registry.example, realm="{REALM}"', BEARER),
        ('Basic realm="registry"', LoginChallenge(LoginScheme.BASIC)),
        ("Basic", LoginChallenge(LoginScheme.BASIC)),
        ('Bearer service="registry.example"', None),
        ("Negotiate", None),
        ("", None),
    ],
)
def test_a_challenge_is_read(header: str, challenge: LoginChallenge | None) -> None:
    assert challenge_of([header]) == challenge


def test_a_token_goes_before_a_password() -> None:
    assert challenge_of(["Basic", f'Bearer realm="{REALM}",service="registry.example"']) == BEARER


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"{", "cannot be read"),
        (b'{"layers": []}', "0 layers with files"),
        (b'{"manifests": [{"mediaType": "a"}]}', "index of several manifests"),
        (b'{"layers": [{"mediaType": "a.tar"}, {"mediaType": "b+tar"}]}', "layer has the digest"),
        (b'{"layers": [' + b",".join([b'{"mediaType": "a"}'] * 11) + b"]}", "11 layers"),
        (b'{"layers": [{"mediaType": "text/html"}]}', "its layers: text/html"),
    ],
)
def test_an_artifact_without_one_layer_of_files_is_refused(manifest: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        content_layer(manifest_of(manifest))
