"""Records anew what official Airflow does, and fails if that is not what was recorded."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from testing import guard
from testing.paths import CRATES, ROOT, TESTDATA
from testing.progress import Failure, say

SCRIPTS = "record_*.py"

# Where recordings are kept, and in what: nobody's source is taken for one.
RECORDED = (TESTDATA, CRATES)
RECORDINGS = (".gz", ".json", ".jsonl")


def run(env: Mapping[str, str], venv_dir: Path) -> None:
    scripts = sorted(TESTDATA.rglob(SCRIPTS))
    if not scripts:
        raise Failure(f"no {SCRIPTS} under {TESTDATA.relative_to(ROOT)}")
    before = _read_all()
    for script in scripts:
        _record(script.relative_to(ROOT), env, venv_dir)
    after = _read_all()
    changed = [path for path in sorted(before | after) if before.get(path) != after.get(path)]
    for path in changed:
        _show_difference(path, before.get(path), after.get(path))
    if changed:
        names = ", ".join(map(str, changed))
        raise Failure(f"official Airflow does not do what was recorded; changed now: {names}")


def _record(script: Path, env: Mapping[str, str], venv_dir: Path) -> None:
    say(f"    {script}")
    code = guard.wait(guard.spawn([venv_dir / "bin" / "python", script], env=env, cwd=ROOT))
    if code != 0:
        raise Failure(f"{script}: exit status {code}")


def _read_all() -> dict[Path, bytes]:
    return {
        path.relative_to(ROOT): path.read_bytes()
        for directory in RECORDED
        for path in directory.rglob("*")
        if path.is_file() and path.suffix in RECORDINGS
    }


def _show_difference(path: Path, before: bytes | None, after: bytes | None) -> None:
    lines = difflib.unified_diff(
        (before or b"").decode(errors="replace").splitlines(),
        (after or b"").decode(errors="replace").splitlines(),
        "/dev/null" if before is None else f"recorded/{path}",
        "/dev/null" if after is None else f"now/{path}",
        lineterm="",
    )
    for line in lines:
        say(line)
