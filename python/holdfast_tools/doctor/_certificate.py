"""When the server's certificate expires."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, Final

from holdfast_tools.sockets import connect, with_tls

from ._finding import Finding, bad, good, unknown, warning

if TYPE_CHECKING:
    from holdfast.servers import Tls

__all__ = ["check_certificate"]

CHECK: Final = "TLS"
DAY: Final = 86400
WARNING_DAYS: Final = 30
EXPIRED: Final = 10  # X509_V_ERR_CERT_HAS_EXPIRED


def check_certificate(tls: Tls | None, host: str, port: int) -> Finding:
    """The certificate of one server, trusted for this check only."""
    if tls is None:
        return good(
            CHECK,
            "not used",
            "names and passwords travel unencrypted",
            "on networks that others use: a URL that begins with rediss://",
        )
    try:
        certificate = _presented(tls, host, port)
        expires = _expiry(tls, (host, port), certificate)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == EXPIRED:
            return _expired(f"the certificate of {host}:{port} has expired")
        return unknown(CHECK, str(error), "look at the certificate with openssl s_client")
    except (OSError, ValueError) as error:
        return unknown(CHECK, str(error), "look at the certificate with openssl s_client")
    return _judged(expires, f"{host}:{port}")


def _judged(expires: float, server: str) -> Finding:
    days = (expires - time.time()) / DAY
    found = f"the certificate of {server} expires on {time.strftime('%F', time.gmtime(expires))}"
    if days < 0:
        return _expired(found)
    if days < WARNING_DAYS:
        means = f"in {days:.0f} days no client can connect any more"
        return warning(CHECK, found, means, "renew the certificate")
    return good(CHECK, found, "connections are encrypted")


def _expired(found: str) -> Finding:
    return bad(CHECK, found, "clients that verify it cannot connect", "renew the certificate")


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        context.load_cert_chain(tls.certificate, tls.key or None)
    return context


def _presented(tls: Tls, host: str, port: int) -> str:
    """The certificate, unchecked, as PEM."""
    with with_tls(connect(host, port), host, _context(tls)) as stream:
        encoded = stream.getpeercert(binary_form=True)
    if encoded is None:
        msg = f"{host}:{port} presents no certificate"
        raise ValueError(msg)
    return ssl.DER_cert_to_PEM_cert(encoded)


def _expiry(tls: Tls, address: tuple[str, int], certificate: str) -> float:
    """The ssl module reads only a verified certificate: so this one is the only trusted one."""
    context = _context(tls)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    with with_tls(connect(*address), address[0], context) as stream:
        details = stream.getpeercert()
    return ssl.cert_time_to_seconds(str((details or {})["notAfter"]))
