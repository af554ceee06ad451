"""Record what commands of `airflow` print and write, on a database with a few DAGs and runs.

Writes cli.json beside this file: the rows of the database; and for each scenario, which begins with those
rows, its command lines with what they printed and their exit codes, and the rows of some tables at its end.
Whatever depends on the day or the machine is replaced: times of today by <now>, drawn ids by <new>.

    <venv>/bin/python testdata/cli/record_cli.py
"""

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import uuid
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

PARSED_AT = "2020-06-01 00:00:00.000000"
RECENT = re.compile(r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?")
USAGE = 2
# Ids are drawn; what they are replaced by follows on what they are of.
IN_ORDER = [
    "SELECT id FROM dag_version ORDER BY dag_id, version_number",
    "SELECT id FROM serialized_dag ORDER BY dag_id",
    "SELECT id FROM dag_code ORDER BY dag_id",
    "SELECT id FROM task_instance ORDER BY dag_id, run_id, task_id, map_index",
]
LEFT_OUT = {"alembic_version", "log", "session", "callback_request"}


def main() -> None:
    import scenarios

    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        shutil.copytree(HERE / "dags", f"{home}/dags")
        configure(home)
        prepare(home)
        start = dump(f"{home}/airflow.db")
        known = set(re.findall(r"\b[0-9a-f]{32}\b", json.dumps(start)))
        shutil.copy(f"{home}/airflow.db", f"{home}/start.db")
        recorded = {
            "rows": start,
            "prepared": {},
            "scenarios": [played(home, scenario, start, known) for scenario in scenarios.ALL],
        }
    for scenario in recorded["scenarios"]:
        if "prepared" in scenario:
            recorded["prepared"][scenario["prepared"]] = scenario.pop("rows")
    text = json.dumps(recorded, indent=1, ensure_ascii=False, sort_keys=True)
    text = re.sub(r"\[\n\s+([^\[\]{}]*?)\n\s+\]", on_one_line, text)
    (HERE / "cli.json").write_text(text + "\n", encoding="utf-8")


def on_one_line(row: re.Match) -> str:
    """A row is a line."""
    return "[" + re.sub(r"\n\s+", " ", row[1]) + "]"


def configure(home: str) -> None:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__DAGS_FOLDER": f"{home}/dags",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__FERNET_KEY": "",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "LOGNAME": "somebody",
    }


def prepare(home: str) -> None:
    import rows
    from airflow.cli.simple_table import AirflowConsole
    from airflow.utils.db import initdb

    initdb()
    answer(["dags", "reserialize"])
    rows.add()
    dispose()
    settle(home)

    made = AirflowConsole.__init__

    def made_wide(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self._width = 100_000

    AirflowConsole.__init__ = made_wide


def dispose() -> None:
    from airflow import settings

    settings.Session.remove()
    settings.engine.dispose()


def settle(home: str) -> None:
    """Makes the database the same every day and everywhere."""
    with contextlib.closing(sqlite3.connect(f"{home}/airflow.db")) as db:
        drawn: dict[str, str] = {}
        for question in IN_ORDER:
            for (value,) in db.execute(question).fetchall():
                settled(value, "CHAR(32)", home, drawn)
        for table, columns in tables(db).items():
            for column, kind in columns.items():
                name = f'"{table}"."{column}"'
                for (value,) in db.execute(f'SELECT DISTINCT {name} FROM "{table}"').fetchall():
                    new = settled(value, kind, home, drawn)
                    if new != value:
                        db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {name} IS ?', (new, value))
        db.execute("DELETE FROM log")
        db.execute("UPDATE dag SET last_parse_duration = 0.25")
        db.execute("UPDATE dag_run SET context_carrier = NULL")
        db.execute("UPDATE task_instance SET context_carrier = NULL, unixname = 'somebody'")
        for number, (dag_id,) in enumerate(
            db.execute("SELECT dag_id FROM serialized_dag ORDER BY dag_id").fetchall()
        ):
            db.execute("UPDATE serialized_dag SET dag_hash = ? WHERE dag_id = ?", (f"{number:032}", dag_id))
        db.execute("UPDATE dag_code SET source_code = '', source_code_hash = 'x'")
        db.commit()


def settled(value, kind: str, home: str, drawn: dict[str, str]):
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"[0-9a-f]{32}", value) and kind == "CHAR(32)":
        return drawn.setdefault(value, uuid.UUID(int=(0x0190 << 112) + len(drawn) + 1).hex)
    if kind in ("TIMESTAMP", "DATETIME") and RECENT.match(value):
        return PARSED_AT
    return value.replace(home, "/site")


def tables(db: sqlite3.Connection) -> dict[str, dict[str, str]]:
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    return {
        name: {column: kind for _, column, kind, *_ in db.execute(f'PRAGMA table_info("{name}")')}
        for (name,) in names
        if not name.startswith("sqlite_")
    }


def dump(path: str, left_out: set[str] = LEFT_OUT) -> dict:
    with contextlib.closing(sqlite3.connect(path)) as db:
        found = {}
        for table, columns in tables(db).items():
            if table in left_out:
                continue
            lines = db.execute(f'SELECT * FROM "{table}"').fetchall()
            if lines:
                cells = [
                    [{"hex": cell.hex()} if isinstance(cell, bytes) else cell for cell in line]
                    for line in lines
                ]
                cells.sort(key=json.dumps)
                found[table] = {"columns": [[name, kind] for name, kind in columns.items()], "rows": cells}
        return found


