"""The throwaway database servers: in a temporary directory, on free ports of the loopback."""

import os
import pwd
import random
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testing import environment, guard, programs
from testing.progress import Failure, print_tail

USER = "ferroflow"

# The directory with certificates, within that of the run.
CERTIFICATES = "certificates"
HOST = "127.0.0.1"

START_SECONDS = 90

# Below the range from which Linux takes the ports of outgoing connections.
PORTS = range(15000, 32000)

# When run as root: PostgreSQL and PgBouncer refuse to be. The first is of Debian's packages.
UNPRIVILEGED_USERS = ("postgres", "nobody")


@dataclass
class Server:
    name: str
    run_dir: Path
    password: str
    port: int = field(default_factory=lambda: next(_free_ports))
    process: subprocess.Popen | None = None

    # The signal that ends it at once; what it holds is thrown away anyway.
    stop_signal = signal.SIGKILL

    @property
    def directory(self) -> Path:
        return self.run_dir / self.name

    @property
    def log(self) -> Path:
        return self.run_dir / f"{self.name}.log"

    def write(self, name: str, text: str) -> Path:
        """Writes a file that the server, and nobody else, can read."""
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        if account := _account():
            os.chown(path, account.pw_uid, account.pw_gid)
        return path

    def write_certificate(self) -> None:
        for name in ("ca.pem", "server.pem", "server.key"):
            self.write(name, (self.run_dir / CERTIFICATES / name).read_text())

    def prepare(self) -> list[str | Path] | None:
        """Writes what the server needs; returns the command that creates its data, if any."""

    def command(self) -> list[str | Path]:
        raise NotImplementedError


class Postgres(Server):
    # "Immediate shutdown". Unlike SIGKILL it leaves no shared memory behind.
    stop_signal = signal.SIGQUIT

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@{HOST}:{self.port}/postgres"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def prepare(self):
        self.write_certificate()
        initdb = [programs.postgres_dir() / "initdb", "--pgdata", self.data, "--username", USER]
        initdb += ["--pwfile", self.write("password", self.password), "--auth=scram-sha-256"]
        return [*initdb, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]

    def command(self):
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": self.directory,
            "max_connections": 300,
            "ssl": "on",
            "ssl_cert_file": self.directory / "server.pem",
            "ssl_key_file": self.directory / "server.key",
            "timezone": "UTC",
            "log_timezone": "UTC",
            # Speed; what a crash of the machine would lose is of no worth.
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "wal_level": "minimal",
            "max_wal_senders": 0,
            "jit": "off",
            # Shared memory within the data directory, so that it goes with it.
            "dynamic_shared_memory_type": "mmap",
        }
        options = [text for name in settings for text in ("-c", f"{name}={settings[name]}")]
        return [programs.postgres_dir() / "postgres", "-D", self.data, *options]


class MariaDb(Server):
    @property
    def url(self) -> str:
        return f"mysql://{USER}:{self.password}@{HOST}:{self.port}/"

    @property
    def socket(self) -> Path:
        return self.directory / "mariadb.sock"

    def prepare(self):
        self.write_certificate()
        self.write(
            "users.sql",
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n",
        )
        self.write("my.cnf", self._config())
        install = [programs.which("mariadb-install-db"), self._defaults_file]
        # Root is let in through the socket as that system user only, and there is nobody else.
        return [*install, "--auth-root-authentication-method=socket", "--skip-test-db"]

    def command(self):
        users = f"--init-file={self.directory / 'users.sql'}"
        return [programs.which("mariadbd"), self._defaults_file, users]

    @property
    def _defaults_file(self) -> str:
        return f"--defaults-file={self.directory / 'my.cnf'}"

    def _config(self) -> str:
        return f"""\
[mysqld]
datadir = {self.directory / "data"}
socket = {self.socket}
pid-file = {self.directory / "mariadb.pid"}
tmpdir = {self.directory}
bind-address = {HOST}
port = {self.port}
skip-name-resolve
ssl-ca = {self.directory / "ca.pem"}
ssl-cert = {self.directory / "server.pem"}
ssl-key = {self.directory / "server.key"}
max_connections = 300
max_allowed_packet = 64M
character-set-server = utf8mb4
default-time-zone = +00:00
# Airflow requires it.
explicit_defaults_for_timestamp = 1
# Speed; what a crash of the machine would lose is of no worth.
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = 0
innodb_log_file_size = 64M
innodb_buffer_pool_size = 256M
performance_schema = off
"""


class PgBouncer(Server):
    # Which PostgreSQL it stands before; set before it is prepared.
    postgres_port = 0

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@{HOST}:{self.port}/"

    def prepare(self):
        self.write("users.txt", f'"{USER}" "{self.password}"\n')
        self.write("pgbouncer.ini", self._config())

    def command(self):
        return [programs.which("pgbouncer"), self.directory / "pgbouncer.ini"]

    def _config(self) -> str:
        # Otherwise at its defaults, which let through the least: so are many of those in use.
        config = f"""\
[databases]
* = host={HOST} port={self.postgres_port}

[pgbouncer]
listen_addr = {HOST}
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {self.directory / "users.txt"}
admin_users = {USER}
pool_mode = transaction
max_client_conn = 500
# Few, so that clients do get to share connections.
default_pool_size = 8
# Soon, so that a test can drop its database.
server_idle_timeout = 2
log_connections = 0
log_disconnections = 0
"""
        # Newer ones track prepared statements across connections unless told not to.
        if programs.pgbouncer_version() >= (1, 21):
            config += "max_prepared_statements = 0\n"
        return config


