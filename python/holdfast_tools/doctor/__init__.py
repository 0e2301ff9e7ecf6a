"""Whether a deployment is fit for locks: checks, and what to do about what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import ConnectionError, HoldfastError, ServerError, servers
from holdfast.inspect import shown

from ._certificate import check_certificate
from ._configuration import CHECKS, Account
from ._finding import LEVELS, Finding, bad, unknown
from ._guard import check_guard
from ._locking import check_messages, check_scripts
from ._rights import KINDS, check_rights, keys_in_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from holdfast import Client
    from holdfast.servers import Deployment, Server, Tls

__all__ = ["KINDS", "LEVELS", "Finding", "examine"]


def examine(
    client: Client,
    other: Client,
    name: bytes,
    kinds: Sequence[str] = KINDS,
    *,
    is_new: bool = False,
) -> Iterator[Finding]:
    """The findings, one check after the other.

    Two clients of one deployment are needed to see whether one wakes the other. ``name`` is locked
    and released; ``kinds``: the kinds whose rights are checked. Where keys of the name are there,
    nothing is tried on them; ``is_new``: it was made up, and needs no look. Raises
    ``ConnectionError`` when no server answers, and ``ServerError`` when it refuses the connection.
    """
    deployment = servers.of(client)
    try:
        answering, silent = _answering(deployment)
    except ConnectionError:
        expired = list(_expired_certificates(deployment))
        if not expired:
            raise
        yield from expired
        return
    clustered = deployment.sharded
    accounts = [Account(server, deployment.needs, clustered=clustered) for server in answering]
    for check in CHECKS:
        yield from _merged([(one.server.text, check(one)) for one in accounts])
    yield check_guard()
    yield from silent
    yield from _tried(client, other, name, kinds, is_new=is_new)
    addresses = deployment.primary_addresses() if deployment.tls else [("", 0)]
    yield from _certificates(deployment.tls, addresses)


def _answering(deployment: Deployment) -> tuple[list[Server], list[Finding]]:
    """The primaries that answer, and a finding for each one of a cluster that does not."""
    answering: list[Server] = []
    silent: list[Finding] = []
    failure: ConnectionError | None = None
    for server in deployment.primaries():
        try:
            [reply] = server.ask([(b"PING",)])
        except ConnectionError as error:
            failure = error
            silent.append(_uncovered(server, error))
            continue
        if isinstance(reply, ServerError) and reply.code == "NOAUTH":
            raise reply  # other rights are checked separately
        answering.append(server)
    if failure is not None and not (answering and deployment.sharded):
        raise failure
    return answering, silent


def _uncovered(server: Server, error: ConnectionError) -> Finding:
    return bad(
        "cluster coverage",
        f"{server.text} does not answer: {error}",
        "names in its slots cannot be locked",
        "start it, or fail over to its replica (CLUSTER FAILOVER)",
    )


def _tried(
    client: Client, other: Client, name: bytes, kinds: Sequence[str], *, is_new: bool
) -> Iterator[Finding]:
    """What is tried on keys of the name."""
    deployment = servers.of(client)
    untried: str | None = None
    obstacle: Finding | None = None
    try:
        in_use = [] if is_new else keys_in_use(deployment, name, kinds)
        if in_use:
            untried = f"these keys are there: {', '.join(map(shown, in_use))}"
    except ServerError as error:
        untried = f"whether keys of the test name exist cannot be found out: {error}"
    except HoldfastError as error:
        obstacle = _unusable(error)
    if untried is not None:
        yield from (_untried(check, untried) for check in ("scripts", "pub/sub", "rights"))
        return
    scripts = check_scripts(client, name, deployment)
    yield scripts
    messages = check_messages(client, other, name, deployment)
    yield messages
    locked = [each for each in (scripts, messages) if each.level == "unknown"]
    if locked:  # meanwhile
        obstacle = _untried("rights", locked[0].found)
    yield from _rights(deployment, name, kinds) if obstacle is None else [obstacle]


def _untried(check: str, found: str) -> Finding:
    means = "it was not tried: that could have changed or deleted what is there"
    return unknown(
        check, found, "choose a name that nothing uses with --name, or leave it out", means
    )


def _rights(deployment: Deployment, name: bytes, kinds: Sequence[str]) -> list[Finding]:
    try:
        return check_rights(deployment, name, kinds)
    except HoldfastError as error:
        return [_unusable(error)]


def _unusable(error: HoldfastError) -> Finding:
    do = "see the findings on the server; --name gives a name of another server"
    return unknown("rights", f"the test name cannot be used: {error}", do)


def _certificates(tls: Tls | None, addresses: Iterable[tuple[str, int]]) -> Iterator[Finding]:
    return _merged((f"{at[0]}:{at[1]}", check_certificate(tls, *at)) for at in addresses)


def _expired_certificates(deployment: Deployment) -> Iterator[Finding]:
    """Findings of the servers in the URL that prevent a client from connecting."""
    if deployment.tls:
        addresses = [(host, port) for host, port, _ in deployment.addresses]
        yield from (one for one in _certificates(deployment.tls, addresses) if one.level == "bad")


def _merged(findings: Iterable[tuple[str, Finding]]) -> Iterator[Finding]:
    """Findings that several servers share, merged into one."""
    alike: dict[Finding, list[str]] = {}
    for server, finding in findings:
        alike.setdefault(finding, []).append(server)
    for finding, names in alike.items():
        if len(alike) == 1:
            yield finding
        else:
            found = f"{', '.join(names)}: {finding.found}"
            yield Finding(finding.check, finding.level, found, finding.means, finding.do)
