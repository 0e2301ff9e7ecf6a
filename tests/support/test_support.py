"""The support code tested on itself, with redis-py."""

from __future__ import annotations

import hashlib
import threading
from uuid import uuid4

import pytest
import redis

from tests.support.fault_schedule import FAULTS, draw, inject
from tests.support.fixtures import StartServer
from tests.support.processes import StartChild
from tests.support.proxy import COMMANDS, SUBSCRIPTIONS, FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually


def test_a_server_is_empty_and_answers(server: Server) -> None:
    assert server.keys() == set()
    server.inspect.set("left", "behind")


def test_nothing_is_left_of_the_last_test(server: Server) -> None:
    assert server.keys() == set()


def test_subscribers_are_counted(server: Server) -> None:
    listener = server.connect()
    channel = listener.pubsub()
    channel.subscribe("news")
    eventually(lambda: server.subscribers("news") == 1)
    channel.close()
    listener.close()
    eventually(lambda: server.subscribers("news") == 0)


@pytest.mark.servers("real")
def test_a_recording_holds_what_others_sent(server: Server) -> None:
    other = server.connect()
    other.set("before", 1)
    with server.recording() as recording:
        other.set("a name", 1)
        other.eval("redis.call('set', KEYS[1], 2); return redis.call('get', KEYS[1])", 1, "b")
        server.inspect.get("not recorded")
        assert recording.count() == {"SET": 1, "EVAL": 1}
        assert [sent.name for sent in recording.scripted] == ["SET", "GET"]
        recording.clear()
        assert recording.commands == []
    other.close()


def test_restart_keeps_data_or_drops_them(private_server: Server) -> None:
    port = private_server.port
    private_server.inspect.set("key", "value")
    private_server.restart(keep_data=True)
    assert private_server.port == port
    assert private_server.inspect.get("key") == b"value"
    private_server.restart(keep_data=False)
    assert private_server.keys() == set()


def test_a_paused_server_does_not_answer(private_server: Server) -> None:
    impatient = private_server.connect(socket_timeout=0.05)
    private_server.pause()
    with pytest.raises(redis.TimeoutError):
        impatient.ping()
    private_server.resume()
    impatient.close()
    assert private_server.inspect.ping()


def test_connections_are_listed_and_killed(private_server: Server) -> None:
    other = private_server.connect()
    assert other.ping()
    assert len(private_server.connections()) == 1
    assert private_server.kill_connections() == 1
    eventually(lambda: private_server.connections() == [])
    other.close()


def test_a_unix_socket_and_a_password(start_server: StartServer) -> None:
    server = start_server(password="hunter2")
    assert server.connect(unix_socket_path=str(server.socket_path)).ping()
    with pytest.raises(redis.AuthenticationError):
        server.connect(password=None).ping()


def test_a_faithful_proxy_and_a_lost_reply(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port)
        assert through.set("key", "value")
        lost = proxy.lose_reply(b"INCR")
        with pytest.raises(redis.ConnectionError):
            through.execute_command("INCR", "count")
        assert lost.wait(1)
        assert server.inspect.get("count") == b"1"
        assert through.execute_command("INCR", "count") == 2
        through.close()


def test_a_proxy_truncates_slices_delays_and_swallows(server: Server) -> None:
    server.inspect.set("key", "v" * 1000)
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port, socket_timeout=1)
        proxy.truncate_reply(10, b"GET")
        with pytest.raises(redis.ConnectionError):
            through.get("key")
        proxy.slices(1)
        assert through.get("key") == b"v" * 1000
        proxy.heal()
        proxy.delay(0.05)
        watch = Stopwatch()
        assert through.ping()
        assert watch.seconds >= 0.1
        proxy.heal()
        through.close()
        impatient = server.connect(port=proxy.port, socket_timeout=1)
        assert impatient.ping()
        proxy.black_hole()
        with pytest.raises(redis.TimeoutError):
            impatient.set("swallowed", 1)
        assert server.keys() == {b"key"}
        proxy.heal()
        proxy.stall()
        with pytest.raises(redis.TimeoutError):
            impatient.ping()
        proxy.heal()
        assert impatient.ping()
        impatient.close()


def test_a_proxy_cuts_half_closes_and_refuses(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port)
        assert through.ping()
        assert proxy.connections == 1
        assert proxy.cut() == 1
        assert proxy.connections == 0
        assert through.ping()
        proxy.half_close()
        eventually(lambda: proxy.connections == 1)
        proxy.refuse()
        with pytest.raises(redis.ConnectionError):
            through.ping()
        through.close()


