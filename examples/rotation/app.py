"""An advertising server: each page shows a creative that a bandit chooses, and clicks come back minutes later, or never.

    ROTATION_STORE=ads.rot uvicorn --workers 4 examples.rotation.app:app

Every worker process opens the same bandit; the file has the only truth. A link carries the id of its decision, so that any
worker can take the click, also after a restart.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import rotting

WINDOW = os.environ.get("ROTATION_WINDOW", "30min")
FIRST_ARMS = [f"c{k:02d}" for k in range(10)]


def opened() -> "rotting.Bandit[str]":
    """Open the bandit, or create it if this is the first process."""
    return rotting.open(
        os.environ["ROTATION_STORE"],
        rotting.EffRAWUCB(sigma=0.3),
        arms=FIRST_ARMS,
        reward_window=WINDOW,  # who does not click within it has not clicked
        missing=0.0,
        holdout=0.1,  # one user in ten sees a creative at random, to know what the bandit is worth
    )


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Open the bandit for the life of the process."""
    app.state.bandit = await run_in_threadpool(opened)
    yield
    await run_in_threadpool(app.state.bandit.close)


async def show(request: Request) -> JSONResponse:
    """Choose a creative for a user."""
    bandit = request.app.state.bandit
    decision = await run_in_threadpool(bandit.decide, unit=request.query_params["user"])
    return JSONResponse({"id": decision.id, "creative": decision.arm})


async def click(request: Request) -> JSONResponse:
    """Take a click; sending it twice does no harm."""
    bandit = request.app.state.bandit
    return JSONResponse({"outcome": await run_in_threadpool(bandit.reward, request.path_params["id"], 1.0)})


async def rotate(request: Request) -> JSONResponse:
    """Replace a creative by a new one; clicks on the old one that are under way still count."""
    bandit, old, new = request.app.state.bandit, request.query_params["old"], request.query_params["new"]
    if new not in await run_in_threadpool(lambda: bandit.arms):
        await run_in_threadpool(bandit.add_arm, new)
    if old in await run_in_threadpool(lambda: bandit.arms):
        await run_in_threadpool(bandit.retire, old)
    return JSONResponse({"creatives": list(await run_in_threadpool(lambda: bandit.arms))})


app = Starlette(
    routes=[Route("/show", show), Route("/click/{id}", click, methods=["POST"]), Route("/rotate", rotate, methods=["POST"])],
    lifespan=lifespan,
)
