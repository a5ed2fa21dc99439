from __future__ import annotations

from agent.kube.errors import ConflictError, discreet
from handlers.manifest.encryption import ENCRYPTED_FIELDS
from handlers.ports import ApplyRefusedError

SECRET = {"apiVersion": "v1", "kind": "Secret", "data": {"token": "aHVudGVyMg==", "pin": 12345}}


def test_neither_a_value_nor_its_decoding_is_quoted() -> None:
    error = ApplyRefusedError("not 'hunter2', not aHVudGVyMg==, not 12345", code=422)

    message = discreet(error, SECRET)

    assert message.message == "not '++++++++', not ++++++++, not ++++++++"
    assert (message.code, message.permanent) == (422, True)


def test_what_a_wrong_secret_nests_is_not_quoted_either() -> None:
    wrong = {**SECRET, "data": {"token": {"hunter2": ["swordfish"]}}}
    error = ApplyRefusedError('token: {"hunter2":["swordfish"]}', code=422)

    assert discreet(error, wrong).message == 'token: {"++++++++":["++++++++"]}'


def test_its_class_stays() -> None:
    error = ConflictError("no", code=409, permanent=False)

    assert type(discreet(error, SECRET)) is ConflictError
    assert not discreet(error, SECRET).permanent


def test_a_value_that_was_encrypted_in_git_is_not_quoted_of_any_kind() -> None:
    metadata = {"name": "shop", "annotations": {ENCRYPTED_FIELDS: '["/spec/plan","/spec/pins"]'}}
    spec = {"plan": 'gold "plus"', "pins": [4711], "size": "large"}
    manifest = {"kind": "Shop", "metadata": metadata, "spec": spec}
    error = ApplyRefusedError('"gold \\"plus\\"" and 4711 do not fit large', code=422)

    assert discreet(error, manifest).message == '"++++++++" and ++++++++ do not fit large'


def test_a_value_at_which_a_message_was_cut_is_not_quoted_in_part() -> None:
    begin = "the field is wrong: ".ljust(1990, ".")
    error = ApplyRefusedError(f"{begin}hunter2222", code=422)
    secret = {"kind": "Secret", "apiVersion": "v1", "stringData": {"token": "hunter22223333"}}

    assert discreet(error, secret).message == f"{begin}++++++++"


def test_what_is_no_secret_is_quoted() -> None:
    error = ApplyRefusedError("12345", code=422)

    assert discreet(error, {**SECRET, "kind": "ConfigMap"}).message == "12345"
