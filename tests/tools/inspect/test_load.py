"""What a scan costs the server: at most a twentieth of a core."""

from __future__ import annotations

import time

import pytest

import holdfast
from holdfast import inspect
from holdfast.servers import BURST, LONGEST, SHARE, Pace
from tests.support.fixtures import StartServer
from tests.support.servers import Server

KEYS = 200_000


def busy(server: Server) -> float:
    """The processor time that the server has taken so far."""
    figures = server.inspect.info("cpu")
    return float(figures["used_cpu_user"]) + float(figures["used_cpu_sys"])


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.servers("redis")
@pytest.mark.parametrize("kind", ["no lock", "lock"])
def test_scans_take_a_twentieth_of_a_core(start_server: StartServer, kind: str) -> None:
    server = start_server()
    if kind == "lock":
        owner = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
        script = "for i = 1, ARGV[2] do redis.call('hset', 'lock:' .. i, ARGV[1], 1) end"
        server.inspect.eval(script, 0, owner, KEYS // 20)
    else:
        server.inspect.execute_command("DEBUG", "POPULATE", str(KEYS))
    with holdfast.Client(server.url) as client:
        inspect.locks(client, "none")
        before, began = busy(server), time.monotonic()
        while time.monotonic() < began + 4:
            inspect.locks(client)
        took = time.monotonic() - began
        # What others ask, and the reading of commands, comes on top of what is measured.
        assert busy(server) - before < (2 * SHARE) * took + BURST


def test_the_pause_fits_what_a_step_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("holdfast.servers.time.monotonic", lambda: now[0])
    pace = Pace()
    assert pace.spend(BURST) == 0
    assert pace.spend(0.001) == pytest.approx(0.001 / SHARE)
    now[0] += 0.001 / SHARE
    assert pace.spend(0.01) == pytest.approx(0.01 / SHARE)
    assert pace.spend(60) == pytest.approx(LONGEST)  # the server was held up by something else
    now[0] += 3600  # an hour of rest is not spent later
    assert pace.spend(BURST) == 0
    assert pace.spend(0.001) == pytest.approx(0.001 / SHARE)
