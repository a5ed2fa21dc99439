"""A body of a mebibyte is looked through in one walk, whatever stands in it."""

import pytest

from service.api.clear import check_names_and_values
from service.api.problem import ProblemError
from service.audit.redact import redacted

LONG = 1 << 20
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
