"""Runs a DAG processor on one of the scenarios and prints its rows after each phase, as JSON.

    <venv>/bin/python testdata/dag_processing/process.py SCENARIO PROCESSOR

PROCESSOR is a program that takes `dag-processor --num-runs 1`: official `airflow`, or `ferroflow`. The
database is that of AIRFLOW__DATABASE__SQL_ALCHEMY_CONN, which has its tables, or else a new one of SQLite.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import rows
from phases import SCENARIOS
from world import World


def process(scenario_name: str, processor: list[str]) -> dict:
    """Per phase the rows, and which columns the pass has changed."""
    scenario = SCENARIOS[scenario_name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        given = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" in os.environ
        world = World(root, scenario.bundles, scenario.settings)
        if not given:
            world.create_tables()
        answers = {}
        for name, prepare in scenario.phases.items():
            print(f"{scenario_name}: {name}", file=sys.stderr)
            prepare(world)
            before = rows.read()
            world.process(processor, root / "processor.log")
            after = rows.read()
            answers[name] = {
                "rows": rows.normalised(after, {"root": str(root)}),
                "changed columns": rows.changed_columns(before, after),
            }
        return answers


if __name__ == "__main__":
    # Whatever Airflow prints goes elsewhere.
    output, sys.stdout = sys.stdout, sys.stderr
    json.dump(process(sys.argv[1], sys.argv[2:]), output, ensure_ascii=False, sort_keys=True)
