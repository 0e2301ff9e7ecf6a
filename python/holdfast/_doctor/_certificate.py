"""When the server's certificate expires."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Final

from holdfast import _core

from ._finding import Finding, bad, good, unknown, warning

__all__ = ["check_certificate"]

CHECK: Final = "TLS"
DAY: Final = 86400
WARNING_DAYS: Final = 30
TIMEOUT: Final = 5.0
EXPIRED: Final = 10  # X509_V_ERR_CERT_HAS_EXPIRED


def check_certificate(endpoint: _core.Endpoint, host: str, port: int) -> Finding:
    """The certificate of one server, trusted for this check only."""
    if not endpoint.tls:
        return good(
            CHECK,
            "not used",
            "names and passwords travel unencrypted",
            "on networks that others use: a URL that begins with rediss://",
        )
    try:
        certificate = _presented(endpoint, host, port)
        expires = _expiry(endpoint, (host, port), certificate)
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


def _context(endpoint: _core.Endpoint) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    _, _, certificate, key = _core.tls_options(endpoint)
    if certificate:
        context.load_cert_chain(certificate, key or None)
    return context


def _connect(context: ssl.SSLContext, address: tuple[str, int]) -> ssl.SSLSocket:
    plain = socket.create_connection(address, TIMEOUT)
    try:
        return context.wrap_socket(plain, server_hostname=address[0])
    except BaseException:
        plain.close()
        raise


def _presented(endpoint: _core.Endpoint, host: str, port: int) -> str:
    """The certificate, unchecked, as PEM."""
    with _connect(_context(endpoint), (host, port)) as stream:
        encoded = stream.getpeercert(binary_form=True)
    if encoded is None:
        msg = f"{host}:{port} presents no certificate"
        raise ValueError(msg)
    return ssl.DER_cert_to_PEM_cert(encoded)


def _expiry(endpoint: _core.Endpoint, address: tuple[str, int], certificate: str) -> float:
    """The ssl module reads only a verified certificate: so this one is the only trusted one."""
    context = _context(endpoint)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    with _connect(context, address) as stream:
        details = stream.getpeercert()
    return ssl.cert_time_to_seconds(str((details or {})["notAfter"]))
