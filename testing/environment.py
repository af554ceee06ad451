"""The environment that tests run in."""

import re
from pathlib import Path

from testing import venv
from testing.servers import Servers

# What libpq and the clients modelled on it read for everything that a URL leaves open.
LIBPQ_VARIABLE = re.compile(
    "PG(HOST|HOSTADDR|PORT|DATABASE|USER|PASS(WORD|FILE)|SERVICE(FILE)?|OPTIONS|APPNAME|SSL.*"
    "|REQUIRE.*|GSS.*|CHANNELBINDING|CONNECT_TIMEOUT|CLIENTENCODING|TARGETSESSIONATTRS"
    "|DATESTYLE|TZ|GEQO|SYSCONFDIR)"
)


def for_tests(servers: Servers, venv_dir: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in venv.clean_environment().items()
        if not name.startswith("AIRFLOW") and not LIBPQ_VARIABLE.fullmatch(name)
    }
    return kept | {
        "FERROFLOW_TEST_VENV": str(venv_dir),
        "FERROFLOW_TEST_POSTGRES": servers.postgres.url,
        "FERROFLOW_TEST_POSTGRES_SOCKET_DIR": str(servers.postgres.directory),
        "FERROFLOW_TEST_MARIADB": servers.mariadb.url,
        "FERROFLOW_TEST_MARIADB_SOCKET": str(servers.mariadb.socket),
        "FERROFLOW_TEST_PGBOUNCER": servers.pgbouncer.url,
        "FERROFLOW_TEST_CERTIFICATES": str(servers.certificates),
    }
