"""The checks themselves: cargo's and ruff's."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testing import guard
from testing.paths import ROOT
from testing.progress import Failure, run_logged

RUFF = "{venv}/bin/ruff"

# The crates are fetched by then: offline, so that a later run works without network.
PINNED = ("--locked", "--offline")

FORMAT = ("cargo fmt", (("cargo", "fmt", "--all", "--check"),))

COMMANDS = (
    FORMAT,
    (
        "cargo clippy",
        (("cargo", "clippy", "--workspace", "--all-targets", *PINNED, "--", "-D", "warnings"),),
    ),
    ("ruff", ((RUFF, "check", "."), (RUFF, "format", "--check", "."))),
)


def fetch_crates() -> None:
    # For this machine only: a build fetches no more, so nothing is fetched again after one.
    fetch = ["cargo", "fetch", "--locked", "--target", host()]
    if subprocess.run([*fetch, "--offline"], cwd=ROOT, capture_output=True).returncode != 0:
        run_logged("fetching crates", fetch, "cargo-fetch.log")


def run(commands: Sequence[Sequence[str]], env: Mapping[str, str], venv_dir: Path | None = None) -> None:
    for command in commands:
        line = [word.format(venv=venv_dir) for word in command]
        code = guard.wait(guard.spawn(line, env=env, cwd=ROOT))
        if code != 0:
            raise Failure(f"{' '.join(line)}: exit status {code}")


def run_interactively(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Runs a command of the user's, with the terminal if there is one."""
    with guard.terminal_kept() as terminal:
        try:
            process = guard.spawn(command, terminal=terminal, stdin=None, env=env)
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}", exit_code=127) from None
        code = guard.wait(process)
    return code if code >= 0 else 128 - code


def host() -> str:
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))
