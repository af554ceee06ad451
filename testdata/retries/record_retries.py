"""Record when Airflow tries a task again, how it weighs tasks, and what it makes of an executor's events.

Writes retries.json.gz beside this file. The questions are random, but the same each time; the answers are
those of `TaskInstance.next_retry_datetime`, `TaskInstance.is_eligible_to_retry`, `get_weight` of the weight
rules, and `SchedulerJobRunner.process_executor_events` on a throwaway SQLite database.

    <venv>/bin/python testdata/retries/record_retries.py
"""

import gzip
import json
import os
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = 20261116


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
            del os.environ[name]
        os.environ |= {
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
        }
        # Airflow reads its settings when it is imported.
        from vectors import events, retries, weights

        recorded = {
            "retries": retries.record(SEED),
            "eligible": retries.record_eligibility(),
            "weights": weights.record(SEED),
            **events.record(),
        }
    counts = {kind: len(found) for kind, found in recorded.items()}
    lines = [f"{json.dumps(kind)}:" + listed(found) for kind, found in recorded.items()]
    text = "{" + ",\n".join(lines) + "}\n"
    path = HERE / "retries.json.gz"
    if not path.exists() or gzip.decompress(path.read_bytes()) != text.encode():
        # Another zlib may compress the same differently.
        path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"recorded {counts}")


def listed(records: list) -> str:
    return "[\n" + ",\n".join(json.dumps(record, separators=(",", ":")) for record in records) + "]"


if __name__ == "__main__":
    main()
