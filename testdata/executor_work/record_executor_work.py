"""Records what official schedulers and the LocalExecutor leave of work that is no task, in work.json.

    <venv>/bin/python testdata/executor_work/record_executor_work.py

`work.py` says what work that is. The official API server runs beside them, on a new SQLite database.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
AIRFLOW = Path(sys.executable).with_name("airflow")
PATIENCE = 180


def record() -> str:
    with tempfile.TemporaryDirectory(prefix="executor-work-") as folder:
        root = Path(folder).resolve()
        environment = _environment(root)
        for words in (["db", "migrate"], ["dags", "reserialize"]):
            subprocess.run([AIRFLOW, *words], env=environment, stdout=sys.stderr, check=True)
        with contextlib.ExitStack() as components:
            components.enter_context(_component(root, environment, "api-server"))
            _wait_for_api(environment)
            _work(environment, "seed")
            components.enter_context(_component(root, environment, "scheduler"))
            # One after the other: on SQLite, official components get into each other's way.
            _wait_until(root, environment, "is-called")
            _work(environment, "ask")
            _wait_until(root, environment, "is-done")
        return _work(environment, "show", root / "home" / "logs")


def _wait_until(root: Path, environment: dict, fact: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while _work(environment, fact).strip() != "yes":
        if time.monotonic() > deadline:
            print((root / "scheduler.log").read_text()[-5000:], file=sys.stderr)
            sys.exit("the work did not come to its end in time")
        time.sleep(1)


def _work(environment: dict, *words: object) -> str:
    told = [sys.executable, HERE / "work.py", *words]
    return subprocess.run(told, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout


@contextlib.contextmanager
def _component(root: Path, environment: dict, name: str):
    with (root / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([AIRFLOW, name], env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


def _wait_for_api(environment: dict) -> None:
    """Official tests of connections are given up if nobody answers them."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", int(environment["AIRFLOW__API__PORT"]))) == 0:
                return
        time.sleep(0.5)
    sys.exit("the API server does not answer")


def _environment(root: Path) -> dict[str, str]:
    port = _free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    return kept | {
        "AIRFLOW_HOME": str(root / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__FERNET_KEY": "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM=",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        # With as many tests in the queue as there are slots, official executors start none of them.
        "AIRFLOW__CORE__PARALLELISM": "16",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{root}/airflow.db",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only for the recording, and long enough for the algorithm" * 2,
        "AIRFLOW__CALLBACKS__CALLBACK_EXECUTION_TIMEOUT": "5",
        "AIRFLOW__CONNECTION_TEST__MAX_CONCURRENCY": "1",
        "AIRFLOW__CONNECTION_TEST__TIMEOUT": "300",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(_free_port()),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    recorded = json.loads(record())
    # How it is refused what it asks for is chance.
    del recorded["callbacks"]["asks"]["log"][1:]
    text = json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False)
    (HERE / "work.json").write_text(text + "\n")
