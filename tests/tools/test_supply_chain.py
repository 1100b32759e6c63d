"""What is downloaded is pinned by its hash, and what runs has no more rights than it needs."""

import http.server
import json
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are another package

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOCKS = sorted(ROOT.glob("requirements-*.lock"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REQUIREMENT = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; .+?)?(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)")


def load_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def locked(path: Path) -> dict[str, tuple[str, str]]:
    """Return the version and the hashes of each package of a lock; a line that has none of it fails the test."""
    text = path.read_text("utf-8").replace(" \\\n    ", " ")
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = REQUIREMENT.fullmatch(line)
            assert match is not None, line
            found[match["name"]] = match["version"], match["hashes"]
    return found


# --- Workflows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest_and_name_their_version(path: Path) -> None:
    uses = re.findall(r"^.*\buses:.*$", path.read_text("utf-8"), re.MULTILINE)
    assert uses
    for line in uses:
        assert re.fullmatch(r" +(?:- )?uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_an_action_has_the_same_digest_everywhere() -> None:
    pins = {pin for path in WORKFLOWS for pin in re.findall(r"uses: (.*)", path.read_text("utf-8"))}
    assert len(pins) == len({pin.split("@")[0] for pin in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_only_read_unless_a_job_says_more(path: Path) -> None:
    assert load_yaml(path)["permissions"] == {"contents": "read"}


def test_only_the_jobs_that_publish_may_do_more() -> None:
    jobs = {name: job for path in WORKFLOWS for name, job in load_yaml(path)["jobs"].items() if job.get("permissions")}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "publish": {"id-token": "write"},
        "publish-site": {"id-token": "write", "pages": "write"},
    }
    for job in jobs.values():  # they run nothing but pinned actions
        assert all("run" not in step for step in job["steps"])


def test_a_release_is_built_apart_from_the_tests() -> None:
    jobs = load_yaml(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert "bash .ci/run" in commands["test"]
    installs = [command for command in commands["build"] if "pip" in command]
    assert installs == ["python -m pip install --require-hashes --only-binary :all: -r requirements-build.lock"]
    assert not any(".ci/run" in command or "make" in command for command in commands["build"])
    assert {"test", "build", "check"} <= set(jobs["publish"]["needs"])


def test_no_checkout_leaves_a_token_behind() -> None:
    for path in WORKFLOWS:
        steps = [step for job in load_yaml(path)["jobs"].values() for step in job["steps"]]
        for step in steps:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


# --- Locks --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_locked_package_has_hashes(path: Path) -> None:
    assert locked(path)
    assert "://" not in path.read_text("utf-8")  # no index, no host


def test_the_locks_agree() -> None:
    every = locked(ROOT / "requirements-dev.lock")
    for path in LOCKS:
        assert locked(path).items() <= every.items()


def test_the_locks_hold_what_is_installed_from_them() -> None:
    def direct(requirements: list[str]) -> set[str]:
        names = (re.match(r"[\w-]+", each) for each in requirements)
        return {match[0].lower() for match in names if match is not None} - {"rotting"}

    extras, core = PROJECT["project"]["optional-dependencies"], PROJECT["project"]["dependencies"]
    backend = PROJECT["dependency-groups"]["build"]
    assert backend == PROJECT["build-system"]["requires"]
    assert direct(backend) <= set(locked(ROOT / "requirements-build.lock"))
    assert direct([*core, *extras["plot"], *backend]) <= set(locked(ROOT / "requirements-report.lock"))
    assert direct([*core, *extras["store"], *extras["service"]]) <= set(locked(ROOT / "requirements-service.lock"))


def test_make_installs_nothing_without_a_hash_but_the_project() -> None:
    done = subprocess.run(
        ["make", "-C", str(ROOT), "--dry-run", "--always-make", "VENV=none", "none/.ready"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    installs = [line.split("pip install ")[1] for line in done.stdout.splitlines() if "pip install" in line]
    quiet = "--quiet --disable-pip-version-check"
    assert installs == [
        f"{quiet} --require-hashes -r requirements-report.lock",
        f"{quiet} --no-deps --no-build-isolation --editable .",
        f"{quiet} --require-hashes -r requirements-dev.lock",
    ]


# --- The image ----------------------------------------------------------------------------------------------------------------


def test_base_images_are_pinned_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim@sha256:[0-9a-f]{64}", bases[0])


def test_the_image_installs_nothing_without_a_hash_but_the_project() -> None:
    installs = re.findall(r"pip.* install (.*)", DOCKERFILE)
    assert installs == [
        "--require-hashes --only-binary :all: -r /source/requirements-build.lock",
        "--require-hashes --only-binary :all: -r /source/requirements-service.lock",
        "--no-deps /source/dist/*.whl",
    ]
    assert "pip" not in DOCKERFILE.split("\nFROM ")[2].split("\n", 1)[1]  # the stage that is shipped installs nothing


def test_compiled_code_is_not_on_the_volume_of_the_data() -> None:
    cache = re.findall(r"NUMBA_CACHE_DIR=(\S+)", DOCKERFILE)
    volumes = load_yaml(ROOT / "compose.yaml")["services"]["one"]["volumes"]
    assert cache == ["/var/cache/rotting"]
    assert volumes == ["data:/data", f"cache:{cache[0]}"]
    assert json.loads(re.findall(r"^VOLUME (.*)$", DOCKERFILE, re.MULTILINE)[0]) == ["/data", cache[0]]


def test_the_container_has_no_more_rights_than_it_needs() -> None:
    services = load_yaml(ROOT / "compose.yaml")["services"]
    service = services["one"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [each.split(":")[0] for each in service["tmpfs"]] == ["/tmp"]
    assert {"mem_limit", "pids_limit"} <= set(service)
    assert "privileged" not in service
    assert [port for each in services.values() for port in each.get("ports", ())] == ["127.0.0.1:8080:8080"]
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["rotting"]


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_asks_whether_the_service_is_ready(status: int, code: int) -> None:
    requested = []

    class Ready(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    options, command = re.findall(r"^HEALTHCHECK (.*) \\\n  CMD (.*)$", DOCKERFILE, re.MULTILINE)[0]
    assert {option.split("=")[0] for option in options.split()} >= {"--interval", "--timeout"}
    with http.server.HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.handle_request).start()
        _, flag, script = json.loads(command)
        done = subprocess.run([sys.executable, flag, script.replace("8000", str(server.server_port))], check=False)
    assert (done.returncode, requested) == (code, ["/readyz"])


def test_the_health_check_fails_if_nobody_answers() -> None:
    script = json.loads(re.findall(r"^  CMD (.*)$", DOCKERFILE, re.MULTILINE)[0])[2]
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        free = str(server.server_port)
    done = subprocess.run([sys.executable, "-c", script.replace("8000", free)], capture_output=True, check=False)
    assert done.returncode == 1
