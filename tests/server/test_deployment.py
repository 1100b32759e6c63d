"""The examples in deploy/ and compose.yaml: their schema, and the commands in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are another package

from rotting import cli
from rotting.server.http import handlers  # noqa: F401 - fills the table of routes
from rotting.server.http.routes import ROUTES
from rotting.server.http.tokens import new_token
from rotting.server.store.database import open_database

ROOT = Path(__file__).parents[2]
MANIFESTS = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text("utf-8")))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DEPLOYMENT = MANIFESTS[0]
(CONTAINER,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each["kind"])
@pytest.mark.parametrize("version", ["1.31", "1.34"])
def test_the_manifest_keeps_to_the_schema_of_kubernetes(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**manifest, "spec": {**manifest["spec"], "replica": 2}}, version, strict=True)


def places(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "httpGet" in node:
            yield node["httpGet"]
        for each in node.values():
            yield from places(each)


def test_the_parts_of_the_manifest_fit_together() -> None:
    pod, service = DEPLOYMENT["spec"]["template"], MANIFESTS[1]
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"] == service["spec"]["selector"]
    ports = {each["containerPort"] for each in CONTAINER["ports"]}
    assert {each["port"] for each in places(CONTAINER)} == {each["targetPort"] for each in service["spec"]["ports"]} == ports
    assert {each["path"] for each in places(CONTAINER)} <= {route.path for route in ROUTES}
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/livez"  # a database that is away must restart no server
    assert {each["name"] for each in CONTAINER["volumeMounts"]} == {each["name"] for each in pod["spec"]["volumes"]}


def test_the_services_of_compose_fit_together() -> None:
    services = COMPOSE["services"]
    nginx = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    assert set(re.findall(r"server (\w+):8000", nginx)) == set(services) - {"database", "nginx"}
    (mount,) = services["nginx"]["volumes"]
    assert (ROOT / mount.split(":")[0]).is_file()
    for name in ("one", "two"):
        assert services[name]["depends_on"] == {"database": {"condition": "service_healthy"}}
        assert {each.split(":")[0] for each in services[name]["volumes"]} <= set(COMPOSE["volumes"])


@pytest.mark.parametrize("command", [CONTAINER["args"], COMPOSE["services"]["one"]["command"]], ids=["kubernetes", "compose"])
def test_their_servers_start_with_these_arguments(command: list[str], tmp_path: Path) -> None:
    tokens, store = str(tmp_path / "tokens"), str(tmp_path / "songs.rot")
    new_token(Path(tokens), "shop", ["decide"])
    open_database(store).close()
    own = [{"$(STORE)": store}.get(each, tokens if each.endswith("/tokens") else each) for each in command]
    own = [store if each.startswith("postgresql://") else each for each in own]
    assert own.count(store) == own.count(tokens) == 1
    assert cli.main([*own, "--check"]) == 0
