"""What goes wrong is one line on stderr, and a status of the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast_tools.installing import install_line
from tests.support.servers import Server, free_port
from tests.tools.cli.conftest import BOUND, COMMAND, Run, environment

pytestmark = pytest.mark.servers("redis")

SECRET = "sesame"


def fails(*arguments: str, **changes: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
        env=environment(**changes),
    )
    assert done.stdout == ""
    assert done.stderr.startswith("holdfast: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", [["ls"], ["show", "x"], ["unlock", "x"], ["watch"]])
def test_no_server(command: list[str]) -> None:
    url = f"redis://:{SECRET}@127.0.0.1:{free_port()}?retries=0"
    status, line = fails("--url", url, *command)
    assert status == 69
    assert "Connection refused" in line


@pytest.mark.parametrize("command", ["doctor", "bench"])
def test_a_server_that_refuses(server: Server, command: str) -> None:
    url = server.url.replace("redis://", f"redis://unknown:{SECRET}@")
    status, line = fails("--url", url, command, "--json")
    assert status == 69
    assert "WRONGPASS" in line


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "Missing command"),
        (["lock"], "No such command 'lock'"),
        (["ls", "--jsn"], "No such option"),
        (["show"], "Missing argument 'NAME'"),
        (["show", ""], "it must not be empty"),
        (["show", "x", "--kind", "y"], "'y' is not one of"),
        (["watch", "--interval", "x"], "'x' is not a valid float"),
        (["--url", f"redis://:{SECRET}@host:x", "ls"], "port"),
        (["--url", f"http://:{SECRET}@host", "ls"], "scheme"),
    ],
    ids=["nothing", "command", "option", "argument", "empty", "kind", "number", "port", "scheme"],
)
def test_usage(arguments: list[str], part: str) -> None:
    status, line = fails(*arguments)
    assert status == 2
    assert part in line


def test_the_url_comes_from_the_environment(server: Server) -> None:
    command = [*COMMAND, "ls", "--json"]
    environ = environment(HOLDFAST_URL=server.url)
    done = subprocess.run(command, capture_output=True, check=True, timeout=BOUND, env=environ)
    assert done.stdout == b"[]\n"
    assert fails("ls", HOLDFAST_URL="x://")[0] == 2


def test_a_full_disk_is_reported(run: Run, server: Server) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "--url", server.url, "ls", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=BOUND,
            check=False,
            env=environment(),
        )
    assert done.returncode == 74
    assert done.stderr == "holdfast: cannot write the output: No space left on device\n"


def test_versions_of_what_is_inside() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    start = f"holdfast {holdfast.__version__} (engine {holdfast.__version__}, hiredis 1."
    assert done.stdout.startswith(start)
    assert "OpenSSL 3." in done.stdout
    assert done.stderr == ""


WITHOUT = """
import sys
sys.modules["click"] = None  # as where it is not installed
from holdfast_tools.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_the_extra_one_line_says_what_to_install() -> None:
    def main(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=False)

    done = main("ls")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"holdfast: 'ls' needs packages that are not installed: {install_line('cli')}\n"
    )
    assert main("--version").stdout.startswith("holdfast ")
    assert main("--help").stdout.startswith("usage: holdfast demo")
    assert install_line("cli") in main().stdout
    assert "--server" in main("demo", "--help").stdout


def test_importing_the_package_imports_no_package_of_the_extra() -> None:
    code = "import holdfast, holdfast.inspect, sys; print({'click', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
