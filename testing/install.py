"""What the tests need of the machine: found, installed with apt-get, or asked for."""

import contextlib
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testing import programs
from testing.paths import CARGO_MANIFEST, ROOT
from testing.progress import Failure, run_logged, say

POLICY = Path("/usr/sbin/policy-rc.d")
CLUSTER_CONFIG = Path("/etc/postgresql-common/createcluster.conf")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
RUST_COMPONENTS = (("rustfmt", "fmt"), ("clippy", "clippy"))
MARK = "# For the time of one package installation, by a test run with process id "


@dataclass(frozen=True)
class Need:
    what: str
    found: Callable[[], bool]
    # Each entry is one package, or its alternatives in order of preference.
    packages: tuple[tuple[str, ...], ...]
    # The program whose version may be the reason why it is not found.
    program: str | None = None


NEEDS = (
    Need("a C compiler", lambda: bool(programs.which("cc")), (("gcc",), ("libc6-dev",))),
    # GitPython, of the git provider, refuses to be imported without it.
    Need("git", lambda: bool(programs.which("git")), (("git",),)),
    Need(
        f"PostgreSQL server {programs.OLDEST_POSTGRES} or newer",
        lambda: programs.postgres_dir() is not None,
        (("postgresql",),),
        "postgres",
    ),
    # The core packages hold the programs without a system service around them. The client's has
    # the my_print_defaults that mariadb-install-db calls.
    Need(
        f"MariaDB server {'.'.join(map(str, programs.OLDEST_MARIADB))} or newer",
        programs.has_mariadb,
        (("mariadb-server-core", "mariadb-server"), ("mariadb-client-core", "mariadb-client")),
        "mariadbd",
    ),
    Need("PgBouncer", lambda: bool(programs.which("pgbouncer")), (("pgbouncer",),)),
    # These two are for mysqlclient, which has no wheels for Linux.
    Need(
        "MariaDB's or MySQL's client library and pkg-config, for building against it",
        programs.has_mysql_headers,
        (("pkg-config",), ("libmariadb-dev",)),
    ),
    Need(
        "Python's headers",
        lambda: Path(sysconfig.get_path("include"), "Python.h").exists(),
        ((f"{PYTHON}-dev", "python3-dev"),),
    ),
    Need(
        "Python's venv module",
        lambda: _has_module("venv") and _has_module("ensurepip"),
        ((f"{PYTHON}-venv", "python3-venv"),),
    ),
)


def packages() -> None:
    missing = _missing()
    if missing and _may_install():
        _apt_install(missing)
        missing = _missing()
    if missing:
        _ask_for(missing)


def rust() -> None:
    """Rust is never installed: which toolchain to use is the user's choice."""
    _put_cargo_on_path()
    oldest = re.search(r'^rust-version = "(.+)"$', CARGO_MANIFEST.read_text(), re.MULTILINE)[1]
    for program in ("cargo", "rustc"):
        _ensure_rust(program, oldest)
    missing = [
        component
        for component, command in RUST_COMPONENTS
        if _ask_rust("cargo", command, "--version").returncode != 0
    ]
    if missing:
        names = " ".join(missing)
        raise Failure(f"missing: {names}. Install: rustup component add {names}", exit_code=2)


def allow_services_again() -> None:
    """Removes the two files of `_services_held_back`, of this run or of one that was killed."""
    for path in (POLICY, CLUSTER_CONFIG):
        with contextlib.suppress(OSError):
            _, found, rest = path.read_text(errors="replace").partition(MARK)
            # A run that was killed while it wrote may have left no number, or half of one.
            number, complete, _ = rest.partition("\n")
            if found and not (complete and number.isdecimal() and _is_other_run(int(number))):
                path.unlink()


def _put_cargo_on_path() -> None:
    """Rustup asks users to do so; a shell that is older, or not a login shell, has not heard."""
    home_bin = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "bin"
    if not shutil.which("cargo") and os.access(home_bin / "cargo", os.X_OK):
        os.environ["PATH"] = f"{home_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def _ensure_rust(program: str, oldest: str) -> None:
    if not shutil.which(program):
        raise Failure(
            f"{program} is missing: install Rust {oldest} or newer, see https://rustup.rs", exit_code=2
        )
    told = _ask_rust(program, "--version")
    version = re.match(rf"{program} (\d+)\.(\d+)", told.stdout)
    if not version:
        reason = (told.stderr.strip().splitlines() or ["it tells no version"])[0]
        raise Failure(f"{shutil.which(program)} does not work: {reason}", exit_code=2)
    if tuple(map(int, version.groups())) < tuple(map(int, oldest.split("."))):
        raise Failure(
            f"{shutil.which(program)} is {version[1]}.{version[2]}: Rust {oldest} or newer is needed; "
            "with rustup, run: rustup update stable",
            exit_code=2,
        )


def _ask_rust(*command: str) -> subprocess.CompletedProcess:
    # Within the repository: rustup chooses the toolchain by directory.
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def _missing() -> list[Need]:
    return [need for need in NEEDS if not need.found()]


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _ask_for(missing: list[Need]) -> None:
    say("./test: missing on this machine:")
    for need in missing:
        instead = need.program and programs.described(need.program)
        say(f"    {need.what}" + (f"; there is {instead}" if instead else ""))
    raise Failure(
        "install what is missing. On Debian 12, Ubuntu 24.04 or newer: "
        f"sudo apt-get install --no-install-recommends {' '.join(_package_names(missing))} "
        "(elsewhere, put it on PATH)",
        exit_code=2,
    )


def _apt_install(missing: list[Need]) -> None:
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1"}
    apt = ["apt-get", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=300"]
    run_logged("updating the package lists", [*apt, "update"], "apt.log", env)
    names = _package_names(missing)
    with _services_held_back():
        run_logged(
            f"installing {' '.join(names)}",
            [*apt, "install", "--yes", "--no-install-recommends", *names],
            "apt.log",
            env,
            # A dpkg that is ended half-way leaves the machine's packages to be mended by hand.
            to_its_end=True,
        )


def _package_names(missing: list[Need]) -> list[str]:
    return [_available(choices) for need in missing for choices in need.packages]


def _available(names: tuple[str, ...]) -> str:
    if not shutil.which("apt-cache"):
        return names[0]
    for name in names[:-1]:
        policy = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True)
        if "Candidate:" in policy.stdout and "Candidate: (none)" not in policy.stdout:
            return name
    return names[-1]


@contextlib.contextmanager
def _services_held_back() -> Iterator[None]:
    """Keeps packages from starting their servers and from creating a PostgreSQL cluster.

    The tests have servers of their own; a developer's machine should not start to run others
    because of them. Files that someone else put there stay as they are.
    """
    mark = f"{MARK}{os.getpid()}\n"
    try:
        if not POLICY.exists():
            POLICY.write_text(f"#!/bin/sh\n{mark}exit 101\n")
            POLICY.chmod(0o755)
        if not CLUSTER_CONFIG.exists():
            CLUSTER_CONFIG.parent.mkdir(exist_ok=True)
            CLUSTER_CONFIG.write_text(f"{mark}create_main_cluster = false\n")
        yield
    finally:
        allow_services_again()


def _is_other_run(pid: int) -> bool:
    # The watcher cleans up after the worker, which is gone by then.
    return pid != os.getpid() and Path(f"/proc/{pid}").exists()


def _has_module(name: str) -> bool:
    importlib.invalidate_caches()
    return importlib.util.find_spec(name) is not None
