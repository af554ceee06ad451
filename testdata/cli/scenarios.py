"""What is typed, and which rows are looked at afterwards."""

import connection_scenarios
import history
import stretches

FORMATS = ("table", "json", "yaml", "plain")

RUN = [
    "dag_id", "run_id", "state", "run_type", "triggered_by", "triggering_user_name", "logical_date",
    "data_interval_start", "data_interval_end", "run_after", "conf", "bundle_version", "partition_key",
    "created_dag_version_id", "queued_at", "start_date", "end_date", "clear_number",
]  # fmt: skip
INSTANCE = [
    "id", "dag_id", "run_id", "task_id", "map_index", "state", "try_number", "max_tries", "start_date",
    "end_date", "duration", "hostname", "pool", "pool_slots", "queue", "priority_weight", "operator",
    "task_display_name", "dag_version_id", "unixname",
]  # fmt: skip
LOG = ["event", "dag_id", "task_id", "logical_date", "owner"]


def in_formats(*arguments: str) -> list[list[str]]:
    return [[*arguments, "-o", output] for output in FORMATS]


def trigger(*arguments: str, **more) -> dict:
    return {"arguments": ["dags", "trigger", *arguments]} | more


DAGS = [
    {
        "name": "dags trigger",
        "steps": [
            trigger("by_hand", "-o", "json"),
            trigger(
                "by_hand",
                "-c",
                '{"size": 7, "list": [1, null, true, 1.5], "text": "ä"}',
                "-r",
                "mine",
                "-o",
                "json",
            ),
            trigger(
                "by_hand", "--conf", '{"size": 8, "in": {"a": [1, "b"]}}', "--run-id", "yaml", "-o", "yaml"
            ),
            trigger(
                "by_hand",
                "--conf",
                '{"size": 9, "in": {"a": [1, "b", null]}}',
                "--run-id",
                "t",
                "-o",
                "table",
            ),
            trigger(
                "by_hand",
                "--conf",
                '{"size": 9, "in": {"a": [1, "b", null]}}',
                "--run-id",
                "p",
                "-o",
                "plain",
            ),
            trigger("by_hand", "--conf", "null", "-r", "null", "-o", "json"),
            trigger("by_hand", "-l", "2021-05-06T07:08:09.123456", "-r", "cut", "-o", "json"),
            trigger(
                "by_hand",
                "-l",
                "2021-05-07T07:08:09.123456",
                "--no-replace-microseconds",
                "-r",
                "whole",
                "-o",
                "json",
            ),
            trigger("daily", "-l", "2021-05-06", "-r", "daily", "-o", "json"),
            trigger("mapped", "-r", "once", "-o", "json"),
            trigger("by_hand", "-r", "mine"),
            trigger("by_hand", "-l", "2021-05-06T07:08:09", "-r", "other"),
            trigger("by_hand", "-c", "{nonsense"),
            trigger("by_hand", "-c", "[1]"),
            trigger("by_hand", "-c", '{"size": "large"}'),
            trigger("by_hand", "-c", '{"size": 0}'),
            trigger("by_hand", "-r", "scheduled__2021"),
            trigger("by_hand", "-r", "a/b"),
            trigger("by_hand", "-r", "a..b"),
            trigger("by_hand", "-l", "2020-02-29"),
            trigger("by_hand", "-l", "someday"),
            trigger("nonsense"),
        ],
        "after": {
            "dag_run": RUN,
            "task_instance": [name for name in INSTANCE if name != "unixname"],
            "log": LOG,
        },
    },
    {
        "name": "dags pause",
        "steps": [
            *([["dags", "pause", "daily", "-o", "json"], ["dags", "pause", "daily"]]),
            ["dags", "unpause", "daily", "-o", "yaml"],
            ["dags", "unpause", "daily"],
            ["dags", "pause", "--treat-dag-id-as-regex", "^sales", "--yes", "-o", "table"],
            {
                "arguments": ["dags", "unpause", "--treat-dag-id-as-regex", "^s.*south$"],
                "input": "what\nno\n",
            },
            {"arguments": ["dags", "unpause", "--treat-dag-id-as-regex", "south"], "input": "Yes\n"},
            ["dags", "pause", "--treat-dag-id-as-regex", "nothing", "--yes"],
        ],
        "after": {"dag": ["dag_id", "is_paused"], "log": LOG},
    },
    {
        "name": "dags and their runs",
        "steps": [
            ["dags", "state", "daily", "2020-01-02"],
            ["dags", "state", "daily", "2020-01-04T00:00:00+00:00"],
            ["dags", "state", "daily", "backfill__2020-01-03T00:00:00+00:00"],
            ["dags", "state", "by_hand", "with_conf"],
            ["dags", "state", "by_hand", "without"],
            ["dags", "state", "daily", "2019-01-02"],
            ["dags", "state", "daily", "nonsense"],
            ["dags", "state", "nonsense", "2020-01-02"],
            *in_formats("dags", "list-runs", "daily"),
            ["dags", "list-runs", "by_hand", "-o", "json"],
            ["dags", "list-runs", "consumer"],
            ["dags", "list-runs", "daily", "--state", "failed", "-o", "json"],
            ["dags", "list-runs", "daily", "--no-backfill", "-o", "json"],
            ["dags", "list-runs", "daily", "-s", "2020-01-02", "-o", "json"],
            ["dags", "list-runs", "daily", "-e", "2020-01-02", "-o", "json"],
            ["dags", "list-runs", "daily", "-s", "2020-01-02", "-e", "2020-01-03T01:00:00", "-o", "json"],
            ["dags", "list-runs", "daily", "--state", "nonsense"],
            ["dags", "list-runs", "daily", "-s", "nonsense"],
            ["dags", "list-runs", "nonsense"],
            *in_formats("dags", "list-jobs"),
            ["dags", "list-jobs", "--limit", "1", "-o", "json"],
            ["dags", "list-jobs", "--state", "running", "-o", "json"],
            ["dags", "list-jobs", "-d", "daily", "-o", "json"],
            ["dags", "list-jobs", "-d", "nonsense"],
            ["dags", "list-jobs", "--state", "nonsense"],
        ],
    },
    {
        "name": "dags delete",
        "steps": [
            ["dags", "delete", "sales_north", "--yes"],
            ["dags", "delete", "by_hand", "-y"],
            ["dags", "delete", "daily", "--yes"],
            ["dags", "delete", "nonsense", "--yes"],
        ],
        "after": {
            "dag": ["dag_id"],
            "dag_run": ["dag_id", "run_id"],
            "task_instance": ["dag_id", "run_id", "task_id"],
            "dag_version": ["dag_id"],
            "serialized_dag": ["dag_id"],
            "dag_code": ["dag_id"],
            "dag_tag": ["dag_id", "name"],
            "job": ["dag_id", "job_type"],
            "task_outlet_asset_reference": ["dag_id", "task_id"],
            "dag_schedule_asset_reference": ["dag_id"],
            "asset": ["name", "uri"],
            "log": LOG,
        },
    },
]

