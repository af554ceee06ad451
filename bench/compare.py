"""What the measurements here have in common: builds our program, and runs official Airflow's half of one."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


def compare(name: str, package: str = "ferroflow-bench", arguments: Sequence[str] = ()) -> None:
    """Runs `airflow_<name>.py` with the path of our program, by the virtualenv's Python."""
    venv = os.environ.get("FERROFLOW_TEST_VENV")
    if not venv:
        sys.exit(f"bench/{name}: there is no official Airflow to compare with; run: ./test -- bench/{name}")
    subprocess.run(["cargo", "build", "--release", "--package", package], cwd=HERE.parent, check=True)
    target = HERE.parent / os.environ.get("CARGO_TARGET_DIR", "target")
    script = HERE / f"airflow_{name}.py"
    program = target / "release" / package
    subprocess.run([Path(venv) / "bin" / "python", script, program, *arguments], check=True)


def run_together(name: str, arguments: Sequence[str]) -> None:
    """Runs `together_<name>.py` by the virtualenv's Python, with our program unless `--program` names one."""
    venv = os.environ.get("FERROFLOW_TEST_VENV")
    if not venv:
        sys.exit(f"bench/{name}: there are no servers; run: ./test -- bench/{name}")
    arguments = list(arguments)
    if "--program" not in arguments:
        # With its assertions, as tests have it.
        subprocess.run(["cargo", "build", "--package", "ferroflow"], cwd=HERE.parent, check=True)
        target = HERE.parent / os.environ.get("CARGO_TARGET_DIR", "target")
        arguments += ["--program", str(target / "debug" / "ferroflow")]
    script = HERE / f"together_{name}.py"
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
    code = subprocess.run([Path(venv) / "bin" / "python", script, *arguments], env=environment).returncode
    sys.exit(code)
