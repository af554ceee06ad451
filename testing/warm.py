"""The Python that is kept warm for tests: see `warm_python.py`."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from testing import guard
from testing.progress import Failure, print_tail

START_SECONDS = 90


@dataclass
class WarmPython:
    socket: Path
    log: Path
    process: subprocess.Popen

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                print_tail(self.log)
                raise Failure("the Python for scripts of tests did not start")
            time.sleep(0.05)


def start(run_dir: Path, venv_dir: Path) -> WarmPython:
    socket, log = run_dir / "warm-python", run_dir / "warm-python.log"
    script = Path(__file__).with_name("warm_python.py")
    with log.open("wb") as output:
        process = guard.spawn(
            [venv_dir / "bin" / "python", script, socket],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=run_dir,
            # What each script finds around it, its test says.
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )
    return WarmPython(socket, log, process)
