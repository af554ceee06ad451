"""What runs of DAGs have left in a database, as JSON that is the same whenever and wherever they ran.

    <venv>/bin/python testdata/execution/rows.py [--trace FILE] [--mask NAME=TEXT]... SQLALCHEMY-URL DAG-ID...

Prints an object: "dags" by id, each with its runs, what waits for it and the callbacks that were ever written
for it, and what belongs to no DAG: asset state, variables, callbacks that are left. FILE is what callbacks
wrote to (FERROFLOW_TRACE_FILE). Texts that say where something ran become their NAME in angle brackets;
moments of these days become <moment>, long values their length and hash.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import sqlalchemy as sa
from cryptography.fernet import Fernet
from masks import Masks, places
from world import WRITTEN_CALLBACKS

# Longer values are shown by their hash.
LONG = 4000
# Values that are chance or a clock: DAG, task, and the XComs or entries of the state store that they are in.
BY_CHANCE = {
    ("example_asset_state_store_producer", "load"): {"return_value"},
    ("example_task_state_store", "run_job"): {"return_value", "job_id", "result"},
    ("example_task_state_store_mapped", "process_table"): {"return_value", "result", "row_count"},
    ("example_bash_decorator", "get_file_stats"): {"return_value"},
    ("tutorial", "print_date"): {"return_value"},
}
# XComs that list tasks of a set, in any order.
SETS_OF_TASKS = {("op_latest_only", "latest_only")}
# The one DAG that leaves variables.
WRITES_VARIABLES = "variables"
# Columns of which it is shown only that there is something in them.
HAD_BY_RUNS = (
    *("start_date", "end_date", "queued_at", "last_scheduling_decision", "creating_job_id", "backfill_id"),
    "created_dag_version_id",
)
HAD_BY_TASKS = (
    *("start_date", "end_date", "hostname", "duration", "unixname", "pid", "last_heartbeat_at"),
    *("scheduled_dttm", "queued_dttm", "queued_by_job_id", "external_executor_id", "dag_version_id"),
)
ASSETS_BY_CHANCE = {"orders/daily": {"last_run_summary"}}
# What callbacks are told and is another each time: it is shown only that there is something.
TOLD_BY_CHANCE = {"id", "dag_version_id", "hostname", "context_carrier"}
# Which task instance it is about is shown elsewhere; which was the last of a run, is chance.
WHICH = {"task_id", "map_index", "try_number"}


def dump(
    url: str,
    dag_ids: list[str],
    trace: Path | None = None,
    masks: dict[str, str] | None = None,
    *,
    of_a_scheduler: bool = False,
) -> dict:
    """What is there; with `of_a_scheduler` also what only a scheduler writes."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        dumped = _Dump(connection, dag_ids, Masks(places() | (masks or {})), of_a_scheduler).all(trace)
    engine.dispose()
    return dumped


