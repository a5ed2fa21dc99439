"""Targets of outgoing requests, as values: which spellings of inner addresses there are."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.outgoing import AddressPolicy, InvalidTargetError, parse_target
from service.outgoing.target import numeric_address

PUBLIC = AddressPolicy()
LAB = AddressPolicy(allowed=(ip_network("10.20.0.0/16"),), plain_http=True)

INSIDE = (
    "127。0。0。1",
    "①②⑦.0.0.1",
    "１２７．０．０．１",  # noqa: RUF001  digits of full width
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[fe80::1]",
    "[fd00::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001::1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "x.localhost",
    "192.0.0.8",
    "192.0.0.192",
    "192.88.99.1",
    "168.63.129.16",
    "[::ffff:168.63.129.16]",
    "[3fff::1]",
    "[5f00::1]",
)


@pytest.mark.parametrize("host", INSIDE)
def test_no_spelling_of_an_inner_host_is_a_target(host: str) -> None:
    with pytest.raises(InvalidTargetError):
        parse_target(f"https://{host}/x", PUBLIC)


REFUSED = (
    "ftp://a.example/x",
    "https://",
    "https://user:password@a.example/",
    "https://user@a.example/",
    "https://:password@a.example/",
    "file:///etc/passwd",
    "https://a.example:99999/",
    "https://a.example:0/",
    "no url",
    "//a.example/x",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    r"https://a.example\@127.0.0.1/",
    "http://a.example/x",
    "https://a.example/" + "x" * 3000,
)


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_no_public_https_target_is_refused(url: str) -> None:
    with pytest.raises(InvalidTargetError):
        parse_target(url, PUBLIC)


@pytest.mark.parametrize(
    "url",
    ["https://hooks.example/x?y=1", "https://93.184.215.14:8443/", "https://[2606:4700::1111]/"],
)
def test_a_public_target_is_taken(url: str) -> None:
    assert str(parse_target(url, PUBLIC)) == url


def test_a_lab_opens_plain_http_and_the_networks_that_it_names() -> None:
    assert parse_target("http://10.20.3.4/x", LAB)
    assert parse_target("http://[::ffff:10.20.3.4]/x", LAB)
    with pytest.raises(InvalidTargetError):
        parse_target("http://10.21.3.4/x", LAB)
    with pytest.raises(InvalidTargetError):
        parse_target("http://127.0.0.1/x", LAB)


@given(st.integers(min_value=0, max_value=2**24 - 1))
def test_digits_in_any_base_mean_the_address_that_a_resolver_reads(rest: int) -> None:
    number = (127 << 24) + rest
    spellings = (str(number), hex(number), f"0{number:o}", f"127.{rest}", str(ip_address(number)))
    assert {numeric_address(it) for it in spellings} == {ip_address(number)}
    assert not PUBLIC.permits(ip_address(number))
    assert not PUBLIC.permits(ip_address(f"::ffff:{number >> 16:x}:{number & 0xFFFF:x}"))
