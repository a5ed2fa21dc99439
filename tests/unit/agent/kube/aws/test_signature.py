"""Signature Version 4, against the examples that AWS publishes."""

from __future__ import annotations

from datetime import UTC, datetime

from agent.kube.aws.signature import (
    AwsCredentials,
    AwsRequest,
    SigningScope,
    presigned_query,
    signature,
)


def test_the_vanilla_request_of_the_test_suite_has_its_signature() -> None:
    """`get-vanilla` of AWS' Signature Version 4 test suite."""
    request = AwsRequest(
        headers={"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}, query={}
    )
    signed_at = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    scope = SigningScope(region="us-east-1", service="service", signed_at=signed_at)
    found = signature(request.canonical(), "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", scope)
    assert found == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"


def test_a_signed_url_is_the_one_of_the_guide() -> None:
    """The example of "Authenticating requests: using query parameters" in the guide of S3."""
    request = AwsRequest(
        headers={"host": "examplebucket.s3.amazonaws.com"},
        query={},
        path="/test.txt",
        payload="UNSIGNED-PAYLOAD",
    )
    credentials = AwsCredentials(
        access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    )
    scope = SigningScope(
        region="us-east-1", service="s3", signed_at=datetime(2013, 5, 24, tzinfo=UTC)
    )
    found = presigned_query(request, credentials, scope, seconds=86400)
    assert found == (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