class _Dump:
    def __init__(self, connection, dag_ids: list[str], masks: Masks, of_a_scheduler: bool) -> None:
        self._of_a_scheduler = of_a_scheduler
        self._connection = connection
        self._dag_ids = dag_ids
        self._masks = masks
        self._assets = {row["id"]: row["name"] for row in self._rows("asset", "id", "name")}

    def all(self, trace: Path | None) -> dict:
        dags = {dag_id: {"runs": self._runs_of(dag_id)} for dag_id in self._dag_ids}
        for dag_id, waiting in self._waiting().items():
            dags[dag_id] |= waiting
        for line in self._trace(trace):
            dags[line.pop("dag_id")].setdefault("trace", []).append(line)
        self._add_what_was_done_to(dags)
        self._add_callbacks_of(dags)
        return {
            "dags": dags,
            "callbacks": _sorted(self._rows("callback", "type", "fetch_method", "state")),
            "asset_state_store": self._asset_state(),
            "asset_aliases": self._aliases(),
            "variables": self._variables() if WRITES_VARIABLES in dags else {},
        }

    def _add_what_was_done_to(self, dags: dict) -> None:
        of_no_task = sa.column("task_id").is_(None)
        for row in self._rows("log", "dag_id", "event", "owner", "extra", where=of_no_task):
            if row["dag_id"] in dags:
                dags[row.pop("dag_id")].setdefault("audit_log", []).append(row)

    def _add_callbacks_of(self, dags: dict) -> None:
        """All that were ever written, by run: what they tell, and of whom they tell it."""
        for row in self._rows(
            WRITTEN_CALLBACKS,
            *("type", "fetch_method", "bundle_name", "state", "priority_weight"),
            json_columns=("data",),
        ):
            data = row.pop("data")["__var"]
            # Those of deadlines are no requests, and do not name their run yet.
            told = json.loads(data["req_data"]) if "req_data" in data else data | {"run_id": "-"}
            about = told.get("ti", told)
            if about["dag_id"] not in dags:
                continue
            name = data.get("req_class") or data["path"]
            if "task_id" in about:
                name += f" {_name(dict(about))} try {about['try_number']}"
                # How its process has ended, everybody tells in words of their own.
                told["msg"] = told["msg"] and "<own words>"
            of_dag = dags[about["dag_id"]].setdefault("callbacks", {})
            of_run = of_dag.setdefault(self._masks.text(about["run_id"]), [])
            shown = row | {"request": self._masks.value(_told(told)), "about": []}
            if (same := next((one for one in of_run if one | {"about": []} == shown), None)) is None:
                of_run.append(same := shown)
            same["about"].append(name)
        for dag in dags.values():
            for run_id, callbacks in dag.get("callbacks", {}).items():
                for callback in callbacks:
                    callback["about"].sort()
                dag["callbacks"][run_id] = _sorted(callbacks)

    def _rows(self, table: str, *columns: str, where=None, json_columns=(), date_columns=()) -> list[dict]:
        types = dict.fromkeys(json_columns, sa.JSON()) | dict.fromkeys(
            date_columns, sa.DateTime(timezone=True)
        )
        selected = [sa.column(name, types.get(name)) for name in (*columns, *json_columns, *date_columns)]
        statement = sa.select(*selected).select_from(sa.table(table))
        if where is not None:
            statement = statement.where(where)
        return [dict(row) for row in self._connection.execute(statement).mappings()]

    def _of(self, dag_id: str, column: str = "dag_id"):
        return sa.column(column) == dag_id

    def _runs_of(self, dag_id: str) -> dict:
        runs = self._rows(
            "dag_run",
            *("id", "run_id", "state", "run_type", "triggered_by", "triggering_user_name", "clear_number"),
            *("partition_key", *HAD_BY_RUNS),
            where=self._of(dag_id),
            json_columns=("conf",),
            date_columns=("logical_date", "data_interval_start", "data_interval_end", "run_after"),
        )
        shown = {}
        for run in sorted(runs, key=lambda run: run["id"]):
            run_id, number = run.pop("run_id"), run.pop("id")
            label = self._masks.text(run_id)
            if self._of_a_scheduler and run["partition_key"]:
                # Which partition is first, is chance.
                label += f" {run['partition_key']}"
            while label in shown:
                label += " another"
            user, has = run.pop("triggering_user_name"), [key for key in HAD_BY_RUNS if run.pop(key)]
            shown[label] = self._masks.value(run) | self._run_parts(dag_id, run_id)
            if self._of_a_scheduler:
                shown[label] |= {"user": user, "has": has, "consumed_events": self._consumed(number)}
        return shown

    def _run_parts(self, dag_id: str, run_id: str) -> dict:
        where = sa.and_(self._of(dag_id), sa.column("run_id") == run_id)
        return {
            "tasks": self._tasks(where),
            "xcoms": self._xcoms(dag_id, where),
            "rendered": self._rendered(where),
            "task_maps": _sorted(
                self._rows("task_map", "task_id", "map_index", "length", where=where, json_columns=("keys",))
            ),
            "task_state_store": self._task_state(dag_id, where),
            "asset_events": self._events(dag_id, run_id),
            "audit_log": self._audit_log(where),
        }

    def _tasks(self, where) -> dict:
        reschedules = defaultdict(int)
        for row in self._rows("task_reschedule", "ti_id"):
            reschedules[str(row["ti_id"])] += 1
        tries = defaultdict(list)
        for row in self._rows(
            "task_instance_history",
            *("task_id", "map_index", "try_number", "state", "max_tries", "rendered_map_index"),
            *("retry_delay_override", "retry_reason"),
            where=where,
        ):
            name = _name(row)
            tries[name].append({key: value for key, value in row.items() if value is not None})
        found = self._rows(
            "task_instance",
            *(
                "id",
                "task_id",
                "map_index",
                "state",
                "try_number",
                "max_tries",
                "rendered_map_index",
                "operator",
            ),
            *("custom_operator_name", "pool", "pool_slots", "queue", "priority_weight", "task_display_name"),
            *("next_method", "retry_delay_override", "retry_reason", "executor", *HAD_BY_TASKS),
            where=where,
        )
        shown = {}
        for row in found:
            ti_id = str(row.pop("id"))
            name = _name(row)
            if row["task_display_name"] == name.split("[")[0]:
                del row["task_display_name"]
            # That there are any; when, is nobody's business.
            has = [key for key in HAD_BY_TASKS if row.pop(key)]
            row["has"] = [key for key in has if self._of_a_scheduler or key in HAD_BY_TASKS[:3]]
            row = {key: value for key, value in row.items() if value is not None or key == "state"}
            if tries[name]:
                row["earlier_tries"] = sorted(tries[name], key=lambda one: one["try_number"])
            if reschedules[ti_id]:
                row["reschedules"] = reschedules[ti_id]
            shown[name] = self._masks.value(row)
        return shown

    def _xcoms(self, dag_id: str, where) -> dict:
        shown = defaultdict(dict)
        for row in self._rows(
            "xcom", "task_id", "map_index", "key", "dag_result", where=where, json_columns=("value",)
        ):
            chance = BY_CHANCE.get((dag_id, row["task_id"]), ())
            value = "<by chance>" if row["key"] in chance else _short(self._masks.value(row["value"]))
            if row["key"] == "skipmixin_key" or (dag_id, row["task_id"]) in SETS_OF_TASKS:
                value = _with_sorted_lists(value)
            if row["dag_result"]:
                value = {"dag_result": value}
            shown[_name(row)][row["key"]] = value
        return dict(shown)

    def _rendered(self, where) -> dict:
        found = self._rows(
            "rendered_task_instance_fields",
            "task_id",
            "map_index",
            where=where,
            json_columns=("rendered_fields",),
        )
        return {_name(row): _short(self._masks.value(row["rendered_fields"])) for row in found}

    def _task_state(self, dag_id: str, where) -> list[dict]:
        shown = []
        for row in self._rows(
            "task_state_store", "task_id", "map_index", "key", "value", "expires_at", where=where
        ):
            if row["key"] in BY_CHANCE.get((dag_id, row["task_id"]), ()):
                row["value"] = "<by chance>"
            row["value"] = self._masks.text(row["value"])
            row["expires"] = row.pop("expires_at") is not None
            shown.append(row)
        return _sorted(shown)

    def _events(self, dag_id: str, run_id: str) -> list[dict]:
        aliases = {row["id"]: row["name"] for row in self._rows("asset_alias", "id", "name")}
        through = defaultdict(list)
        for row in self._rows("asset_alias_asset_event", "alias_id", "event_id"):
            through[row["event_id"]].append(aliases[row["alias_id"]])
        where = sa.and_(self._of(dag_id, "source_dag_id"), sa.column("source_run_id") == run_id)
        shown = []
        for row in self._rows(
            "asset_event",
            *("id", "asset_id", "source_task_id", "source_map_index", "partition_key"),
            where=where,
            json_columns=("extra",),
        ):
            row["aliases"] = sorted(through[row.pop("id")])
            row["asset"] = self._assets[row.pop("asset_id")]
            shown.append(self._masks.value(row))
        return _sorted(shown)

    def _consumed(self, run: int) -> list[list]:
        """The events of assets that have made a run."""
        taken = {
            row["event_id"]
            for row in self._rows("dagrun_asset_event", "event_id", where=sa.column("dag_run_id") == run)
        }
        found = self._rows(
            "asset_event", "asset_id", "source_dag_id", "source_task_id", where=sa.column("id").in_(taken)
        )
        return sorted(
            [self._assets[row["asset_id"]], row["source_dag_id"], row["source_task_id"]] for row in found
        )

    def _audit_log(self, where) -> dict[str, list[str]]:
        """Per task instance what happened in which try, whose it is, and whether there is more about it."""
        shown = defaultdict(list)
        for row in self._rows(
            "log",
            *("task_id", "map_index", "try_number", "event", "owner", "extra", "logical_date"),
            where=where,
        ):
            words = [str(row["try_number"]), row["event"], row["owner"] or "-"]
            words += [key for key in ("logical_date", "extra") if row[key]]
            shown[_name(row)].append(" ".join(words))
        return {name: sorted(lines) for name, lines in shown.items()}

    def _waiting(self) -> dict[str, dict]:
        """Per DAG the assets of which it has seen events, and partitions that are not complete."""
        shown = defaultdict(lambda: defaultdict(list))
        wanted = sa.column("target_dag_id").in_(self._dag_ids)
        for row in self._rows("asset_dag_run_queue", "target_dag_id", "asset_id", where=wanted):
            shown[row["target_dag_id"]]["queued_assets"].append(self._assets[row["asset_id"]])
        for row in self._rows("asset_partition_dag_run", "target_dag_id", "partition_key", where=wanted):
            shown[row["target_dag_id"]]["pending_partitions"].append(row["partition_key"])
        for row in self._rows(
            "partitioned_asset_key_log",
            *("target_dag_id", "asset_id", "source_partition_key", "target_partition_key"),
            where=wanted,
        ):
            shown[row["target_dag_id"]]["partition_keys"].append(
                [self._assets[row["asset_id"]], row["source_partition_key"], row["target_partition_key"]]
            )
        return {
            dag_id: {kind: sorted(rows) for kind, rows in kinds.items()} for dag_id, kinds in shown.items()
        }

    def _asset_state(self) -> list[dict]:
        shown = []
        for row in self._rows(
            "asset_state_store",
            *("asset_id", "key", "value", "last_updated_by_kind", "last_updated_by_dag_id"),
            *("last_updated_by_run_id", "last_updated_by_task_id", "last_updated_by_map_index"),
            where=sa.column("last_updated_by_dag_id").in_(self._dag_ids),
        ):
            row["asset"] = self._assets[row.pop("asset_id")]
            if row["key"] in ASSETS_BY_CHANCE.get(row["asset"], ()):
                row["value"] = "<by chance>"
            shown.append(self._masks.value(row))
        return _sorted(shown)

    def _aliases(self) -> dict[str, list[str]]:
        """Per alias the assets that came through it, if that was in one of the DAGs."""
        mine = {
            row["asset_id"]
            for row in self._rows(
                "asset_event", "asset_id", where=sa.column("source_dag_id").in_(self._dag_ids)
            )
        }
        names = {row["id"]: row["name"] for row in self._rows("asset_alias", "id", "name")}
        shown = defaultdict(list)
        for row in self._rows("asset_alias_asset", "alias_id", "asset_id"):
            if row["asset_id"] in mine:
                shown[names[row["alias_id"]]].append(self._assets[row["asset_id"]])
        return {alias: sorted(assets) for alias, assets in shown.items()}

    def _variables(self) -> dict[str, list]:
        key = os.environ.get("AIRFLOW__CORE__FERNET_KEY")
        shown = {}
        for row in self._rows("variable", "key", "val", "description", "is_encrypted"):
            value = row["val"]
            if row["is_encrypted"] and key:
                value = Fernet(key).decrypt(value.encode()).decode()
            shown[row["key"]] = [value, bool(row["is_encrypted"]), row["description"]]
        return shown

    def _trace(self, file: Path | None) -> list[dict]:
        """Lines of one try stay in order; who was first of several, is chance."""
        if file is None or not file.exists():
            return []
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines = [self._masks.value(line) for line in lines if line["dag_id"] in self._dag_ids]
        # A callback that the DAG processor runs may come when the next try has begun.
        names = ("dag_id", "run_id", "task_id", "map_index", "try_number")
        lines.sort(key=lambda line: [str(line[name]) for name in names])
        return lines


