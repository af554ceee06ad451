"""Compiles python/*requirements.in to the lock files."""

import os
import shutil
import sys
from pathlib import Path

from testing import environment
from testing.paths import BUILD_REQUIREMENTS, REQUIREMENTS, ROOT
from testing.progress import Failure, run_logged

UV = "uv==0.13.7"

HEADER = """\
# Compiled from {source} by `./test --lock`: change that file, not this one.
"""

OPTIONS = (
    # One file for every Python from this one on, and wherever it can be the same version of a
    # package for all of them: what the tests compare with must not depend on the Python in use.
    "--universal",
    "--python-version=3.10",
    "--fork-strategy=fewest",
    "--generate-hashes",
    # Nothing of the machine that compiled it.
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
)


def compile_requirements(run_dir: Path) -> None:
    uv = _install_uv(run_dir / "uv")
    for source in (REQUIREMENTS, BUILD_REQUIREMENTS):
        _compile(uv, source, run_dir)


def _compile(uv: Path, source: Path, run_dir: Path) -> None:
    lock = source.with_suffix(".lock")
    # uv keeps the versions that it finds in the file it is to write.
    compiled = run_dir / lock.name
    if lock.exists():
        shutil.copyfile(lock, compiled)
    run_logged(
        f"resolving the versions of {source.name}",
        [uv, "pip", "compile", *OPTIONS, "--output-file", compiled, source.relative_to(ROOT)],
        "lock.log",
        _environment(),
    )
    text = compiled.read_text()
    if "://" in text or "--index" in text:
        raise Failure(f"{lock.name} names where a package was found; it must hold versions only")
    lock.write_text(HEADER.format(source=source.name) + text)


def _install_uv(path: Path) -> Path:
    env = environment.for_pip()
    run_logged("creating a virtualenv for uv", [sys.executable, "-m", "venv", path], "lock.log", env)
    run_logged("installing uv", [path / "bin" / "pip", "install", UV], "lock.log", env)
    return path / "bin" / "uv"


def _environment() -> dict[str, str]:
    """uv does not read pip's variables: it is given the ones that say where packages are."""
    env = environment.for_pip()
    for pip, uv in (
        ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
        ("PIP_EXTRA_INDEX_URL", "UV_INDEX"),
        ("PIP_CERT", "SSL_CERT_FILE"),
    ):
        if os.environ.get(pip):
            env.setdefault(uv, os.environ[pip])
    return env
