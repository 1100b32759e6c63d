"""The commands of the guide to the service, as a shell runs them, and what the guide and the docstrings do in Python."""

import asyncio
import inspect
import json
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

import rotting
from tests.helpers.blocks import block
from tests.helpers.services import running, service_process, wait_for_line

PAGE = "docs/guides/serving.md"
ADDRESS = "http://127.0.0.1:8000"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="there is no curl")
def test_the_commands_of_the_guide_work(tmp_path: Path) -> None:
    scripts = [f"{block(PAGE, start)}\n" for start in ("site=http", "curl -sS http://127.0.0.1:8000/v1/bandits")]
    with service_process(tmp_path / "songs.rot", 0) as process:
        port = wait_for_line(process, "serving").split("http://127.0.0.1:")[1].split(",")[0]
        script = "".join(scripts).replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace("curl -sS", "curl -sS -w '\\n'")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    responses = [json.loads(line) for line in done.stdout.splitlines()]
    made, decided, rewarded, explained, added, log = responses[:6]
    assert made["name"] == "songs"
    assert sorted(each["arm"] for each in decided["decisions"]) == ["jazz", "rock"]
    assert rewarded["results"] == [{"id": decided["decisions"][0]["id"], "outcome": "applied"}]
    assert {"jazz", "rock", "folk"} <= {each["arm"] for each in explained["arms"]}
    assert "blues" in json.dumps(added)
    kinds = [each["payload"].get("event") for each in log["events"]]
    assert [kind for kind in kinds if kind is not None] == ["decided", "decided", "rewarded", "added"]
    bandits, tried, cancelled, expired, removed, resumed, history, archived = responses[6:]
    assert [each["name"] for each in bandits["bandits"]] == ["songs"]
    assert [each["id"] for each in tried["decisions"]] == [None]
    assert [each["outcome"] for each in cancelled["results"]] == ["applied"]
    assert expired == {"results": [], "expired": 0, "more": False}
    assert removed["retired"] == ["blues"]
    assert "blues" in resumed["arms"]
    assert (history["totals"]["decisions"], history["totals"]["lost"]) == (3, 1)
    assert (archived["name"], archived["archived"]) == ("songs", True)


def in_docstring(value: object) -> str:
    """The block of code of a docstring."""
    return textwrap.dedent((inspect.getdoc(value) or "").split("::\n\n")[1].partition("\n\n")[0])


def test_the_clients_work(tmp_path: Path) -> None:
    blocking, waiting = in_docstring(rotting.Client), in_docstring(rotting.AsyncClient)
    programs = [blocking, block(PAGE, "import rotting"), f"async def main():\n{textwrap.indent(waiting, '    ')}"]
    with running(tmp_path / "songs.rot") as service:
        names: dict[str, Any] = {"rotting": rotting}
        address = f"http://127.0.0.1:{service.port}"
        for code in programs:
            assert ADDRESS in code
            exec(code.replace(ADDRESS, address), names)
        asyncio.run(names["main"]())
        with rotting.Client(address) as client:
            assert sum(each.pulls for each in client.bandit("songs").explain().values()) == 3