def _name(row: dict) -> str:
    """A task instance: its task, and which of them."""
    task_id, map_index = row.pop("task_id"), row.pop("map_index")
    return task_id if map_index == -1 else f"{task_id}[{map_index}]"


def _told(value: object) -> object:
    """What a callback is told, without what is chance and whom it is about."""
    if isinstance(value, list):
        return [_told(one) for one in value]
    if not isinstance(value, dict):
        return value
    shown = {}
    for key, one in value.items():
        if key in TOLD_BY_CHANCE:
            shown[key] = one and "<by chance>"
        elif key in ("ti", "last_ti") and one:
            shown[key] = _told({name: one[name] for name in one if name not in WHICH})
        else:
            shown[key] = _told(one)
    return shown


def _with_sorted_lists(value: object) -> object:
    if isinstance(value, dict):
        return {key: _with_sorted_lists(one) for key, one in value.items()}
    return sorted(value, key=str) if isinstance(value, list) else value


def _short(value: object) -> object:
    text = json.dumps(value, sort_keys=True)
    if len(text) <= LONG:
        return value
    return {"length": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _sorted(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--mask", action="append", default=[])
    parser.add_argument("url")
    parser.add_argument("dag_ids", nargs="+")
    given = parser.parse_args()
    named = dict(one.split("=", 1) for one in given.mask)
    json.dump(
        dump(given.url, given.dag_ids, given.trace, named),
        sys.stdout,
        sort_keys=True,
        ensure_ascii=False,
        indent=1,
    )
