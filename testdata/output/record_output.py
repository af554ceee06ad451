"""Record how Airflow's commands print lists: as a table, JSON, YAML and plain columns.

Writes output.json beside this file: lists of rows, and what AirflowConsole prints of each.

    <venv>/bin/python testdata/output/record_output.py
"""

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

SAMPLES = [
    [],
    [
        {"dag_id": "a", "owners": "airflow", "is_paused": None},
        {"dag_id": "a_long_one", "owners": "me, you", "is_paused": "True"},
        {"dag_id": "reports.daily", "owners": "it's: #1", "is_paused": ""},
    ],
    [{"pool": "default_pool", "slots": "128", "description": "Default pool"}],
    [
        {"run": "1", "slots": "-1", "of": "", "text": "of 9"},
        {"run": "10", "slots": "100000", "of": None, "text": "8"},
    ],
    [{"only": "null"}, {"only": "no"}, {"only": "2026-03-01"}, {"only": "- item"}, {"only": "a: b"}],
    [{"nothing": None, "empty": ""}],
    [
        {"wide": "\u6f22\u5b57", "after": "x", "with_accents": "caf\u00e9"},
        {"wide": "abc", "after": "z", "with_accents": '"quoted" \\ back'},
    ],
    [
        {
            "run_after": "2026-03-02T06:00:00-05:00",
            "data_interval_start": "2026-03-02T06:00:00-05:00",
            "note": "clocks go forward 1 h on Sun 2026-03-08 02:00",
        }
    ],
]


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
            del os.environ[name]
        os.environ["AIRFLOW_HOME"] = home
        recorded = [{"rows": rows} | printed(rows) for rows in SAMPLES]
    text = json.dumps(recorded, indent=1) + "\n"
    Path(__file__).with_name("output.json").write_text(text, encoding="utf-8")


def printed(rows: list[dict]) -> dict[str, str]:
    from airflow.cli.simple_table import AirflowConsole

    answers = {}
    for output in ("table", "json", "yaml", "plain"):
        # Plain columns are printed around the console.
        with contextlib.redirect_stdout(io.StringIO()) as out:
            AirflowConsole(width=200, file=out).print_as(rows, output)
        answers[output] = out.getvalue()
    return answers


if __name__ == "__main__":
    main()