def test_a_deaf_proxy_lets_commands_through(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port, socket_timeout=1)
        assert through.ping()
        proxy.deafen()
        with pytest.raises(redis.TimeoutError):
            through.set("executed", 1)
        eventually(lambda: server.keys() == {b"executed"})
        proxy.heal()
        assert through.ping()
        through.close()


def test_a_proxy_passes_one_more_script_and_then_nothing(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port, socket_timeout=1)
        assert through.ping()  # it is connected
        proxy.pass_one_more()
        for name in ("first", "second"):
            with pytest.raises(redis.TimeoutError):
                through.eval("return redis.call('set', KEYS[1], 1)", 1, name)
        eventually(lambda: server.keys() == {b"first"})
        proxy.heal()
        assert through.eval("return 7", 0) == 7
        assert server.keys() == {b"first"}
        through.close()


def test_the_one_more_script_is_one_that_the_server_knows(server: Server) -> None:
    script = f"return redis.call('set', KEYS[1], '{uuid4()}')"
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port, socket_timeout=1)
        assert through.ping()  # it is connected
        proxy.pass_one_more()
        with pytest.raises(redis.exceptions.NoScriptError):
            through.evalsha(hashlib.sha1(script.encode()).hexdigest(), 1, "first")
        with pytest.raises(redis.TimeoutError):
            through.eval(script, 1, "second")
        eventually(lambda: server.keys() == {b"second"})
        through.close()


@pytest.mark.parametrize("lost", [COMMANDS, SUBSCRIPTIONS])
def test_a_proxy_splits_commands_from_subscriptions(server: Server, lost: str) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port, socket_timeout=1)
        listener = server.connect(port=proxy.port).pubsub()
        listener.subscribe("news")
        assert listener.get_message(timeout=BOUND)["type"] == "subscribe"
        assert through.ping()
        proxy.black_hole(lost)
        server.inspect.publish("news", "one")
        if lost == COMMANDS:
            with pytest.raises(redis.TimeoutError):
                through.ping()
            assert listener.get_message(timeout=BOUND)["data"] == b"one"
        else:
            assert through.ping()
            assert listener.get_message(timeout=0.1) is None
        proxy.heal()
        listener.close()
        through.close()


def test_a_proxy_loses_one_message(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        listener = server.connect(port=proxy.port).pubsub(ignore_subscribe_messages=True)
        listener.subscribe("news")
        eventually(lambda: server.subscribers("news") == 1)
        proxy.lose_messages()
        server.inspect.publish("news", "one")
        eventually(lambda: proxy.faults.messages_to_lose == 0)
        server.inspect.publish("news", "two")
        heard = eventually(lambda: listener.get_message(timeout=0.01))
        assert heard["data"] == b"two"
        listener.close()


def test_a_lost_reply_is_found_in_a_pipeline(server: Server) -> None:
    with FaultProxy(server.port) as proxy:
        through = server.connect(port=proxy.port)
        lost = proxy.lose_reply(b"INCRBY")
        pipeline = through.pipeline(transaction=False).set("before", "x" * 1000).incr("count")
        with pytest.raises(redis.ConnectionError):
            pipeline.execute()
        assert lost.is_set()
        eventually(lambda: server.inspect.get("count") == b"1")
        through.close()


def test_the_same_seed_draws_the_same_faults(server: Server) -> None:
    faults = draw(7, 50, longest=0.01, calm=0.01)
    assert faults == draw(7, 50, longest=0.01, calm=0.01)
    assert faults != draw(8, 50, longest=0.01, calm=0.01)
    assert {fault.name for fault in faults} == set(FAULTS)
    with FaultProxy(server.port) as proxy:
        inject(proxy, faults, threading.Event())
        through = server.connect(port=proxy.port)
        assert through.ping()
        through.close()


def test_a_child_meets_its_parent(start_child: StartChild) -> None:
    child = start_child("say('doubled', NUMBER * 2); say(hear()); sys.exit(3)", NUMBER=21)
    assert child.expect("doubled") == ["42"]
    child.send("word")
    child.expect("word")
    assert child.wait() == 3


def test_a_child_that_fails_is_reported_with_its_errors(start_child: StartChild) -> None:
    child = start_child("raise KeyError('lost')")
    with pytest.raises(AssertionError, match="KeyError: 'lost'"):
        child.expect("anything")


def test_messages_are_collected_up_to_now(server: Server) -> None:
    with server.listening("news") as messages:
        assert messages.received() == []
        server.inspect.publish("news", "one")
        server.inspect.publish("other", "two")
        server.inspect.publish("news", "three")
        assert messages.received() == [b"one", b"three"]
        assert messages.received() == []
