"""The environments that programs run in: the user's, without what would change what they do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from testing.paths import ROOT

if TYPE_CHECKING:
    from testing.servers import Servers

# What a virtualenv's Python would look outside of it for, or do otherwise, because of.
PYTHON = ("PYTHON", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
# What Airflow and the database clients read for everything that a URL leaves open.
CLIENTS = ("AIRFLOW", "_AIRFLOW", "PG", "MYSQL_", "LIBMYSQL_", "MARIADB_")

# Has Python's name but is not Python's: by it pip finds the password of a package index.
KEYRING = "PYTHON_KEYRING_BACKEND"


# The same cases of property tests every time, so that a change is judged by what it changes.
CHANCE = "PROPTEST_RNG_SEED"

# The first seed of those that whole schedulers are simulated with: others for each commit.
SIMULATION = "FERROFLOW_SIMULATION_FROM"


def for_tests(servers: Servers, venv_dir: Path, run_dir: Path, warm_python: Path) -> dict[str, str]:
    return without_servers(run_dir) | {
        "FERROFLOW_TEST_VENV": str(venv_dir),
        "FERROFLOW_TEST_WARM_PYTHON": str(warm_python),
        "FERROFLOW_TEST_POSTGRES": servers.postgres.url,
        "FERROFLOW_TEST_POSTGRES_SOCKET_DIR": str(servers.postgres.directory),
        "FERROFLOW_TEST_MARIADB": servers.mariadb.url,
        "FERROFLOW_TEST_MARIADB_SOCKET": str(servers.mariadb.socket),
        "FERROFLOW_TEST_PGBOUNCER": servers.pgbouncer.url,
        "FERROFLOW_TEST_CERTIFICATES": str(servers.certificates),
    }


def without_servers(run_dir: Path) -> dict[str, str]:
    """For tests that need no server and no Airflow."""
    folder = run_dir / "shared"
    folder.mkdir(exist_ok=True)
    chance = {CHANCE: os.environ.get(CHANCE, "1"), SIMULATION: os.environ.get(SIMULATION, _of_commit())}
    return for_clients() | chance | _temporary(run_dir) | {"FERROFLOW_TEST_FOLDER": str(folder)}


def _of_commit() -> str:
    """A number that the commit determines; 0 if there is none."""
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return str(int(told.stdout[:7] or "0", 16))


def _temporary(run_dir: Path) -> dict[str, str]:
    """Temporary files go where the servers' data is, mostly in memory, if programs may be started there."""
    if os.statvfs(run_dir).f_flag & os.ST_NOEXEC:
        return {}
    folder = run_dir / "tmp"
    folder.mkdir(exist_ok=True)
    return {"TMPDIR": str(folder)}


def for_clients() -> dict[str, str]:
    return _without(PYTHON + CLIENTS)


def for_pip() -> dict[str, str]:
    """With what tells pip where packages are: its own variables, proxies, certificates."""
    kept = {name: os.environ[name] for name in (KEYRING,) if name in os.environ}
    return _without(PYTHON) | kept


def _without(prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
