"""A service that every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.services import SONGS, Client, Running, running


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "songs.rot") as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with a bandit called songs, for the tests of a module that do not mind what others did."""
    with running(tmp_path_factory.mktemp("shared") / "songs.rot") as found:
        assert found.client()("PUT", "/v1/bandits/songs", SONGS).status == 201
        yield found


@pytest.fixture(scope="module")
def shared_client(shared: Running) -> Client:
    return shared.client()


@pytest.fixture
def client(service: Running) -> Client:
    return service.client()


@pytest.fixture
def songs(client: Client) -> Client:
    """A client of a service that has a bandit called songs."""
    assert client("PUT", "/v1/bandits/songs", SONGS).status == 201
    return client
