"""The Java peer by itself: two Redisson clients, equal or of different releases, on one lock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.interop.conftest import NewPeer, Report
from tests.interop.java_build import RELEASES, BuildError, build
from tests.interop.java_objects import ILLEGAL_MONITOR_STATE, JavaError
from tests.interop.java_peer import JavaPeer, PeerEnded
from tests.interop.wire import LockKey
from tests.support.waiting import eventually


@pytest.fixture(params=RELEASES)
def second(request: pytest.FixtureRequest, new_peer: NewPeer, build_root: Path) -> JavaPeer:
    """A second client, of the same or of the other release."""
    return new_peer(other=build(request.param, build_root))


def test_a_built_peer_is_not_built_again(
    class_path: str, release: str, build_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert build(release, build_root) == class_path


def test_a_missing_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="java"):
        build(RELEASES[0], tmp_path)


def test_it_is_the_release_asked_for_and_its_clock_is_ours(peer: JavaPeer, release: str) -> None:
    assert peer.redisson == release
    before = time.monotonic_ns()
    assert before < peer.clock() < time.monotonic_ns()


def test_what_it_does_not_know_is_an_error(peer: JavaPeer, key: LockKey) -> None:
    for kind, op in (("lock", "juggle"), ("juggler", "lock"), ("peer", "juggle")):
        with pytest.raises(JavaError, match=r"IllegalArgumentException: no .* \"juggle"):
            peer.submit("t1", kind, op, name=key.name).result(10)


def test_two_clients_exclude_each_other(peer: JavaPeer, second: JavaPeer, key: LockKey) -> None:
    mine, neighbour, other = peer.lock(key.name), peer.lock(key.name, "t2"), second.lock(key.name)
    mine.lock(lease=60)
    mine.lock(lease=60)
    assert key.holds() == {mine.owner: 2}
    assert not neighbour.try_lock()
    assert not other.try_lock(wait=0.05)
    assert other.is_locked()
    assert (mine.hold_count(), neighbour.hold_count(), other.hold_count()) == (2, 0, 0)
    assert mine.is_held_by_current_thread()
    assert not other.is_held_by_current_thread()
    assert 50 < other.remain_time_to_live() <= 60
    for stranger in (neighbour, other):
        with pytest.raises(JavaError) as caught:
            stranger.unlock()
        assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    mine.unlock()
    assert not other.try_lock()
    mine.unlock()
    assert other.try_lock(wait=1, lease=60)
    other.unlock()
    assert key.holds() == {}


def test_an_unlock_wakes_the_other_client(
    peer: JavaPeer, second: JavaPeer, key: LockKey, report: Report
) -> None:
    seconds = []
    for holder, waiter in [(peer.lock(key.name), second.lock(key.name))] * 5:
        holder.lock(lease=60)
        asleep = key.next_waiter_sleeps()
        waiting = waiter.begin_lock(lease=60)
        eventually(asleep)
        released = holder.unlock()
        seconds.append((waiting.result(10).ended - released.began) / 1e9)
        waiter.unlock()
        eventually(key.no_client_waits)
    report.waits("Java to Java", seconds)
    assert max(seconds) < 2


def test_a_forced_unlock_takes_the_lock_from_its_holder(
    peer: JavaPeer, second: JavaPeer, key: LockKey
) -> None:
    peer.lock(key.name).lock()
    assert second.lock(key.name).force_unlock()
    assert not second.lock(key.name).force_unlock()
    with pytest.raises(JavaError) as caught:
        peer.lock(key.name).unlock()
    assert caught.value.java_class == ILLEGAL_MONITOR_STATE


def test_a_killed_client_loses_its_lock_when_the_lease_is_over(
    peer: JavaPeer, new_peer: NewPeer, key: LockKey
) -> None:
    victim = new_peer(watchdog=1.5)
    held = victim.lock(key.name)
    held.lock()
    pending = victim.lock(key.name, "t2").begin_lock()
    victim.kill()
    with pytest.raises(PeerEnded):
        pending.result(10)
    with pytest.raises(PeerEnded):
        held.unlock()
    expiry = time.monotonic() + key.seconds_left()
    waiting = peer.lock(key.name).begin_try_lock(wait=10, lease=60).result(20)
    assert waiting.value
    assert waiting.ended / 1e9 - expiry < 1
    peer.lock(key.name).unlock()


def test_a_peer_without_a_driver_ends(new_peer: NewPeer, key: LockKey) -> None:
    lonely = new_peer()
    lonely.lock(key.name).lock(lease=1)
    blocked = lonely.lock(key.name, "t2").begin_lock()
    lonely.hang_up()
    with pytest.raises(PeerEnded):
        blocked.result(10)


def test_rounds_of_two_clients_add_up(peer: JavaPeer, second: JavaPeer, key: LockKey) -> None:
    counter = f"{key.name} counter"
    soaks = [
        client.lock(key.name, thread).begin_soak(counter, seconds=30, pause=0.001, iterations=50)
        for client in (peer, second)
        for thread in ("t1", "t2")
    ]
    assert [soak.result(60).value for soak in soaks] == [50] * 4
    assert key.server.inspect.get(counter) == b"200"
