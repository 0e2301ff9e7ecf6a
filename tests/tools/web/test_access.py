"""Each rule of the inspector's access, with the attack that it stops."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from holdfast import servers
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.cli.conftest import Run, run
from tests.tools.web.inspector import Inspector, owner

__all__ = ["run"]

PATHS = ("/", "/static/page.js", "/api/locks", "/api/events", "/api/server", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_without_token_or_cookie_everything_is_refused(inspector: Inspector, path: str) -> None:
    assert inspector.get(path, cookie=False).status == 401


def test_health_is_open_and_says_only_ok(inspector: Inspector) -> None:
    answer = inspector.get("/healthz", cookie=False)
    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize("value", ["", "x", "\u00e9"])
def test_a_wrong_token_or_cookie_is_refused(inspector: Inspector, value: str) -> None:
    name = inspector.cookie.partition("=")[0]
    wrong = {"Cookie": f"{name}={value}"}
    assert inspector.get("/api/locks", cookie=False, headers=wrong).status == 401
    assert inspector.get(f"/api/locks?token={value.encode()!r}", cookie=False).status == 401
    bearer = {"Authorization": f"Bearer {value}"}
    assert inspector.get("/api/locks", cookie=False, headers=bearer).status == 401


def test_the_token_is_accepted_in_the_query_and_as_bearer(inspector: Inspector) -> None:
    assert inspector.get(f"/api/locks?token={inspector.token}", cookie=False).status == 200
    bearer = {"Authorization": f"Bearer {inspector.token}"}
    assert inspector.get("/api/locks", cookie=False, headers=bearer).status == 200


def test_the_cookie_is_strict_and_is_not_the_token(inspector: Inspector) -> None:
    answer = inspector.get(f"/?token={inspector.token}", cookie=False)
    cookie, *attributes = str(answer.headers["Set-Cookie"]).split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert str(inspector.port) in cookie.partition("=")[0]
    assert inspector.token not in cookie
    assert inspector.get("/", headers={"Cookie": cookie}, cookie=False).status == 200
    token_as_cookie = f"{cookie.partition('=')[0]}={inspector.token}"
    refused = inspector.get("/", headers={"Cookie": token_as_cookie}, cookie=False)
    assert refused.status == 401


def test_a_request_with_the_cookie_sets_no_other(inspector: Inspector) -> None:
    assert inspector.get("/").headers["Set-Cookie"] is None


def test_another_run_does_not_take_the_token_of_this_one(inspector: Inspector) -> None:
    with Inspector("redis://127.0.0.1:1") as other:
        assert other.get(f"/?token={inspector.token}", cookie=False).status == 401


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1", "127.0.0.1:1", "localhost.", ""])
def test_a_foreign_host_is_misdirected(inspector: Inspector, host: str) -> None:
    """DNS rebinding: a foreign name that resolves to this machine."""
    for path in ("/", "/api/locks", "/healthz"):
        assert inspector.get(path, host=host).status == 421


def test_a_foreign_name_with_the_own_port_is_misdirected(inspector: Inspector) -> None:
    assert inspector.get("/", host=f"attacker.example:{inspector.port}").status == 421


def test_two_hosts_are_refused(inspector: Inspector) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", inspector.port)
    connection.putrequest("GET", "/healthz", skip_host=True)
    connection.putheader("Host", inspector.host)
    connection.putheader("Host", "attacker.example")
    connection.endheaders()
    assert connection.getresponse().status in {400, 421}
    connection.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_loopback_names_are_its_own(inspector: Inspector, name: str) -> None:
    assert inspector.get("/", host=f"{name}:{inspector.port}").status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://attacker.example", "http://127.0.0.1:1", "127.0.0.1", "https"]
)
def test_a_post_from_elsewhere_releases_nothing(
    inspector: Inspector, locks_server: Server, client: object, origin: str | None
) -> None:
    lock = client.lock("myLock")  # type: ignore[attr-defined]
    lock.acquire()
    headers = {} if origin is None else {"Origin": origin}
    if origin == "https":  # another scheme than the page's
        headers = {"Origin": f"https://127.0.0.1:{inspector.port}"}
    answer = inspector.ask("POST", "/api/locks/myLock/force-release", headers=headers)
    assert answer.status == 403
    assert locks_server.keys() == {b"myLock"}
    lock.release()


def test_a_get_does_not_release(inspector: Inspector) -> None:
    assert inspector.get("/api/locks/myLock/force-release").status == 405


def test_a_post_without_cookie_is_refused(inspector: Inspector) -> None:
    assert inspector.post("/api/locks/myLock/force-release", cookie=False).status == 401


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/locks", "/nothing", "/static/page.js"])
def test_every_answer_forbids_framing_and_foreign_content(inspector: Inspector, path: str) -> None:
    for cookie in (True, False):
        headers = inspector.get(path, cookie=cookie).headers
        assert headers["Content-Security-Policy"] == "default-src 'self'; frame-ancestors 'none'"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize(
    "path",
    [
        "/static/../access.py",
        "/static/%2e%2e/access.py",
        "/static/..%2faccess.py",
        "/static/....//access.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..%5caccess.py",
        "/static/%00",
        "/../../etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_static_files(inspector: Inspector, path: str) -> None:
    answer = inspector.get(path)
    assert answer.status in {400, 404}
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


def test_read_only_refuses_every_post(locks_server: Server) -> None:
    locks_server.inspect.hset("myLock", owner(), 1)
    with Inspector(locks_server.url, "--read-only") as inspector:
        assert inspector.post("/api/locks/myLock/force-release").status == 403
        assert inspector.get("/api/server").json["read_only"] is True
        assert inspector.get("/api/locks/myLock").status == 200
    assert locks_server.keys() == {b"myLock"}


def test_the_page_gets_the_kinds_that_it_may_release_from_the_server(inspector: Inspector) -> None:
    releasable = set(inspector.get("/api/server").json["releasable"])
    assert {kind.word for kind in servers.KINDS if "lock" in kind.word} == releasable


def test_an_allowed_host_may_be_used_with_its_origin() -> None:
    with Inspector("redis://127.0.0.1:1", "--allow-host", "tools.example") as inspector:
        host = f"tools.example:{inspector.port}"
        assert inspector.get("/healthz", host=host).status == 200
        assert inspector.get("/healthz", host=f"other.example:{inspector.port}").status == 421
        headers = {"Origin": f"http://{host}"}
        answer = inspector.ask("POST", "/api/nothing", host=host, headers=headers)
        assert answer.status == 404


@pytest.mark.parametrize(
    ("allowed", "origin", "status"),
    [
        ("tools.example:443", "https://tools.example", 404),
        ("tools.example:443", "http://tools.example", 403),
        ("tools.example:80", "http://tools.example", 404),
        ("tools.example:80", "https://tools.example", 403),
        ("https://tools.example", "https://tools.example", 404),
        ("https://tools.example", "http://tools.example", 403),
        ("tools.example:8443", "https://tools.example:8443", 404),
        ("tools.example:8443", "http://tools.example:8443", 404),
        ("https://tools.example:8443", "http://tools.example:8443", 403),
    ],
)
def test_behind_a_proxy_the_scheme_counts_too(allowed: str, origin: str, status: int) -> None:
    with Inspector("redis://127.0.0.1:1", "--allow-host", allowed) as inspector:
        host = origin.partition("://")[2]
        headers = {"Origin": origin}
        assert inspector.ask("POST", "/api/nothing", host=host, headers=headers).status == status


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_post_that_the_browser_says_is_foreign_is_refused(
    inspector: Inspector, site: str
) -> None:
    own = f"http://{inspector.host}"
    headers = {"Origin": own, "Sec-Fetch-Site": site}
    assert inspector.ask("POST", "/api/nothing", headers=headers).status == 403
    headers["Sec-Fetch-Site"] = "same-origin"
    assert inspector.ask("POST", "/api/nothing", headers=headers).status == 404


def test_a_host_that_others_reach_is_warned_of() -> None:
    with Inspector("redis://127.0.0.1:1", "--host", "0.0.0.0") as inspector:
        assert inspector.get("/healthz", host=f"0.0.0.0:{inspector.port}").status == 200
        _, errors = inspector.end()
    assert "warning: 0.0.0.0 can be reached from other machines" in errors


def test_open_puts_no_token_on_a_command_line(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f"""#!/bin/sh
        cp "${{1#file://}}" {tmp_path}/page
        stat -c %a "$(dirname "${{1#file://}}")" > {tmp_path}/mode
        echo "$@" > {tmp_path}/arguments
    """)
    browser.chmod(0o755)
    environment = {"BROWSER": f"{browser} %s"}

    def arguments() -> str:
        return (tmp_path / "arguments").read_text()

    with Inspector("redis://127.0.0.1:1", "--open", environment=environment) as inspector:
        eventually(lambda: (tmp_path / "arguments").exists() and arguments())
        assert inspector.token not in arguments()
        assert inspector.token in (tmp_path / "page").read_text()
        assert (tmp_path / "mode").read_text().strip() == "700"
        inspector.end()
    opened = arguments().strip().removeprefix("file://")
    assert not Path(opened).exists()


@pytest.mark.parametrize("allowed", ["ftp://tools.example", "https://", "", "tools.example/page"])
def test_an_allowed_host_that_is_none_is_a_usage_error(run: Run, allowed: str) -> None:
    done = run("inspect", "--port", "0", "--allow-host", allowed)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"holdfast: --allow-host {allowed!r} is no host: ")
    assert done.stderr.count("\n") == 1