CLEARED = {
    "dag_run": ["dag_id", "run_id", "state", "clear_number", "queued_at", "start_date", "end_date",
                "created_dag_version_id", "bundle_version", "last_scheduling_decision"],
    "task_instance": [*INSTANCE, "queued_dttm", "external_executor_id", "custom_operator_name"],
    "task_instance_history": ["task_instance_id", "dag_id", "run_id", "task_id", "map_index", "state",
                              "try_number", "max_tries", "start_date", "end_date", "pool"],
    "log": LOG,
}  # fmt: skip


def clear(*arguments: str) -> dict:
    return {
        "name": " ".join(["tasks clear", *arguments]),
        "steps": [["tasks", "clear", *arguments, "--yes"]],
        "after": CLEARED,
    }


TASKS = [
    {
        "name": "tasks and their states",
        "steps": [
            ["tasks", "list", "mapped"],
            ["tasks", "state", "daily", "left", "2020-01-02"],
            ["tasks", "state", "daily", "begin", "scheduled__2020-01-04T00:00:00+00:00"],
            ["tasks", "state", "daily", "end", "2020-01-04"],
            ["tasks", "state", "mapped", "each", "three", "--map-index", "1"],
            ["tasks", "state", "mapped", "each", "three", "--map-index", "7"],
            ["tasks", "state", "mapped", "each", "three"],
            ["tasks", "state", "daily", "begin", "2020-01-02", "--map-index", "1"],
            ["tasks", "state", "daily", "nonsense", "2020-01-02"],
            ["tasks", "state", "daily", "begin", "2019-01-02"],
            ["tasks", "state", "nonsense", "begin", "2020-01-02"],
            {
                "arguments": ["tasks", "states-for-dag-run", "daily", "2020-01-03", "-o", "json"],
                "unordered": True,
            },
            {
                "arguments": ["tasks", "states-for-dag-run", "daily", "2020-01-04", "-o", "json"],
                "unordered": True,
            },
            {
                "arguments": ["tasks", "states-for-dag-run", "mapped", "three", "-o", "json"],
                "unordered": True,
            },
            *in_formats("tasks", "states-for-dag-run", "by_hand", "without"),
            ["tasks", "states-for-dag-run", "daily", "nonsense"],
            ["tasks", "states-for-dag-run", "nonsense", "2020-01-03"],
            ["tasks", "clear", "nonsense", "--yes"],
            ["tasks", "clear", "daily", "--yes", "-s", "nonsense"],
        ],
    },
    clear("daily"),
    clear("daily", "--only-failed"),
    clear("daily", "-r"),
    clear("daily", "-f", "-r", "-e", "2020-01-02"),
    clear("daily", "-s", "2020-01-02", "-e", "2020-01-03"),
    clear("daily", "-t", "left"),
    clear("daily", "-t", "ef", "-d", "-s", "2020-01-03"),
    clear("daily", "--task-regex", "right", "--upstream", "--end-date", "2020-01-01"),
    clear("mapped", "--only-failed"),
    clear("cluster", "-t", "work"),
    clear("cluster", "-t", "work", "-d"),
    clear("cluster", "-t", "more"),
    clear("cluster", "-t", "more", "-u"),
    clear("cluster", "-t", "make"),
    clear("cluster", "-t", "undo"),
]

