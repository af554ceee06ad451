"""The command line of `./test`, and the story of one run."""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testing import (
    access,
    cargo_tests,
    checks,
    dependencies,
    environment,
    guard,
    install,
    lock,
    nextest,
    record,
    servers,
    venv,
    warm,
)
from testing.progress import Failure, say, step

DESCRIPTION = """\
Runs every check of this repository, as CI does: installs what is missing, starts throwaway
database servers, then runs cargo fmt, cargo clippy, ruff and cargo test. It stops at the first
step that fails.

Missing system packages are installed with apt-get when run as root; otherwise they are listed.
Rust is never installed, only looked for. The official Airflow that the tests compare with, and
cargo-nextest if there is none, go to ~/.cache/ferroflow-test (or below XDG_CACHE_HOME), so that
later runs, also of other clones, need no network.
"""

EPILOG = """\
environment of the tests and of COMMAND:
  FERROFLOW_TEST_FOLDER               a folder of this run for what its tests share
  FERROFLOW_TEST_VENV                 the virtualenv that holds the official Airflow
  FERROFLOW_TEST_WARM_PYTHON          socket of a Python that has imported what Airflow is built on, and
                                      forks for each script: see testing/warm_python.py
  FERROFLOW_TEST_POSTGRES             URL of a PostgreSQL superuser, in the database "postgres"
  FERROFLOW_TEST_POSTGRES_SOCKET_DIR  directory of that server's unix socket
  FERROFLOW_TEST_MARIADB              URL of a MariaDB user with all privileges, without database
  FERROFLOW_TEST_MARIADB_SOCKET       that server's unix socket
  FERROFLOW_TEST_CERTIFICATES         directory with ca.pem, which vouches for both servers, and
                                      other-ca.pem, which does not
  FERROFLOW_TEST_PGBOUNCER            URL of a PgBouncer (transaction pooling) in front of that
                                      PostgreSQL, for a database name to be appended
  TMPDIR                              a folder of this run, in memory where there is enough
  PROPTEST_RNG_SEED                   seed of property tests: 1, unless it is set already
  FERROFLOW_SIMULATION_FROM           first seed of simulated schedulers: that of the commit, unless it
                                      is set already
  Variables that would change what Airflow, Python or a database client does (AIRFLOW*, PYTHON*,
  PG*, MYSQL_*, MARIADB_* and their like) are removed.

examples:
  ./test
  ./test --fast
  ./test --times 5 --busy
  ./test --times 5 --at-a-time 6
  ./test -- cargo test -p ferroflow-db conformance
  ./test --shell

exit status: 0 all passed, 1 a step failed, 2 something is missing or wrongly called,
128+N ended by signal N; with COMMAND, the exit status of COMMAND.
"""


def main(arguments: list[str]) -> int:
    work = _parse(arguments)
    started = time.monotonic()

    def told(run_dir: Path) -> int:
        try:
            return _explaining(work, run_dir)
        except Failure as failure:
            say(f"./test: failed after {time.monotonic() - started:.0f} s: {failure}")
            return failure.exit_code
        except guard.Interrupted as interrupted:
            say(f"./test: interrupted by {interrupted.signal.name}, cleaning up")
            return 128 + interrupted.signal

    return guard.run(told, cleanup=install.allow_services_again)


def _explaining(work: Callable[[Path], int], run_dir: Path) -> int:
    try:
        return work(run_dir)
    except PermissionError as error:
        raise access.failure_of(error) or error from None


