"""A FastAPI application; the server of the locks is named by the environment."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
from fastapi import (
    APIRouter,
    BackgroundTasks,
    Depends,
    FastAPI,
    HTTPException,
    Path,
    Query,
    Request,
    WebSocket,
)
from fastapi.responses import StreamingResponse

import holdfast.asyncio
from holdfast.contrib.fastapi import Locked, get_client, lifespan

app = FastAPI(lifespan=lifespan(os.environ["HOLDFAST_URL"], retries=0))

COUNTER = "counter"


@app.post("/orders/{order_id}", dependencies=[Depends(Locked("order:{order_id}", wait=30))])
async def change(order_id: int, path: str) -> int:
    """Read a number from a file and write the next one: two at once would lose one."""
    with open(path) as file:  # noqa: ASYNC230, PTH123 - small
        number = int(file.read())
    await anyio.sleep(0.001)
    with open(path, "w") as file:  # noqa: ASYNC230, PTH123
        file.write(str(number + 1))
    return number + 1


@app.get("/client")
async def of_client(client: Annotated[holdfast.asyncio.Client, Depends(get_client)]) -> bool:
    async with client.lock("client", wait=1) as lock:
        return await lock.owned()


@app.get("/pid")
async def pid() -> int:
    """Which worker it is."""
    return os.getpid()


@app.get("/impatient/{order_id}", dependencies=[Depends(Locked("order:{order_id}", wait=0.01))])
async def impatient(order_id: int) -> str:
    """Does not wait."""
    return "done"


@app.get("/slow/{order_id}")
async def slow(
    order_id: int,
    request: Request,
    hold: Annotated[Any, Depends(Locked("slow:{order_id}:{kind}", kind="fenced_lock"))],
    kind: str = "plain",
) -> str:
    """Report the beginning, and wait for the order to end; both are keys of the same server."""
    redis = await anyio.to_thread.run_sync(connect)
    redis.set(f"began:{order_id}", hold.token)
    while not redis.exists(f"go:{order_id}"):  # noqa: ASYNC110 - the test is another process
        await anyio.sleep(0.01)
    redis.set(f"ended:{order_id}", int(not hold.lost))
    return "done"


@app.get("/stream/{order_id}", dependencies=[Depends(Locked("stream:{order_id}"))])
async def stream(order_id: int) -> StreamingResponse:
    """A response in two parts; the second waits for the order to end."""
    redis = await anyio.to_thread.run_sync(connect)

    async def parts() -> AsyncIterator[str]:
        yield "first\n"
        while not redis.exists(f"go:{order_id}"):  # noqa: ASYNC110
            await anyio.sleep(0.01)
        yield "second\n"

    return StreamingResponse(parts())


def tenant_of(tenant: str) -> str:
    return tenant


router = APIRouter(prefix="/tenants", dependencies=[Depends(Locked("tenant:{tenant}:{page}"))])


@router.get("/{tenant}")
def names(request: Request, tenant: Annotated[str, Depends(tenant_of)], page: int = 1) -> list[str]:
    """What locks are held during the request; a function that runs in a thread."""
    return sorted(key.decode() for key in connect().scan_iter("tenant:*"))


@app.get("/parts/{id}", dependencies=[Depends(Locked("parts:{order_id}:{part}"))])
def parts(
    order_id: Annotated[int, Path(alias="id", ge=0)], part: Annotated[list[str], Query()]
) -> str:
    """What lock is held, named by parameters that FastAPI has converted."""
    [key] = connect().scan_iter("parts:*")
    return str(key.decode())


shown_locked = Depends(Locked("shown:{tenant}:{order_id}", wait=0))
shown_router = APIRouter(dependencies=[shown_locked])


@shown_router.get("/shown/{order_id}")
@shown_router.get("/shown")
def shown(order_id: int = 3, tenant: str = "none") -> list[str]:
    """What locks are held; one function of four routes, with other parameters in the path."""
    return sorted(key.decode() for key in connect().scan_iter("shown:*"))


app.include_router(shown_router, prefix="/of/{tenant}")
app.include_router(shown_router)


@app.get("/any", dependencies=[Depends(Locked("{name}"))])
def any_name(name: str) -> str:
    return name


@app.websocket("/any")
async def any_socket(
    websocket: WebSocket, hold: Annotated[Any, Depends(Locked("{name}"))], name: str
) -> None:
    await websocket.accept()


@app.get("/failing/{order_id}", dependencies=[Depends(Locked("failing:{order_id}"))])
async def failing(order_id: int, how: str) -> None:
    """Refuses, or fails."""
    if how == "refuse":
        raise HTTPException(409, "no")
    raise KeyError(how)


def stay(order_id: int) -> None:
    """A background task that waits for the order to end."""
    redis = connect()
    redis.set(f"began:{order_id}", 1)
    while not redis.exists(f"go:{order_id}"):
        time.sleep(0.01)


def in_background(order_id: int, tasks: BackgroundTasks) -> str:
    tasks.add_task(stay, order_id)
    return "done"


for path, stays in (("short", False), ("long", True)):
    whole = Depends(Locked("background:{order_id}", background=stays))
    app.get(f"/background/{path}/{{order_id}}", dependencies=[whole])(in_background)


one = Locked("twice:{order_id}", wait=0.01)
other = Locked("twice:{order_id}", wait=0.01)


@app.get("/twice/{order_id}")
async def twice(
    first: Annotated[Any, Depends(one)], second: Annotated[Any, Depends(other)], order_id: int
) -> bool:
    """Whether two dependencies on one name are one hold."""
    return first is second


@app.get("/losing/{order_id}")
async def losing(
    hold: Annotated[Any, Depends(Locked("losing:{order_id}", lease=2, cancel_on_lost=True))],
    order_id: int,
) -> str:
    """Waits until its lock is lost."""
    redis = await anyio.to_thread.run_sync(connect)
    redis.set(f"began:{order_id}", 1)
    await anyio.sleep(60)
    return "done"


@app.websocket("/socket/{order_id}")
async def socket(
    websocket: WebSocket,
    order_id: int,
    hold: Annotated[Any, Depends(Locked("socket:{order_id}", wait=0.01))],
) -> None:
    """Held for the time of the connection."""
    await websocket.accept()
    await websocket.send_text(await websocket.receive_text())


inner = FastAPI()
app.mount("/inner", inner)


@inner.get("/{number}", dependencies=[Depends(Locked("inner:{number}"))])
def of_inner(number: int) -> list[str]:
    """What locks are held during the request."""
    return sorted(key.decode() for key in connect().scan_iter("inner:*"))


def held() -> list[str]:
    """The locks that are held, for a response."""
    return sorted(key.decode() for key in connect().scan_iter("*:7"))


for kind in ("lock", "fair_lock", "fenced_lock", "read", "write"):
    locked = Depends(Locked(f"{kind}:{{number}}", kind=kind, wait=0.01))
    app.get(f"/kinds/{kind}/{{number}}", dependencies=[locked])(lambda number: held())

throttled = Depends(Locked("throttle:{number}", kind="permit_semaphore", permits=2, wait=0.01))
app.get("/throttled/{number}", dependencies=[throttled])(lambda number: {"at": number})
# Without a label, which is one more command with each attempt.
tried = Depends(
    Locked("throttle:{number}", kind="permit_semaphore", permits=2, wait=0, label=False)
)
app.get("/tried/{number}", dependencies=[tried])(lambda number: {"at": number})


app.include_router(router, prefix="/v1")


@asynccontextmanager
async def own_lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with holdfast.asyncio.Client(os.environ["HOLDFAST_URL"]) as client:
        app.state.holdfast = client
        yield


alone = FastAPI(lifespan=own_lifespan)
alone.get("/pid")(pid)
alone.get("/shown/{order_id}", dependencies=[shown_locked])(shown)
alone.get("/shown", dependencies=[shown_locked])(shown)

wrapped = FastAPI(lifespan=app.router.lifespan_context)
wrapped.router.routes.extend(app.router.routes)


@wrapped.middleware("http")
async def passing(request: Request, call_next: Any) -> Any:
    """Does nothing; the request runs in another task than the server."""
    return await call_next(request)


def connect() -> Any:
    import redis

    return redis.Redis.from_url(os.environ["HOLDFAST_URL"])
