"""What the benchmark reads from a profile of callgrind, and from a table of strace."""

from __future__ import annotations

from benchmarks.instructions import kernel
from benchmarks.instructions.callgrind import calls

PROFILE = """\
fl=(1) /src/cpp/locks/sync/operation/operation.cpp
fn=(1) holdfast::sync::Operation::wait(holdfast::sync::Interrupt*)
10 7
cfi=(2) /src/cpp/redis/base/clock.h
cfn=(2) holdfast::Clock::now() const
calls=3 12
11 40
fi=(2)
12 5
fe=(1)
cfi=(3) /usr/include/c++/12/bits/shared_ptr.h
cfn=(3) std::_Sp_counted_base::_M_release()
calls=9 1
13 40

fl=(2)
fn=(2)
12 9

fl=(3)
fn=(3)
1 9

fl=(4) Python/ceval.c
fn=(4) eval
cfi=(1)
cfn=(1)
calls=2 10
1 99
cfn=(5) holdfast::sync::Operation::wait(holdfast::sync::Interrupt*)'2
calls=1 10
1 99

fl=(1)
fn=(5)
10 1
"""


def test_calls_of_a_function_are_counted_by_its_file() -> None:
    wait = (
        "holdfast::sync::Operation::wait(holdfast::sync::Interrupt*)",
        "locks/sync/operation/operation",
    )
    assert calls(PROFILE) == {wait: 3, ("holdfast::Clock::now() const", "redis/base/clock"): 3}


def test_without_debug_information_none_is_counted() -> None:
    assert calls("fl=(1) ???\nfn=(1) start\ncfn=(1)\ncalls=3 1\n1 4\n") == {}


TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 97.30    0.000900           4       200           clock_nanosleep
  2.70    0.000025           1        25        14 recvfrom
  0.00    0.000000           0         7           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000925           3       232        14 total
"""


def test_the_pauses_of_the_subject_are_no_system_calls_of_the_client() -> None:
    assert kernel.total(TABLE) == 32