def _parse(arguments: list[str]) -> Callable[[Path], int]:
    own, command = arguments, None
    if "--" in arguments:
        split = arguments.index("--")
        own, command = arguments[:split], arguments[split + 1 :]

    parser = argparse.ArgumentParser(
        prog="./test",
        usage="./test [--times N] [--busy] [--at-a-time N] | "
        "[--fast | --record | --shell | --lock | -- COMMAND...]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--fast",
        action="store_true",
        help="check the format and run the tests that need no server and no Airflow",
    )
    mode.add_argument(
        "--record",
        action="store_true",
        help="run the testdata/**/record_*.py scripts, which record anew what official Airflow "
        "does; fail, show the difference and leave the new files in place if any changed",
    )
    mode.add_argument(
        "--shell",
        action="store_true",
        help="start a shell with the servers up and their environment set",
    )
    mode.add_argument(
        "--lock",
        action="store_true",
        help="compile each python/*requirements.in to the .lock beside it; versions already "
        "locked stay unless the .in excludes them (delete the .lock to renew all)",
    )
    parser.add_argument(
        "--times",
        type=_positive,
        metavar="N",
        help="run cargo's tests so many times in a row, whatever fails: what depends on chance shows",
    )
    parser.add_argument(
        "--busy", action="store_true", help="keep every core at work with something else while tests run"
    )
    parser.add_argument(
        "--at-a-time",
        type=_positive,
        metavar="N",
        help="run so many tests at a time, instead of two for each core (4 to 8): with more, "
        "the others are what keeps every core at work",
    )
    parser.add_argument_group(
        "COMMAND", "after --, a command to run with the servers up and their environment set"
    )
    options = parser.parse_args(own)
    has_flag = options.fast or options.record or options.shell or options.lock
    has_mode = command is not None or has_flag
    if has_mode and (options.times or options.busy or options.at_a_time):
        parser.error("--times, --busy and --at-a-time are for running all tests")

    if command is not None:
        if not command or has_flag:
            parser.error("-- takes a command and goes with no other flag")
        return lambda run_dir: _run_command(run_dir, command)
    if options.fast:
        return _fast
    if options.record:
        return _record
    if options.shell:
        return lambda run_dir: _run_command(run_dir, [os.environ.get("SHELL") or "bash"])
    if options.lock:
        return _lock
    return lambda run_dir: _test(run_dir, options)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _test(run_dir: Path, options: argparse.Namespace) -> int:
    started = time.monotonic()
    how = cargo_tests.How(options.times or 1, options.busy, options.at_a_time)
    with step("install"):
        install.rust()
        venv_dir = _install()
        nextest.ensure()
        checks.fetch_crates()
    with step("dependencies"):
        dependencies.check(checks.PINNED, checks.host())
    with _servers(run_dir, venv_dir) as env:
        for name, command in checks.COMMANDS:
            with step(name):
                checks.run(command, env, venv_dir)
        with step("build of tests"):
            cargo_tests.build(checks.PINNED, env)
        with step("tests"):
            cargo_tests.run(checks.PINNED, env, how)
    say(f"./test: all passed in {time.monotonic() - started:.0f} s")
    return 0


def _fast(run_dir: Path) -> int:
    started = time.monotonic()
    with step("install"):
        access.ensure()
        install.rust()
        nextest.ensure()
        checks.fetch_crates()
    env = environment.without_servers(run_dir)
    with step(checks.FORMAT[0]):
        checks.run(checks.FORMAT[1], env)
    with step("tests"):
        cargo_tests.run_some(checks.PINNED, env, *nextest.FAST)
    say(f"./test: all that is fast passed in {time.monotonic() - started:.0f} s")
    return 0


def _record(run_dir: Path) -> int:
    with step("install"):
        venv_dir = _install()
    with _servers(run_dir, venv_dir) as env, step("record"):
        record.run(env, venv_dir)
    say("./test: what is recorded is what official Airflow does")
    return 0


def _run_command(run_dir: Path, command: list[str]) -> int:
    with step("install"):
        # The command is cargo, or a shell to call it in, nearly always.
        install.rust()
        venv_dir = _install()
    with _servers(run_dir, venv_dir) as env:
        return checks.run_interactively(command, env)


def _lock(run_dir: Path) -> int:
    with step("lock"):
        access.ensure()
        install.packages()
        lock.compile_requirements(run_dir)
    return 0


def _install() -> Path:
    access.ensure()
    install.packages()
    return venv.ensure()


@contextmanager
def _servers(run_dir: Path, venv_dir: Path) -> Iterator[dict[str, str]]:
    with step("servers"):
        python = warm.start(run_dir, venv_dir)
        running = servers.start(run_dir, venv_dir)
        python.wait_until_ready()
    try:
        yield environment.for_tests(running, venv_dir, run_dir, python.socket)
    except Failure:
        servers.ensure_alive(running)
        raise
    servers.ensure_alive(running)
