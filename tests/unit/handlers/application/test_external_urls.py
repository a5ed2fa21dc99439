"""The URLs that an application's Ingresses and link annotations name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bus.identity import ResourceKey
from handlers.application.external_urls import external_urls, may_have_urls

CONFIG = ResourceKey("", "ConfigMap", "shop", "web")


def ingress(rules: list[dict[str, Any]], tls: list[Any] | None = None, **notes: str) -> Any:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "annotations": notes},
        "spec": {"rules": rules, **({"tls": tls} if tls else {})},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}, {"hostname": "lb.example"}]}},
    }


def rule(host: str, *paths: str) -> dict[str, Any]:
    return {"host": host, "http": {"paths": [{"path": path} for path in paths]}}


SHOP = rule("shop.example", "/", "/api/*")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            ingress([SHOP]), ("http://shop.example/", "http://shop.example/api/"), id="http"
        ),
        pytest.param(
            ingress([rule("shop.example")], [{"hosts": ["shop.example"]}]),
            ("https://shop.example",),
            id="https",
        ),
        pytest.param(
            ingress([rule("shop.example")], [{"hosts": ["other.example"]}]),
            ("http://shop.example",),
            id="https of another host",
        ),
        pytest.param(
            ingress([rule("", "/")], [{"secretName": "all"}]),
            ("https://192.0.2.7/", "https://lb.example/"),
            id="by address",
        ),
        pytest.param(
            ingress([SHOP], **{"argocd.argoproj.io/ignore-default-links": "true"}), (), id="ignored"
        ),
        pytest.param(ingress([]), (), id="no rules"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Service", "spec": {"rules": [SHOP]}}, (), id="other"
        ),
    ],
)
def test_an_ingress_is_reached_by_its_hosts(written: Any, expected: tuple[str, ...]) -> None:
    assert external_urls([written]) == expected


def linked(**links: object) -> dict[str, Any]:
    notes = {f"link.argocd.argoproj.io/{name}": value for name, value in links.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": notes}}


def test_annotations_name_urls_with_and_without_a_title() -> None:
    written = linked(a="https://wiki.example/web", b="Logs|http://logs.example/web")
    assert external_urls([written, written]) == (
        "Logs|http://logs.example/web",
        "https://wiki.example/web",
    )
    assert may_have_urls(CONFIG, msgspec.json.encode(written))


@pytest.mark.parametrize(
    "value",
    [
        "javascript:alert(1)",
        "Click|javascript:alert(1)",
        "//evil.example",
        "",
        "data:text/html,x",
        7,
    ],
)
def test_what_is_no_web_address_is_left_out(value: object) -> None:
    assert external_urls([linked(a=value)]) == ()


def test_number_and_length_are_bounded() -> None:
    many = linked(**{f"n{i}": f"https://{i}.example" for i in range(300)})
    assert len(external_urls([many])) == 100
    assert external_urls([linked(a="https://x.example/" + "a" * 3000)]) == ()
    assert not may_have_urls(CONFIG, b"{}")
