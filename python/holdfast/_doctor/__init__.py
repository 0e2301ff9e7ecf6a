"""Whether a deployment is fit for locks: checks, and what to do about what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import _core
from holdfast._errors import ConnectionError
from holdfast.inspect import deployment_of

from ._certificate import check_certificate
from ._configuration import CHECKS, Account
from ._finding import LEVELS, Finding
from ._locking import check_messages, check_scripts
from ._rights import KINDS, check_rights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from holdfast._client import Client
    from holdfast.inspect._deployment import Deployment

__all__ = ["KINDS", "LEVELS", "Finding", "examine"]


def examine(
    client: Client, other: Client, name: bytes, kinds: Sequence[str] = KINDS
) -> Iterator[Finding]:
    """The findings, one check after the other.

    Two clients of one deployment are needed to see whether one wakes the other. ``name`` is locked
    and released; ``kinds``: the kinds whose rights are checked. Raises ``ConnectionError`` when no
    server answers, and ``ServerError`` when it refuses the connection.
    """
    deployment = deployment_of(client)
    try:
        servers = deployment.primaries()
        for server in servers:
            server.ask([(b"PING",)])  # the rights are checked separately
    except ConnectionError:
        expired = list(_expired_certificates(deployment))
        if not expired:
            raise
        yield from expired
        return
    clustered = deployment.sharded
    accounts = [Account(server, clustered=clustered) for server in servers]
    for check in CHECKS:
        yield from _merged([(one.server.text, check(one)) for one in accounts])
    yield check_scripts(client, name)
    yield check_messages(client, other, name, deployment)
    yield from check_rights(deployment, name, kinds)
    endpoint = deployment.options.endpoint
    addresses = deployment.primary_addresses() if endpoint.tls else [("", 0)]
    yield from _certificates(endpoint, addresses)


def _certificates(
    endpoint: _core.Endpoint, addresses: Iterable[tuple[str, int]]
) -> Iterator[Finding]:
    return _merged((f"{at[0]}:{at[1]}", check_certificate(endpoint, *at)) for at in addresses)


def _expired_certificates(deployment: Deployment) -> Iterator[Finding]:
    """Findings of the servers in the URL that prevent a client from connecting."""
    endpoint = deployment.options.endpoint
    if endpoint.tls:
        addresses = [(host, port) for host, port, _ in _core.addresses(endpoint)]
        yield from (one for one in _certificates(endpoint, addresses) if one.level == "bad")


def _merged(findings: Iterable[tuple[str, Finding]]) -> Iterator[Finding]:
    """Findings that several servers share, merged into one."""
    alike: dict[Finding, list[str]] = {}
    for server, finding in findings:
        alike.setdefault(finding, []).append(server)
    for finding, servers in alike.items():
        if len(alike) == 1:
            yield finding
        else:
            found = f"{', '.join(servers)}: {finding.found}"
            yield Finding(finding.check, finding.level, found, finding.means, finding.do)
