"""The wiring sets every part that a handler can name: none is missed at a request."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from aiohttp import web

import service.api
import service.http
from service.wiring import public_application
from tests.service.api.api_fixture import ApiFixture


def test_each_key_of_a_part_is_set_in_the_application(api: ApiFixture) -> None:
    modules = [
        import_module(found.name)
        for package in (service.api, service.http)
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    ]
    keys = {it for module in modules for it in vars(module).values() if type(it) is web.AppKey}
    app = public_application(api.dependencies)
    assert len(keys) > 10
    assert [key for key in keys if key not in app] == []
