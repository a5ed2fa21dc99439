import pytest


@pytest.fixture
def database_url(new_database_url: str) -> str:
    """Here the service makes its partitions: none is there before."""
    return new_database_url
