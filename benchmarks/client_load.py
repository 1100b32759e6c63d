"""The load of a client of the library: `python -m benchmarks.client_load PORT BANDIT CALLERS ROUNDS`.

So many threads share one `Client`, then as many tasks one `AsyncClient`; each decides and sends the reward, again and again.
Prints the CPU time of this process for a decision and its reward, in microseconds, for both clients.
"""

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import rotting


def blocking_us(url: str, name: str, callers: int, rounds: int) -> float:
    """Return the CPU time of `Client`."""

    def work(count: int) -> None:
        for k in range(count):
            bandit.reward(bandit.decide(), k % 2)

    with rotting.Client(url) as client, ThreadPoolExecutor(callers) as threads:
        bandit = client.bandit(name)
        list(threads.map(work, [2] * callers))  # opens the connections
        began = time.process_time()
        list(threads.map(work, [rounds] * callers))
        return (time.process_time() - began) / (callers * rounds) * 1e6


async def async_us(url: str, name: str, callers: int, rounds: int) -> float:
    """Return the CPU time of `AsyncClient`."""

    async def work(count: int) -> None:
        for k in range(count):
            await bandit.reward(await bandit.decide(), k % 2)

    async with rotting.AsyncClient(url) as client:
        bandit = client.bandit(name)
        await asyncio.gather(*(work(2) for _ in range(callers)))
        began = time.process_time()
        await asyncio.gather(*(work(rounds) for _ in range(callers)))
        return (time.process_time() - began) / (callers * rounds) * 1e6


if __name__ == "__main__":
    url, name, callers, rounds = f"http://127.0.0.1:{sys.argv[1]}", sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    found = {
        "Client": blocking_us(url, name, callers, rounds),
        "AsyncClient": asyncio.run(async_us(url, name, callers, rounds)),
    }
    sys.stdout.write(json.dumps(found) + "\n")
