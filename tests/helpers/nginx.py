"""nginx in front of services, with a configuration of the documentation."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.missing_tools import skip_or_fail


@contextmanager
def nginx(folder: Path, configuration: str, port: int) -> Iterator[int]:
    """Run nginx with a configuration that listens on a port; yield the port."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        skip_or_fail("nginx is not installed")
    config = folder / "nginx.conf"
    config.write_text(configuration)
    # The pid is in the configuration of the guide, which is complete, and not in the one for a container.
    directives = "daemon off;" if "\npid " in configuration else "daemon off; pid nginx.pid;"
    command = [program, "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log"), "-g", directives]
    with subprocess.Popen(command) as server:
        try:
            deadline = time.monotonic() + 30.0
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < deadline, (folder / "error.log").read_text()
                    time.sleep(0.02)
            yield port
        finally:
            server.terminate()