def played(home: str, scenario: dict, start: dict, known: set[str]) -> dict:
    dispose()
    shutil.copy(f"{home}/start.db", f"{home}/airflow.db")
    given = prepared(f"{home}/airflow.db", scenario, start)
    for name, content in scenario.get("files", {}).items():
        Path(home, name).write_text(content, encoding="utf-8")
    steps = []
    for step in scenario["steps"]:
        arguments, more = (step, {}) if isinstance(step, list) else (step["arguments"], step)
        more_given = {key: value for key, value in more.items() if key != "arguments"}
        said = answer(arguments, more.get("input", ""), more.get("environment", {}))
        steps.append({"arguments": arguments} | more_given | said)
        if "writes" in more:
            written = Path(home, more["writes"])
            steps[-1]["written"] = written.read_text(encoding="utf-8") if written.exists() else None
    dispose()
    after = {
        table: final(f"{home}/airflow.db", table, columns, known)
        for table, columns in scenario.get("after", {}).items()
    }
    archived = {
        table: rows_of_archives(f"{home}/airflow.db", table, columns, known)
        for table, columns in scenario.get("archived", {}).items()
    }
    print(scenario["name"], file=sys.stderr)
    return {
        "name": scenario["name"],
        "files": scenario.get("files", {}),
        "steps": steps,
        "after": after,
    } | ({"prepared": scenario["prepare"].__module__, "rows": given, "archived": archived} if given else {})


def prepared(path: str, scenario: dict, start: dict) -> dict:
    """Adds what a scenario begins with, and tells the tables in which that is."""
    if "prepare" not in scenario:
        return {}
    with contextlib.closing(sqlite3.connect(path)) as db:
        scenario["prepare"](db)
        db.commit()
    found = dump(path, LEFT_OUT - {"log"})
    return {table: content for table, content in found.items() if content != start.get(table)}


def rows_of_archives(path: str, table: str, columns: list[str], known: set[str]) -> dict:
    """What was kept of old rows, in however many tables."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = [name for name in tables(db) if name.startswith(f"_airflow_deleted__{table}__")]
        kinds = tables(db)[table]
    found = [final(path, name, columns, known, kinds) for name in names]
    return {
        "tables": len(names),
        "columns": [[column, kinds[column]] for column in columns],
        "rows": sorted(
            (row for of_table in found for row in of_table["rows"]),
            key=lambda row: json.dumps(row, sort_keys=True),
        ),
    }


def final(path: str, table: str, columns: list[str], known: set[str], kinds: dict | None = None) -> dict:
    with contextlib.closing(sqlite3.connect(path)) as db:
        kinds = kinds or tables(db)[table]
        listed = ", ".join(f'"{column}"' for column in columns)
        wanted = " WHERE event LIKE 'cli_%'" if table == "log" else ""
        lines = db.execute(f'SELECT {listed} FROM "{table}"{wanted}').fetchall()
    rows = [
        [canonical(cell, kinds[column], known) for column, cell in zip(columns, line, strict=True)]
        for line in lines
    ]
    return {
        "columns": [[column, kinds[column]] for column in columns],
        "rows": sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)),
    }


def canonical(cell, kind: str, known: set[str]):
    if cell is None:
        return None
    if kind == "BOOLEAN":
        return "true" if cell else "false"
    if kind == "JSON":
        return json.loads(cell)
    if kind == "FLOAT":
        return "<number>"
    if kind in ("TIMESTAMP", "DATETIME"):
        return "<now>" if RECENT.match(cell) else cell[:26]
    if kind == "CHAR(32)":
        return cell if cell in known else "<new>"
    return RECENT.sub("<now>", str(cell))


def answer(arguments: list[str], given: str = "", environment: dict[str, str] | None = None) -> dict:
    from airflow.cli.cli_parser import get_parser

    code, problem = 0, ""
    argv, stdin = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["airflow", *arguments], io.StringIO(given)
    os.environ |= environment or {}
    with (
        contextlib.redirect_stdout(KeptOpen()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            parsed = get_parser().parse_args(arguments)
            parsed.func(parsed)
        except SystemExit as end:
            # What Python does with it.
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
            if not isinstance(end.code, int):
                problem = str(end.code)
        except Exception as error:
            code, problem = 1, f"{type(error).__name__}: {error}"
    sys.argv, sys.stdin = argv, stdin
    for name in environment or {}:
        del os.environ[name]
    del err
    printed = "" if code == USAGE else settled_text(out.getvalue())
    return {"code": code, "stdout": printed, "problem": settled_text(problem).partition("\n")[0]}


class KeptOpen(io.StringIO):
    """What `export -` closes when it is done."""

    def close(self) -> None:
        pass


def settled_text(text: str) -> str:
    # How many rows `dags delete` counts depends on the order in which Python keeps classes.
    return re.sub(r"Removed \d+ record", "Removed <some> record", RECENT.sub("<now>", text))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Airflow adds rows in the order of sets.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    main()
