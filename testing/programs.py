"""Where the server programs are. Debian keeps them out of an ordinary user's PATH."""

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST_POSTGRES = 13
PREFERRED_POSTGRES = 15
OLDEST_MARIADB = (10, 7)
POSTGRES_DIRS = Path("/usr/lib/postgresql")

MYSQL_LIBRARIES = ("mysqlclient", "mariadb", "libmariadb")
MARIADB = ("mariadbd", "mariadb-install-db", "my_print_defaults")

SYSTEM_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/libexec")


def which(name: str) -> str | None:
    return shutil.which(name, path=search_path())


def search_path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_DIRS])


def postgres_dir() -> Path | None:
    """The directory of the server programs of the version that suits best."""
    found = {
        int(path.parent.name): path
        for path in POSTGRES_DIRS.glob("*/bin")
        if path.parent.name.isdigit() and _has_postgres(path)
    }
    if PREFERRED_POSTGRES in found:
        return found[PREFERRED_POSTGRES]
    if found and max(found) >= OLDEST_POSTGRES:
        return found[max(found)]
    on_path = which("postgres")
    if on_path and version(on_path)[0] >= OLDEST_POSTGRES:
        path = Path(on_path).resolve().parent
        return path if _has_postgres(path) else None
    return None


def described(name: str) -> str | None:
    """Which versions of a server program there are, for a message that says why none will do."""
    paths = [*map(str, POSTGRES_DIRS.glob(f"*/bin/{name}")), which(name)]
    texts = [f"{'.'.join(map(str, version(path)))} ({path})" for path in paths if path]
    return ", ".join(texts) or None


def has_mariadb() -> bool:
    return all(map(which, MARIADB)) and version(which("mariadbd")) >= OLDEST_MARIADB


def has_mysql_headers() -> bool:
    """Whether pkg-config finds one of the libraries that mysqlclient's build looks for."""
    return which("pkg-config") is not None and any(
        subprocess.run(["pkg-config", "--exists", name], capture_output=True).returncode == 0
        for name in MYSQL_LIBRARIES
    )


def pgbouncer_version() -> tuple[int, ...]:
    return version(which("pgbouncer"))


def version(program: str) -> tuple[int, ...]:
    """The version that a program tells of itself; (0,) if it tells none."""
    text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    # After a blank: before the version may stand the path of the program, with any digits in it.
    match = re.search(r"(?<=\s)\d+(\.\d+)*", text)
    return tuple(map(int, match[0].split("."))) if match else (0,)


def _has_postgres(path: Path) -> bool:
    return all(os.access(path / name, os.X_OK) for name in ("initdb", "postgres"))
