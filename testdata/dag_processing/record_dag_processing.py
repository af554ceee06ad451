"""Records the rows that the installed Airflow's DAG processor writes, to <scenario>.json.gz beside this file.

    <venv>/bin/python testdata/dag_processing/record_dag_processing.py [SCENARIO]...

Each scenario runs in a process of its own: Airflow reads its configuration once.
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from phases import SCENARIOS

HERE = Path(__file__).resolve().parent
AIRFLOW = Path(sys.executable).with_name("airflow")


def record(scenario: str) -> None:
    answer = subprocess.run(
        [sys.executable, HERE / "process.py", scenario, AIRFLOW], stdout=subprocess.PIPE, check=True
    )
    # Which columns a pass writes depends on the moment, where the next run does.
    rows = {phase: {"rows": said["rows"]} for phase, said in json.loads(answer.stdout).items()}
    text = json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()
    file = HERE / f"{scenario}.json.gz"
    if not file.exists() or gzip.decompress(file.read_bytes()) != text:
        # Another zlib may compress the same differently.
        file.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


if __name__ == "__main__":
    for name in sys.argv[1:] or SCENARIOS:
        record(name)
