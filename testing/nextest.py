"""cargo-nextest, which runs tests: found, or installed from its sources into the user's cache."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing import cache
from testing.paths import CACHE, ROOT
from testing.progress import run_logged

# What is installed where there is none that will do.
VERSION = "0.9.143"
CONFIG = ROOT / ".config" / "nextest.toml"

REPORTS = CACHE / "nextest"

# The tests that need no server and no Airflow, which is nearly all beside the code.
FAST = (
    *("--lib", "--bins", "--test", "config", "--test", "model", "--test", "testkit"),
    *("--profile", "fast"),
)


@dataclass(frozen=True)
class Test:
    """A test that was run."""

    program: str
    name: str
    seconds: float
    has_failed: bool
    output: str

    @property
    def log_name(self) -> str:
        words = f"{self.program}.{self.name}".replace("::", ".")
        return f"{re.sub(r'[^A-Za-z0-9_.-]', '-', words)}.log"


def ensure() -> None:
    """Sees to it that cargo finds it."""
    if _version() >= _oldest():
        return
    root = cache.folder() / f"cargo-nextest-{VERSION}"
    with cache.locked("cargo-nextest"):
        if not os.access(root / "bin" / "cargo-nextest", os.X_OK):
            _install(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def command(verb: str, *words: str) -> list[str]:
    return ["cargo", "nextest", verb, "--workspace", *words]


def forget_reports() -> None:
    shutil.rmtree(REPORTS, ignore_errors=True)


def tests() -> list[Test]:
    """What the last run reported; nothing if it came to no end."""
    return [test for report in REPORTS.glob("*/report.xml") for test in _reported(report)]


def _reported(report: Path) -> Iterator[Test]:
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        failures = [*case.iterfind("failure"), *case.iterfind("error")]
        texts = [case.findtext(name) for name in ("system-out", "system-err")]
        texts += [failure.text or failure.get("message") for failure in failures]
        output = "\n".join(text for text in texts if text)
        seconds = float(case.get("time", "0"))
        yield Test(case.get("classname", ""), case.get("name", ""), seconds, bool(failures), output)


def _version() -> tuple[int, ...]:
    # Asked of the program itself: what cargo makes of one that is missing is an error of its own.
    if not shutil.which("cargo-nextest"):
        return (0,)
    told = subprocess.run(["cargo-nextest", "nextest", "--version"], capture_output=True, text=True)
    return _numbers(told.stdout.removeprefix("cargo-nextest "))


def _oldest() -> tuple[int, ...]:
    line = re.search(r'^nextest-version = "(.+)"$', CONFIG.read_text(), re.MULTILINE)
    return _numbers(line[1])


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(map(int, match.groups())) if match else (0,)


def _install(root: Path) -> None:
    install = ["cargo", "install", "--locked", "--root", root, "--version", VERSION, "cargo-nextest"]
    # It is to be ready soon; what it runs takes the time.
    env: Mapping[str, str] = os.environ | {
        "CARGO_TARGET_DIR": str(root / "build"),
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "CARGO_PROFILE_RELEASE_DEBUG": "0",
    }
    words: Sequence[str | Path] = install
    run_logged(f"installing cargo-nextest {VERSION}", words, "cargo-nextest.log", env)
    shutil.rmtree(root / "build", ignore_errors=True)
