"""Free ports."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Return an unused port, outside the range that the system assigns to outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
