"""Tells another program when an arm wears out, falls silent or starves: a signed POST request, repeated if it is not taken.

The body is JSON: `{"id", "event": "worn", "silent" or "starved", "bandit", "arm", "time"}`. The header `Rotting-Signature`
is the HMAC with SHA-256 of the body, in hexadecimal digits, with the secret that both sides know. Every server of a store sends
what it finds: the same finding has the same `id` for a day.
"""

import hashlib
import hmac
import http.client
import logging
import threading
import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from rotting.errors import InvalidValueError
from rotting.live.arms import arm_to_json
from rotting.server.store.events import BanditRecord, encode

_PAUSES = (1.0, 10.0, 60.0, 600.0)  # seconds before each new attempt
_SECONDS = 10.0  # for one attempt
_log = logging.getLogger("rotting.server")


class Webhook:
    """Sends messages, one after the other, in a thread of its own.

    Args:
        url: where to.
        secret: signs the messages.
        pauses: seconds before each new attempt.
    """

    def __init__(self, url: str, secret: str, pauses: tuple[float, ...] = _PAUSES) -> None:
        try:
            parts = urlsplit(url)
            is_sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:  # such as a port that is no number
            is_sound = False
        if not is_sound or not url.isascii() or not url.isprintable() or " " in url:
            raise InvalidValueError("webhook", "be an address that begins with http:// or https://, in ASCII", url)
        if not secret:
            raise InvalidValueError("ROTTING_WEBHOOK_SECRET", "hold the secret that signs the messages of a webhook", secret)
        self._parts, self._secret, self._pauses = parts, secret.encode(), pauses
        self._sender = ThreadPoolExecutor(1, "rotting-webhook")
        self._stopping = threading.Event()

    def tell(self, record: BanditRecord, event: str, arms: frozenset[Hashable]) -> None:
        """Send a message for each arm."""
        for arm in arms:
            shown = arm_to_json(arm)
            key = hashlib.sha256(encode([record.id, event, shown, int(time.time() // 86_400)])).hexdigest()[:32]
            body = encode({"id": key, "event": event, "bandit": record.name, "arm": shown, "time": time.time()})
            self._sender.submit(self._send, body)

    def close(self) -> None:
        """Give up what was not sent yet."""
        self._stopping.set()
        self._sender.shutdown(cancel_futures=True)

    def _send(self, body: bytes) -> None:
        for pause in (0.0, *self._pauses):
            if self._stopping.wait(pause):
                return
            try:
                status = self._post(body)
            except (OSError, http.client.HTTPException) as error:
                _log.warning("the webhook was not reached: %s", error)
            else:
                if status < 300:
                    return
                _log.warning("the webhook answered with status %d", status)

    def _post(self, body: bytes) -> int:
        parts = self._parts
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = connect(str(parts.hostname), parts.port, timeout=_SECONDS)
        signature = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, {"Content-Type": "application/json", "Rotting-Signature": signature})
            return connection.getresponse().status
        finally:
            connection.close()
