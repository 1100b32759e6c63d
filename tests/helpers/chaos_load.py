"""A client process that calls a service at random: `python -m tests.helpers.chaos_load PORT JOURNAL SEED WORKER BANDIT...`.

Every acknowledged call becomes one line of JSON in the journal, written with a single `write` after the response arrived, so
the process can be killed at any time. A request without a response is retried, with the same idempotency key if it
has one. The process ends with its parent.
"""

import http.client
import json
import os
import random
import sys
import time
from typing import Any, NamedTuple

ARMS = [f"arm-{k}" for k in range(8)]
BANDIT = {"policy": "ucb1", "params": {"sigma": 0.5}, "arms": ARMS, "max_pending": 100_000}

_PAUSE = 0.02  # seconds between two calls, at most
_TIMEOUTS = (0.3, 2.0, 20.0)  # seconds: impatient clients lose replies of a service that is only slow
_OPEN = 200  # decisions that a worker remembers in order to reward them
_BUSY = {429, 503, 507}  # the service may refuse any call for now


class _LostResponseError(Exception):
    """No response arrived: the connection was refused or lost, or the request timed out."""


class Response(NamedTuple):
    status: int
    body: Any


class Worker:
    """Calls a service at random, one call after the other."""

    def __init__(self, port: int, journal: int, seed: int, name: str, bandits: list[str]) -> None:
        self._port = port
        self._journal = journal
        self._random = random.Random(seed)
        self._name = name
        self._bandits = bandits
        self._parent = os.getppid()
        self._connection: http.client.HTTPConnection | None = None
        self._open: list[tuple[str, str]] = []  # bandit and id of decisions without a reward
        self._keys: list[tuple[str, dict[str, Any]]] = []  # bandit and body of keyed requests that were answered
        self._arms: list[tuple[str, str]] = []  # bandit and arm, of those added by this worker
        self._made = 0

    def run(self) -> None:
        """Call until the parent process ends."""
        for bandit in self._bandits:
            self._create(bandit)
        actions = {
            self._decide: 20, self._decide_with_key: 20, self._reward: 40, self._cancel: 4, self._expire: 4,
            self._expire_old: 1, self._repeat_key: 4, self._add_arm: 3, self._remove_arm: 3, self._create_another: 1,
        }  # fmt: skip
        while os.getppid() == self._parent:
            (action,) = self._random.choices(list(actions), list(actions.values()))
            action()
            time.sleep(self._random.random() * _PAUSE)

    # --- Actions --------------------------------------------------------------------------------------------------------------

    def _create(self, bandit: str) -> None:
        if self._ask("PUT", bandit, "", BANDIT):
            self._record("create", bandit)

    def _create_another(self) -> None:
        self._made += 1
        if self._made <= 3:  # a few bandits that nothing else happens to
            self._create(f"{self._name}-{self._made}")

    def _decide(self) -> None:
        self._keep_decisions(self._random.choice(self._bandits), {"count": self._random.randint(1, 5)})

    def _decide_with_key(self) -> None:
        self._made += 1
        key = f"{self._name}:{self._made}:{self._random.getrandbits(32):08x}"
        bandit, body = self._random.choice(self._bandits), {"count": self._random.randint(1, 5), "idempotency_key": key}
        if self._keep_decisions(bandit, body):
            self._keys.append((bandit, body))

    def _repeat_key(self) -> None:
        if self._keys:
            bandit, body = self._random.choice(self._keys)
            response = self._ask("POST", bandit, "/decisions", body)
            if response:
                self._record_decisions(bandit, body, response)

    def _keep_decisions(self, bandit: str, body: dict[str, Any]) -> bool:
        response = self._ask("POST", bandit, "/decisions", body, retry="idempotency_key" in body)
        if response is None:
            return False
        self._record_decisions(bandit, body, response)
        self._open += [(bandit, each["id"]) for each in response.body["decisions"]]
        del self._open[:-_OPEN]
        return True

    def _record_decisions(self, bandit: str, body: dict[str, Any], response: Response) -> None:
        made = [(each["id"], each["arm"], each["round"]) for each in response.body["decisions"]]
        self._record("decide", bandit, key=body.get("idempotency_key"), decisions=made)

    def _take(self) -> tuple[str, list[str]]:
        """Return a bandit and a few of its open decisions, after removing them from `_open`."""
        bandit = self._random.choice(self._bandits)
        ids = [key for name, key in self._open if name == bandit]
        taken = self._random.sample(ids, min(len(ids), self._random.randint(1, 4)))
        self._open = [(name, key) for name, key in self._open if key not in taken]
        return bandit, taken

    def _reward(self) -> None:
        bandit, ids = self._take()
        body = [{"id": each, "reward": self._random.randrange(8) / 8} for each in ids]
        response = self._ask("POST", bandit, "/rewards", body) if ids else None
        if response:
            for given, result in zip(body, response.body["results"], strict=True):
                self._record("reward", bandit, id=given["id"], value=given["reward"], outcome=result["outcome"])

    def _cancel(self) -> None:
        bandit, ids = self._take()
        response = self._ask("POST", bandit, "/cancellations", {"ids": ids}) if ids else None
        for result in response.body["results"] if response else ():
            self._record("cancel", bandit, id=result["id"], outcome=result["outcome"])

    def _expire(self) -> None:
        bandit, ids = self._take()
        missing = self._random.choice(["drop", 0.25])
        response = self._ask("POST", bandit, "/expirations", {"ids": ids, "missing": missing}) if ids else None
        for result in response.body["results"] if response else ():
            self._record("expire", bandit, id=result["id"], missing=missing, outcome=result["outcome"])

    def _expire_old(self) -> None:
        bandit = self._random.choice(self._bandits)
        body = {"older_than_rounds": self._random.randint(200, 2_000)}
        response = self._ask("POST", bandit, "/expirations", body, retry=False)
        if response:
            self._record("expire_old", bandit, expired=response.body["expired"])

    def _add_arm(self) -> None:
        self._made += 1
        bandit, arm = self._random.choice(self._bandits), f"{self._name}-arm-{self._made}"
        if len(self._arms) < 4 and self._ask("PUT", bandit, f"/arms/{arm}"):
            self._arms.append((bandit, arm))
            self._record("add_arm", bandit, arm=arm)

    def _remove_arm(self) -> None:
        if self._arms:
            bandit, arm = self._arms.pop(self._random.randrange(len(self._arms)))
            keep = self._random.random() < 0.5
            if self._ask("DELETE", bandit, f"/arms/{arm}?keep={json.dumps(keep)}"):
                self._record("remove_arm", bandit, arm=arm, keep=keep)

    # --- Requests -------------------------------------------------------------------------------------------------------------

    def _ask(self, method: str, bandit: str, path: str, body: Any = None, retry: bool = True) -> Response | None:
        """Return the acknowledged response; None if the call was refused, or if it failed and is not retried."""
        while os.getppid() == self._parent:
            try:
                response = self._call(method, f"/v1/bandits/{bandit}{path}", body)
            except _LostResponseError:
                time.sleep(self._random.random() * 0.05)
                if not retry:
                    return None
                continue
            if response.status in {200, 201}:
                return response
            if response.status not in _BUSY:
                if (method, response.status) != ("DELETE", 404):  # an earlier attempt may have removed the arm
                    self._record("unexpected", bandit, method=method, path=path, status=response.status, body=response.body)
                return None
            self._record("refused", bandit, status=response.status, body=response.body)
            time.sleep(0.02 + self._random.random() * 0.1)
            if not retry:
                return None
        return None

    def _call(self, method: str, path: str, body: Any) -> Response:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._random.choice(_TIMEOUTS))
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            content = response.read()
            return Response(response.status, json.loads(content))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            self._connection = None
            raise _LostResponseError from error

    def _record(self, call: str, bandit: str, **more: Any) -> None:
        line = json.dumps({"time": time.monotonic(), "call": call, "bandit": bandit, **more})
        os.write(self._journal, line.encode() + b"\n")


if __name__ == "__main__":
    port, path, seed, name, *bandits = sys.argv[1:]
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    Worker(int(port), opened, int(seed), name, bandits).run()