@dataclass(frozen=True)
class Servers:
    postgres: Postgres
    mariadb: MariaDb
    pgbouncer: PgBouncer
    certificates: Path

    def __iter__(self) -> Iterator[Server]:
        return iter((self.postgres, self.mariadb, self.pgbouncer))


def start(run_dir: Path, venv_dir: Path) -> Servers:
    """Starts all of them at the same time; the guard ends them."""
    password = secrets.token_hex(16)
    servers = Servers(
        Postgres("postgres", run_dir, password),
        MariaDb("mariadb", run_dir, password),
        PgBouncer("pgbouncer", run_dir, password),
        _make_certificates(run_dir, venv_dir),
    )
    servers.pgbouncer.postgres_port = servers.postgres.port
    start_all(servers, venv_dir)
    return servers


def start_all(servers: Iterable[Server], venv_dir: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    _prepare(servers, deadline)
    for server in servers:
        _start(server)
    for server in servers:
        _wait_for_login(server, venv_dir, deadline)


def restart(server: Server, stop_signal: int, pause: float, venv_dir: Path) -> None:
    """Ends a server by a signal and, after so many seconds, starts it again with the data that it has."""
    server.process.send_signal(stop_signal)
    server.process.wait(timeout=START_SECONDS)
    time.sleep(pause)
    _start(server)
    _wait_for_login(server, venv_dir, time.monotonic() + START_SECONDS)


def ensure_alive(servers: Servers) -> None:
    """A server that ended is the cause to name, whatever failed because of it."""
    for server in servers:
        if server.process.poll() is not None:
            print_tail(server.log)
            raise Failure(f"{server.name} ended during the run")


def _make_certificates(run_dir: Path, venv_dir: Path) -> Path:
    directory = run_dir / CERTIFICATES
    directory.mkdir()
    log = run_dir / f"{CERTIFICATES}.log"
    with log.open("wb") as output:
        made = subprocess.run(
            [venv_dir / "bin" / "python", Path(__file__).with_name("certificates.py"), directory],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment.for_clients(),
        )
    if made.returncode != 0:
        print_tail(log)
        raise Failure(f"certificates could not be made (exit status: {made.returncode})")
    return directory


def _prepare(servers: Iterable[Server], deadline: float) -> None:
    creating = []
    for server in servers:
        server.directory.mkdir(mode=0o700)
        if account := _account():
            os.chown(server.directory, account.pw_uid, account.pw_gid)
        if command := server.prepare():
            creating.append((server, _spawn(server, command)))
    for server, process in creating:
        try:
            code = process.wait(timeout=max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = "none in time"
        if code != 0:
            print_tail(server.log)
            raise Failure(f"{server.name}: its data could not be created (exit status: {code})")


def _start(server: Server) -> None:
    server.process = _spawn(server, server.command())
    guard.keep(server.process, server.stop_signal)


def _spawn(server: Server, command: list[str | Path]) -> subprocess.Popen:
    options = {}
    if account := _account():
        options = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    with server.log.open("ab") as log:
        return guard.spawn(
            command,
            death_signal=server.stop_signal,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=server.directory,
            # No variable of the user's reaches a server.
            env={
                "PATH": programs.search_path(),
                "HOME": str(server.directory),
                "TMPDIR": str(server.directory),
                "LANG": "C.UTF-8",
                "LC_ALL": "C.UTF-8",
            },
            **options,
        )


def _wait_for_login(server: Server, venv_dir: Path, deadline: float) -> None:
    reason = "it does not listen"
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            reason = f"it ended with exit status {server.process.returncode}"
            break
        if _listens(server.port):
            login = subprocess.run(
                [venv_dir / "bin" / "python", Path(__file__).with_name("login.py"), server.url],
                capture_output=True,
                text=True,
                env=environment.for_clients(),
            )
            if login.returncode == 0:
                return
            reason = (login.stderr.strip().splitlines() or ["login failed"])[-1]
        time.sleep(0.05)
    print_tail(server.log)
    raise Failure(f"{server.name} did not start: {reason}")


def _listens(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((HOST, port)) == 0


def _find_free_ports() -> Iterator[int]:
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        yield port


_free_ports = _find_free_ports()


def _account() -> pwd.struct_passwd | None:
    """Whom the servers run as, if not as the user who runs the tests."""
    if os.geteuid() != 0:
        return None
    known = {account.pw_name: account for account in pwd.getpwall()}
    for name in UNPRIVILEGED_USERS:
        if name in known:
            return known[name]
    raise Failure(f"no user to run servers as: none of {', '.join(UNPRIVILEGED_USERS)}", 2)
