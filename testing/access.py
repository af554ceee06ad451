"""Whether this user may write where a run writes: somebody else may have run ./test here before,
root above all."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from testing import cache
from testing.paths import CACHE, LOGS, ROOT
from testing.progress import Failure


def ensure() -> None:
    """Asks before the work begins: cargo would name the file, late, and not the way out."""
    for path in _written():
        if os.access(path, os.F_OK) and not os.access(path, os.W_OK):
            raise _refusal(path)


def failure_of(error: PermissionError) -> Failure | None:
    """What to tell about an error, if it is about a file of this repository or of the cache."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    return _refusal(path) if path and any(map(path.is_relative_to, (ROOT, cache.where()))) else None


def _written() -> Iterator[Path]:
    yield from (CACHE, *CACHE.glob("*"), *LOGS.glob("*"))
    yield from (cache.where(), *cache.where().glob("*"))
    yield from (_target(), *_target().glob("*"))


def _refusal(path: Path) -> Failure:
    there = next(parent for parent in (path, *path.parents) if os.access(parent, os.F_OK))
    owner, user = _user_name(there.stat().st_uid), _user_name(os.geteuid())
    whole = next((top for top in (CACHE, cache.where(), _target()) if there.is_relative_to(top)), there)
    advice = f"chmod -R u+rwX {whole}" if owner == user else f"sudo chown -R {user} {whole}"
    return Failure(f"{user} may not write {path}: {there} belongs to {owner}; run: {advice}", exit_code=2)


def _target() -> Path:
    return ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target")


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
