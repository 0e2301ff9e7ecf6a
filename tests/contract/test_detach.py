"""A detached hold continues where its ticket is attached; the lock is held throughout."""

from __future__ import annotations

import string
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.contract.kinds import KINDS, Kind
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import BOUND, eventually, stays

MOVABLE = [
    kind for kind in KINDS if kind.name in {"lock", "fair_lock", "fenced_lock", "write_lock"}
]
OTHERS = [kind for kind in KINDS if kind not in MOVABLE]


@pytest.fixture(params=MOVABLE, ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Of the kinds those whose holds can be detached."""
    kind: Kind = request.param
    return kind


def owner(stage: Stage) -> str:
    """The field of the one owner on the server."""
    [field] = stage.holds()
    return field.decode()


def test_a_detached_hold_continues_where_its_ticket_is_attached(
    alice: Any, bob: Any, stage: Stage
) -> None:
    lock = stage.lock()
    hold = alice.do(lock.hold)
    token = hold.token
    ticket = bob.do(hold.detach)
    assert set(ticket) <= set(string.ascii_letters + string.digits + string.punctuation)
    assert (hold.left, hold.lost, hold.loss, hold.token) == (None, False, None, None)
    assert stage.default_client.id not in owner(stage)
    assert 20 < stage.left() <= 30
    other = stage.client()
    assert not alice.do(stage.rival(other).acquire, blocking=False)
    attached = bob.do(other.attach, ticket)
    assert owner(stage).startswith(other.id)
    assert attached.name == NAME
    assert attached.token == token
    assert type(attached.lock) is type(lock)
    alice.do(attached.release)
    assert stage.all_keys() == set()


def test_a_ticket_works_once(alice: Any, stage: Stage) -> None:
    client = stage.default_client
    ticket = alice.do(alice.do(stage.lock().hold).detach, 5)
    attached = alice.do(client.attach, ticket)
    for _ in range(2):
        with pytest.raises(holdfast.LockLostError, match="used before"):
            alice.do(client.attach, ticket)
    assert alice.do(attached.extend, 7)
    assert 5 < attached.left <= 7
    alice.do(attached.release)
    with pytest.raises(holdfast.LockLostError):
        alice.do(client.attach, ticket)


@pytest.mark.realtime
def test_a_ticket_is_worth_nothing_once_the_lock_is_gone(alice: Any, stage: Stage) -> None:
    client, lock = stage.default_client, stage.lock()
    expired = alice.do(alice.do(lock.hold).detach, SHORT)
    hold = alice.do(lock.hold, wait=BOUND)
    with pytest.raises(holdfast.LockLostError, match="expired"):
        alice.do(client.attach, expired)
    taken = alice.do(hold.detach)
    assert alice.do(lock.force_release)
    with pytest.raises(holdfast.LockLostError, match="force"):
        alice.do(client.attach, taken)
    assert stage.all_keys() == set()


@pytest.mark.costly
@pytest.mark.realtime
def test_a_detached_hold_is_not_renewed_and_an_attached_one_is(alice: Any, stage: Stage) -> None:
    client = stage.client(lease=KEPT)
    ticket = alice.do(alice.do(stage.lock(client).hold).detach, 3)
    stays(lambda: bool(stage.holds()), during=SHORT)
    hold = alice.do(client.attach, ticket)
    stage.see_renewals(3)
    assert not hold.lost
    again = alice.do(hold.detach, SHORT)
    eventually(lambda: not stage.holds())
    assert stage.all_keys() == set()
    with pytest.raises(holdfast.LockLostError):
        alice.do(client.attach, again)


@pytest.mark.realtime
def test_an_attached_hold_has_a_lease_and_reports_its_loss(alice: Any, stage: Stage) -> None:
    told: list[Any] = []
    ticket = alice.do(alice.do(stage.lock().hold).detach)
    attached = alice.do(stage.default_client.attach, ticket, lease=SHORT, on_lost=told.append)
    assert 0 < attached.left <= SHORT
    eventually(lambda: told == [attached])
    assert attached.lost
    with pytest.raises(holdfast.LockLostError):
        alice.do(attached.release)


def test_a_hold_ends_once(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    alice.do(hold.release)
    with pytest.raises(holdfast.NotOwnedError, match="released already"):
        alice.do(hold.detach)
    hold = alice.do(stage.lock().hold)
    assert alice.inside(hold, lambda held: held.detach())
    assert len(stage.holds()) == 1
    for end in (hold.release, hold.detach):
        with pytest.raises(holdfast.NotOwnedError, match="detached already"):
            alice.do(end)
    assert not alice.do(hold.extend, 5)
    assert len(stage.holds()) == 1


@pytest.mark.realtime
def test_a_lost_hold_cannot_be_detached(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    stage.take_away()
    with pytest.raises(holdfast.LockLostError):
        alice.do(hold.detach)
    with pytest.raises(holdfast.NotOwnedError) as info:
        alice.do(hold.detach)
    assert info.type is holdfast.NotOwnedError
    assert hold.lost


@pytest.mark.parametrize("kind", OTHERS, ids=repr)
def test_other_kinds_cannot_be_detached(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    with pytest.raises(TypeError, match="cannot be detached"):
        alice.do(hold.detach)
    assert hold.left is not None
    alice.do(hold.release)


def test_bad_leases_of_a_ticket_are_refused(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    for lease, error in ((None, TypeError), ("1", TypeError), (0, ValueError), (-1, ValueError)):
        with pytest.raises(error, match="lease"):
            alice.do(hold.detach, lease)
    assert owner(stage).startswith(stage.default_client.id)
    alice.do(hold.release)


def test_what_is_no_ticket_is_refused(alice: Any, stage: Stage, deaf: Any) -> None:
    ticket = alice.do(alice.do(stage.lock().hold).detach)
    for text in ("", "myLock", ticket[:-1], ticket + "%", ticket.upper(), " " + ticket, "é"):
        if text != ticket[:-1]:  # of a name any beginning is one
            with pytest.raises(ValueError, match="ticket"):
                alice.do(deaf.attach, text)
    for thing in (None, 1, ticket.encode()):
        with pytest.raises(TypeError, match="ticket"):
            alice.do(deaf.attach, thing)
    with pytest.raises(ValueError, match="lease"):
        alice.do(deaf.attach, ticket, lease=0)
    with pytest.raises(TypeError, match="on_lost"):
        alice.do(deaf.attach, ticket, on_lost=1)
    with pytest.raises(ValueError, match=r"outside this client.s name_prefix 'other:';"):
        alice.do(stage.client(name_prefix="other:").attach, ticket)


def forged(ticket: str, field: str) -> str:
    """The ticket with the field of another owner."""
    head, kind, uuid, number, rest = ticket.split(":", 4)
    assert field != f"{uuid}:{number}"
    return f"{head}:{kind}:{field}:{rest}"


def test_a_ticket_that_names_a_living_owner_takes_nothing(
    alice: Any, bob: Any, stage: Stage
) -> None:
    thief = stage.client()
    ticket = alice.do(alice.do(stage.lock().hold).detach)
    alice.do(alice.do(thief.attach, ticket).release)
    hold = bob.do(stage.lock().hold)
    field = owner(stage).removesuffix(":write")
    with pytest.raises(ValueError, match="ticket"):
        alice.do(thief.attach, forged(ticket, field))
    assert owner(stage).startswith(field)
    assert bob.do(hold.extend, 5)
    bob.do(hold.release)


def test_a_ticket_for_another_name_is_refused_and_stays_good(alice: Any, stage: Stage) -> None:
    client = stage.client(name_prefix="shop:")
    ticket = alice.do(alice.do(stage.lock(client).hold).detach)
    for name in ("myLock2", b"my", f"shop:{NAME}"):
        with pytest.raises(ValueError, match=f"ticket is for '{NAME}', not for "):
            alice.do(client.attach, ticket, name=name)
    for name, error in ((1, TypeError), ("", ValueError)):
        with pytest.raises(error, match="name"):
            alice.do(client.attach, ticket, name=name)
    attached = alice.do(client.attach, ticket, name=NAME.encode())
    again = alice.do(attached.detach)
    attached = alice.do(client.attach, again, name=NAME)
    alice.do(attached.release)
