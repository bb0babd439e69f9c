"""The server: static files, and everything else from the query process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from indextables.page.guard import App, Guard
from indextables.page.process import PROBLEM, Answer, QueryProcess
from indextables.page.render.layout import problem_page
from indextables.show.markup import el

STATIC = Path(__file__).resolve().parent / "static"
_FILES = {
    "icon.svg": "image/svg+xml",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "theme.js": "text/javascript",
}


def build_app(process: QueryProcess, token: str, port: int) -> App:
    """The whole server as one ASGI application."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # start it before the first request
        await process.start()
        yield
        await process.close()

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            return Response(status_code=404)
        return FileResponse(STATIC / name, media_type=_FILES[name])

    async def page(request: Request) -> Response:
        answer = await _while_connected(request, process)
        if answer is None:
            return Response(status_code=499)  # the client is gone
        if answer.kind == PROBLEM:
            return _problem(answer, as_json=request.url.path.endswith(".json"))
        return Response(answer.body, answer.status, media_type=answer.kind)

    routes = [Route("/static/{name}", static), Route("/{path:path}", page)]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, port)


async def _while_connected(request: Request, process: QueryProcess) -> Answer | None:
    """The answer, or None if the browser disconnected, which cancels the query."""
    pairs = list(request.query_params.multi_items())
    asking = asyncio.create_task(process.ask(request.url.path, pairs))
    leaving = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else None
    finally:
        for task in (asking, leaving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(asking, leaving, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _problem(answer: Answer, *, as_json: bool) -> Response:
    if as_json:
        shown = el("div", el("p", answer.body), class_="problem", role="alert")
        return JSONResponse({"problem": shown})
    return Response(problem_page("Stopped", answer.body), answer.status, media_type="text/html")