POOL = ["pool", "slots", "description", "include_deferred", "team_name"]
POOLS = [
    {
        "name": "pools",
        "files": {
            "good.json": '{"b": {"slots": 5, "description": "x", "include_deferred": true},'
            ' "narrow": {"slots": 9, "description": ""}}',
            "bad.json": '{"c": {"slots": 5}, "d": {"slots": 1, "description": "d"}, "e": 7}',
            "broken.json": "{",
        },
        "steps": [
            *in_formats("pools", "list"),
            ["pools", "get", "narrow", "-o", "json"],
            ["pools", "get", "nonsense"],
            ["pools", "set", "a", "3", "the first"],
            ["pools", "set", "a", "-1", "without limit", "--include-deferred"],
            ["pools", "set", "", "3", "x"],
            ["pools", "set", "a", "many", "x"],
            ["pools", "set", "team", "3", "x", "--team-name", "blue"],
            ["pools", "import", "good.json"],
            ["pools", "import", "bad.json"],
            ["pools", "import", "broken.json"],
            ["pools", "import", "missing.json"],
            ["pools", "delete", "a"],
            ["pools", "delete", "a"],
            ["pools", "delete", "default_pool"],
            {"arguments": ["pools", "export", "out.json"], "writes": "out.json"},
            ["pools", "list", "-o", "json"],
        ],
        "after": {"slot_pool": POOL, "log": LOG},
    }
]

VARIABLES = [
    {
        "name": "variables",
        "files": {
            "good.json": '{"a": "changed", "d": {"value": 5, "description": "five"}, "e": {"x": [1, "ä"]},'
            ' "f": null, "g": {"value": "text"}, "h": true, "i": 1.5}',
            "good.env": "# comment\n\na=from env\nz=x=y\n",
            "twice.env": "a=1\na=2\n",
            "broken.json": "{",
            "list.json": "[]",
            "words.txt": "a=1",
        },
        "steps": [
            ["variables", "list"],
            ["variables", "set", "a", "first"],
            ["variables", "set", "b", '{"x": [1, null, true], "text": "ä"}', "--description", "an object"],
            ["variables", "set", "c", "text", "--json"],
            ["variables", "get", "a"],
            ["variables", "get", "b"],
            ["variables", "get", "b", "-j"],
            ["variables", "get", "c", "--json"],
            ["variables", "get", "a", "--json"],
            ["variables", "get", "nonsense"],
            ["variables", "get", "nonsense", "-d", "other"],
            {"arguments": ["variables", "get", "a"], "environment": {"AIRFLOW_VAR_A": "of the environment"}},
            *in_formats("variables", "list"),
            *in_formats("variables", "list", "--show-values"),
            ["variables", "list", "--show-values", "--hide-sensitive", "-o", "json"],
            ["variables", "list", "--hide-sensitive"],
            ["variables", "import", "good.json", "-a", "fail"],
            ["variables", "import", "good.json", "--action-on-existing-key", "skip"],
            ["variables", "get", "a"],
            ["variables", "import", "good.json"],
            ["variables", "import", "good.env"],
            ["variables", "import", "twice.env"],
            ["variables", "import", "broken.json"],
            ["variables", "import", "list.json"],
            ["variables", "import", "words.txt"],
            ["variables", "import", "missing.json"],
            ["variables", "import", "good.json", "-a", "nonsense"],
            {"arguments": ["variables", "export", "out.json"], "writes": "out.json"},
            ["variables", "export", "-"],
            ["variables", "delete", "a"],
            ["variables", "delete", "nonsense"],
        ],
        "after": {"variable": ["key", "val", "description", "is_encrypted", "team_name"], "log": LOG},
    }
]

ALL = [*DAGS, *TASKS, *POOLS, *VARIABLES, *connection_scenarios.ALL, *stretches.ALL, *history.ALL]
