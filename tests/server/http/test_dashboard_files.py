"""The files of the dashboard, as a browser gets them."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from rotting.server.http import dashboard_files
from rotting.server.http.tokens import new_token
from tests.helpers.services import Client, running

KINDS = {"html": "text/html; charset=utf-8", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@pytest.mark.parametrize("path", dashboard_files.FILES)
def test_every_file_is_served_with_a_strict_policy(shared_client: Client, path: str) -> None:
    response = shared_client("GET", path)
    assert response.status == 200
    ending = "html" if path == "/" else path.rpartition(".")[2]
    assert response.headers["content-type"] == KINDS[ending]
    policy = dict(rule.strip().split(" ", 1) for rule in response.headers["content-security-policy"].split(";"))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) <= {"'self'", "'none'"}
    assert {"script-src", "base-uri", "form-action", "frame-ancestors"} <= set(policy)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert shared_client("HEAD", path).headers["content-length"] == str(len(dashboard_files.FILES[path].content))


@pytest.mark.parametrize("path", dashboard_files.FILES)
def test_no_file_names_another_host(path: str) -> None:
    found = set(re.findall(r"(?:https?:)?//[\w.-]+\.[\w/.-]+", dashboard_files.FILES[path].content.decode()))
    assert found <= {"http://www.w3.org/2000/svg"}  # the name of a format, which nobody asks for


def test_every_imported_script_exists() -> None:
    for path, page in dashboard_files.FILES.items():
        if path.endswith(".js"):
            for name in re.findall(r'from "\./([\w.]+)"', page.content.decode()):
                assert f"/dashboard/{name}" in dashboard_files.FILES
        if path == "/":
            for name in re.findall(r'(?:href|src)="(/[^"]*)"', page.content.decode()):
                assert name in dashboard_files.FILES


def test_the_wheel_contains_the_dashboard() -> None:
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    # Then it has all files below the package that git does not ignore.
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/rotting"]
    files = [str(file.relative_to(root)) for file in (root / "src/rotting/server/http/dashboard").iterdir()]
    assert len(files) == len(dashboard_files.FILES)
    found = subprocess.run(["git", "check-ignore", *files], cwd=root, capture_output=True, text=True, check=False)
    if found.returncode == 128:
        pytest.skip("no repository")
    assert found.stdout == ""


def test_the_page_needs_no_token_and_what_it_shows_does(tmp_path: Path) -> None:
    new_token(tmp_path / "tokens", "reader", ["read"])
    with running(tmp_path / "songs.rot", token_file=str(tmp_path / "tokens")) as service:
        client = service.client()
        assert client("GET", "/").status == 200
        assert client("GET", "/v1/bandits").status == 401


def test_other_files_and_methods_are_refused(shared_client: Client) -> None:
    for path in ("/dashboard/", "/dashboard/../client.py", "/dashboard/%2e%2e/client.py", "/index.html", "/favicon.ico"):
        assert shared_client("GET", path).status == 404
    assert shared_client("POST", "/").status == 405
