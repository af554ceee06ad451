"""Plays calls of Airflow's Task Execution API on a database, and shows what is in one.

`official.py play` reads `{"calls", "ends"}` from standard input: calls of the API (`{"method", "path",
"body"}`), and keys of task instances of which an executor then says that they failed. It prints the answers
(`{"status", "body"}`) as `answers`, and as `rows` what is in the tables, by table; `official.py rows` prints
only these. Ids that were not there before the calls are `<new>`, and times of this year `<now>`.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import uuid

TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
RECENT = "2026"
# Sentences are everybody's own.
OWN_WORDS = {
    "fail task",
    "skip task",
    "state mismatch",
    "missing partition key",
    "failed to map partition_key",
    "partition fan-out exceeded",
}

INSTANCE = """
    dag_id, run_id, task_id, map_index, state, try_number, max_tries, start_date, end_date, duration,
    hostname, unixname, pid, queue, operator, queued_dttm, scheduled_dttm, rendered_map_index,
    {context_carrier}, trigger_timeout, next_method, {next_kwargs}, retry_delay_override, retry_reason"""


TABLES = {
    "task_instance": f"""
        SELECT id, last_heartbeat_at, trigger_id IS NULL AS has_no_trigger, {INSTANCE} FROM task_instance""",
    "task_instance_history": f"""
        SELECT task_instance_id AS id, trigger_id IS NULL AS has_no_trigger, {INSTANCE}
        FROM task_instance_history""",
    "task_reschedule": "SELECT ti_id AS id, start_date, end_date, reschedule_date FROM task_reschedule",
    "trigger": "SELECT classpath, kwargs, created_date, queue, team_name FROM {trigger}",
    "log": """
        SELECT event, dag_id, run_id, task_id, map_index, try_number, logical_date, owner, owner_display_name,
            extra
        FROM log""",
    "rendered_task_instance_fields": """
        SELECT dag_id, task_id, run_id, map_index, {rendered_fields}, {k8s_pod_yaml}
        FROM rendered_task_instance_fields""",
    "asset": "SELECT name, uri, {group}, {extra} FROM asset",
    "asset_alias": "SELECT name, {group} FROM asset_alias",
    "asset_alias_asset": """
        SELECT l.name AS alias, a.name AS asset FROM asset_alias_asset x
        JOIN asset_alias l ON l.id = x.alias_id JOIN asset a ON a.id = x.asset_id""",
    "asset_event": """
        SELECT a.name, a.uri, {e.extra}, e.source_task_id, e.source_dag_id, e.source_run_id,
            e.source_map_index, e.timestamp, e.partition_key
        FROM asset_event e JOIN asset a ON a.id = e.asset_id""",
    "asset_alias_asset_event": """
        SELECT l.name AS alias, a.name AS asset, {e.extra} FROM asset_alias_asset_event x
        JOIN asset_alias l ON l.id = x.alias_id JOIN asset_event e ON e.id = x.event_id
        JOIN asset a ON a.id = e.asset_id""",
    "asset_dag_run_queue": """
        SELECT a.name, q.target_dag_id, q.created_at
        FROM asset_dag_run_queue q JOIN asset a ON a.id = q.asset_id""",
    "asset_partition_dag_run": """
        SELECT target_dag_id, created_dag_run_id, partition_key, partition_date, {rollup_fingerprint},
            created_at
        FROM asset_partition_dag_run""",
    "partitioned_asset_key_log": """
        SELECT a.name, e.source_map_index, p.partition_key, k.source_partition_key, k.target_dag_id,
            k.target_partition_key, k.created_at
        FROM partitioned_asset_key_log k JOIN asset a ON a.id = k.asset_id
        JOIN asset_event e ON e.id = k.asset_event_id
        JOIN asset_partition_dag_run p ON p.id = k.asset_partition_dag_run_id""",
    "hitl_detail": "SELECT ti_id AS id, subject, {options}, {chosen_options}, responded_at FROM hitl_detail",
    "hitl_detail_history": """
        SELECT ti_history_id AS id, {options}, subject, body, {defaults}, multiple, {params}, {assignees},
            created_at, responded_at, {responded_by}, {chosen_options}, {params_input}
        FROM hitl_detail_history""",
    "callback": """
        SELECT type, fetch_method, {data}, bundle_name, state, priority_weight, created_at FROM callback""",
    "task_state_store": "SELECT task_id, map_index, value FROM task_state_store",
}
NAMES = {"trigger", "group"}


def play() -> dict:
    story = json.load(sys.stdin)
    answers = list(answered(story["calls"]))
    end(story["ends"])
    return {"answers": answers, **rows()}


def answered(calls: list[dict]):
    import httpx
    from airflow.api_fastapi.execution_api.app import InProcessExecutionAPI

    api = InProcessExecutionAPI()
    with httpx.Client(transport=api.transport, base_url="http://in-process.invalid/") as client:
        for call in calls:
            answer = client.request(call["method"], call["path"], json=call["body"])
            body = json.loads(answer.content) if answer.content else None
            yield {"status": answer.status_code, "body": body}


def end(instances: list[dict]) -> None:
    """What the scheduler does when an executor says that task instances failed, and they have not said so."""
    from airflow.callbacks.database_callback_sink import DatabaseCallbackSink
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dagbag import DBDagBag
    from airflow.models.taskinstancekey import TaskInstanceKey
    from airflow.utils.session import create_session

    class Executor:
        def get_event_buffer(self):
            return {TaskInstanceKey(**key): ("failed", "it is gone") for key in instances}

        def has_task(self, instance):
            return False

        def send_callback(self, request):
            DatabaseCallbackSink().send(request)

    with create_session() as session:
        SchedulerJobRunner.process_executor_events(Executor(), None, DBDagBag(), session)


def rows() -> dict:
    from airflow import settings
    from sqlalchemy import text

    shown = {}
    with settings.engine.connect() as connection:
        dialect = settings.engine.dialect.name
        for table, query in TABLES.items():
            query = re.sub(r"\{([^}]*)\}", lambda found: column(found[1], dialect), query)
            found = [plain(dict(row)) for row in connection.execute(text(query)).mappings()]
            shown[table] = sorted(found, key=json.dumps)
    return {"rows": shown}


def column(name: str, dialect: str) -> str:
    """A name that has to be quoted, or JSON as text, which tells SQL's NULL and JSON's null apart."""
    if name in NAMES:
        return f"`{name}`" if dialect == "mysql" else f'"{name}"'
    kind = {"postgresql": "TEXT", "mysql": "CHAR"}.get(dialect)
    short = name.split(".")[-1]
    return f"CAST({name} AS {kind}) AS json_{short}" if kind else f"{name} AS json_{short}"


def plain(row: dict) -> dict:
    if row.get("event") in OWN_WORDS:
        row.pop("extra")
    shown = {key: value(key, item) for key, item in row.items()}
    if shown.get("end_date") == "<now>":
        shown["duration"] = "<now>"
    return shown


def value(key: str, item):
    if item is None:
        return None
    if key == "id":
        known = uuid.UUID(str(item))
        return str(known) if known.int < 1 << 64 else "<new>"
    if key == "json_data":
        return request(json.loads(item))
    if key.startswith("json_"):
        return json.dumps(json.loads(item), sort_keys=True)
    if key in ("has_no_trigger", "multiple"):
        return bool(item)
    if isinstance(item, float):
        return round(item, 3)
    if isinstance(item, datetime.datetime):
        if item.tzinfo is not None:
            item = item.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        item = item.isoformat(sep=" ")
    if isinstance(item, str) and TIME.match(item):
        return "<now>" if item[:4] >= RECENT else datetime.datetime.fromisoformat(item).isoformat()
    return item


def request(data: dict) -> dict:
    """A request for the DAG processor, as that reads it."""
    from airflow.callbacks import callback_requests

    data = data["__var"]
    read = getattr(callback_requests, data["req_class"]).from_json(data["req_data"])
    return read.model_dump(mode="json", exclude={"msg": True, "ti": {"dag_version_id"}})


if __name__ == "__main__":
    print(json.dumps({"play": play, "rows": rows}[sys.argv[1]]()))
