"""A long body is looked through in one walk, whatever stands in it.

A search that begins anew at each letter would need hours, of a quarter of a mebibyte already.
"""

import pytest

from service.api.connections.no_credentials import check_names_and_values
from service.audit.audit_record import redacted
from service.http.problem import ProblemError

LONG = 1 << 18
UNITS = ("a", "a.", "a-", "://", "a://", "a:", "@", "-----BEGIN ", "ghp_ ", "glpat- ", "AKIA", "é")


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_value_is_searched_in_one_walk(unit: str) -> None:
    run = unit * (LONG // len(unit))
    for text in (run, f"{run}://{run}"):
        check_names_and_values({"note": text})
        redacted({"note": text})


@pytest.mark.parametrize("url", ["https://me:x7canary@git.example/r", "see ssh://a:b@host and so"])
def test_a_url_with_a_password_is_found_wherever_it_stands(url: str) -> None:
    with pytest.raises(ProblemError, match="URL with a password"):
        check_names_and_values({"spec": {"note": url}})
