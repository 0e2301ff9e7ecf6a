"""What is built on a lock or on permits: leaders, slots, barriers, by the keys beside the name.

Keys of another form, and those that this user may not read, say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from holdfast.servers import key_beside

from . import _names as names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.servers import Command

    from ._held import Held

    Ask = Callable[[Sequence[Command]], list[Any]]

__all__ = [
    "MOST_FIELDS",
    "keys_beside",
    "of_leader",
    "see_lock",
    "see_permits",
]

#: How the name of the lock of a once ends.
ONCE: Final = b":holdfast_once"
#: How a field of a slot begins; and the length of the permit before who has taken it.
SLOT: Final = b"slot:"
PERMIT_BYTES: Final = 16
#: The keys beside a name.
BESIDE: Final = ("slots", "state")
#: How the field begins that says who a party of a barrier is, before its permit.
WHO: Final = b"who:"
#: The most fields that are read: of a thousand slots, or parties, and of those that have died.
MOST_FIELDS: Final = 8192


def of_leader(name: bytes) -> Command:
    """The command whose reply ``see_lock`` takes."""
    return (b"HMGET", key_beside("state", name), b"owner", b"value")


def see_lock(held: Held, state: Sequence[Any]) -> None:
    """Note what a lock is used for."""
    if held.kind != "lock":
        return
    if held.name.endswith(ONCE):
        held.use = "once"
    elif state and state[0] == held.holds[0].owner:
        held.use = "leader"
        # Behind a letter for its type, "n" for none.
        held.value = state[1][1:] if state[1] and state[1][:1] != b"n" else None


def keys_beside(name: bytes) -> list[bytes]:
    """The keys of what may be built on permits."""
    return [key_beside(word, name) for word in BESIDE]


def see_permits(held: Held, beside: Sequence[Sequence[bytes]]) -> None:
    """Note what a permit semaphore is used for, and who has which permit, as far as it is kept.

    ``beside``: the fields and values of the keys of ``keys_beside``.
    """
    slots, state = (dict(zip(one[::2], one[1::2], strict=True)) for one in beside)
    parties = state.get(b"parties", b"")
    if parties.isdigit() and len(parties) < PERMIT_BYTES:
        held.use = "barrier"
        held.parties, held.broken = int(parties), b"broken" in state
        for hold in held.holds:
            who = state.get(WHO + bytes.fromhex(hold.owner.decode()), b"")
            hold.taker = who.partition(b" ")[0]
    else:
        _see_slots(held, slots)


def _see_slots(held: Held, fields: dict[bytes, bytes]) -> None:
    if b"values" not in fields:
        return
    held.use = "slots"
    places = {
        one[:PERMIT_BYTES].hex().encode(): (field.removeprefix(SLOT), one[PERMIT_BYTES:])
        for field, one in fields.items()
        if field.startswith(SLOT)
    }
    words = fields[b"values"].split(b"\n")
    order = {word: place for place, word in enumerate(words) if word}
    for hold in held.holds:
        word, taker = places.get(hold.owner, (b"", b""))
        hold.slot = names.shown(word) if word else None
        hold.taker = taker.partition(b" ")[0]
    held.holds.sort(key=lambda hold: _place(hold.slot, order))


def _place(slot: str | None, order: dict[bytes, int]) -> int:
    if slot is None:
        return MOST_FIELDS
    return order.get(
        slot.encode(), int(slot) if slot.isdecimal() and len(slot) < PERMIT_BYTES else MOST_FIELDS
    )
