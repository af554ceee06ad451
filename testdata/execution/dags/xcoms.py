"""XComs: every type, every way to push and to pull."""

import datetime
import decimal
import uuid
from zoneinfo import ZoneInfo

import pendulum
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, XComArg, task
from tracing import START

UTC = datetime.timezone.utc
PLAIN = {
    "none_in_list": [None],
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -1,
    "largest_64": 2**63 - 1,
    "smallest_64": -(2**63),
    "float": 1.5,
    # By itself it would be a whole number on SQLite.
    "float_whole": [2.0],
    "float_small": 1e-300,
    "float_third": 1 / 3,
    "text": "text",
    "text_empty": "",
    "text_unicode": "ünïcode 日本語 🦀 \u0000".replace("\u0000", "") + "\u2028",
    "text_escapes": 'quote " backslash \\ newline \n tab \t bell \u0007',
    "text_like_json": '{"a": 1}',
    "text_like_date": "2026-01-05T00:00:00+00:00",
    "list_empty": [],
    "dict_empty": {},
    "nested": {"a": [1, [2, {"b": None, "c": [True, 1.25, "x"]}]], "z": {"y": {"x": {}}}},
    "key_order": {"z": 1, "a": 2, "é": 3, "": 4},
    "like_serde": {"__nothing__": 1},
}
SERDE = {
    "datetime_utc": datetime.datetime(2026, 1, 5, 1, 2, 3, 456789, tzinfo=UTC),
    "datetime_zone": datetime.datetime(2026, 7, 5, 1, 2, 3, tzinfo=ZoneInfo("Europe/Berlin")),
    "pendulum": pendulum.datetime(2026, 1, 5, 12, tz="America/New_York"),
    "date": datetime.date(2026, 1, 5),
    "timedelta": datetime.timedelta(days=1, seconds=2, microseconds=3),
    "tuple": (1, "two", (3,)),
    "set": {7},
    "frozenset": frozenset({"only"}),
    "decimal": decimal.Decimal("1.10"),
    "decimal_whole": decimal.Decimal(5),
    "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "zone": ZoneInfo("Asia/Tokyo"),
    "in_a_dict": {"when": datetime.datetime(2026, 1, 5, tzinfo=UTC), "which": (1, 2)},
}

with DAG("xcom_types", schedule=None, start_date=START):

    @task
    def push_plain(ti=None):
        for key, value in PLAIN.items():
            ti.xcom_push(key=key, value=value)
        ti.xcom_push(key="none", value=None)
        return PLAIN

    @task
    def pull_plain(given, ti=None):
        pulled = {key: ti.xcom_pull(task_ids="push_plain", key=key) for key in PLAIN}
        assert given == PLAIN, given
        return [
            key for key in PLAIN if pulled[key] != PLAIN[key] or type(pulled[key]) is not type(PLAIN[key])
        ]

    @task
    def push_serde(ti=None):
        for key, value in SERDE.items():
            ti.xcom_push(key=key, value=value)

    @task
    def pull_serde(ti=None):
        pulled = {key: ti.xcom_pull(task_ids="push_serde", key=key) for key in SERDE}
        return {key: f"{type(value).__name__} {value!r}" for key, value in pulled.items()}

    @task
    def push_unknown_class():
        return object()

    @task
    def push_bytes():
        return b"bytes"

    @task
    def push_past_64(ti=None):
        ti.xcom_push(key="past_64", value=2**64)

    @task
    def push_not_a_number():
        return float("nan")

    @task
    def push_key_twice(ti=None):
        ti.xcom_push(key="same", value="first")
        ti.xcom_push(key="same", value="second")
        ti.xcom_push(key="return_value", value="replaced by the return")
        return "returned"

    @task
    def push_strange_keys(ti=None):
        keys = ("with space", "with/slash", "ünïcode", "dots.and-more", "a=b&c", "k" * 512)
        for key in keys:
            ti.xcom_push(key=key, value=key[:20])
        return [ti.xcom_pull(task_ids="push_strange_keys", key=key) for key in keys]

    @task
    def push_key_empty(ti=None):
        ti.xcom_push(key="", value=1)

    @task
    def push_key_of_urls(ti=None):
        ti.xcom_push(key="cut?here", value=1)
        ti.xcom_push(key="cut#here", value=2)
        return [ti.xcom_pull(task_ids="push_key_of_urls", key=key) for key in ("cut?here", "cut#here")]

    pull_plain(push_plain())
    push_serde() >> pull_serde()
    push_unknown_class()
    push_bytes()
    push_past_64()
    push_not_a_number()
    push_key_twice()
    push_strange_keys()
    push_key_empty()
    push_key_of_urls()

with DAG("xcom_large", schedule=None, start_date=START):

    @task
    def megabyte():
        return "".join(f"{number:07d}," for number in range(131072))

    @task
    def megabyte_of_numbers():
        return list(range(150000))

    @task
    def measure(text, numbers):
        return {"length": len(text), "end": text[-8:], "sum": sum(numbers)}

    measure(megabyte(), megabyte_of_numbers())

with DAG("xcom_pull", schedule=None, start_date=START):

    @task
    def source(ti=None):
        ti.xcom_push(key="other", value={"deep": [1, 2]})
        return "from source"

    @task
    def mapped_source(number):
        return None if number == 2 else number * 10

    @task
    def pull(ti=None, run_id=None):
        ti.xcom_push(key="mine", value="own")
        mapped = "mapped_source"
        return {
            "default_key": ti.xcom_pull("source"),
            "other_key": ti.xcom_pull("source", key="other"),
            "list": ti.xcom_pull(["source", mapped]),
            "list_with_missing": ti.xcom_pull(["source", "nobody"]),
            "missing_task": ti.xcom_pull("nobody"),
            "missing_key": ti.xcom_pull("source", key="nothing"),
            "missing_with_default": ti.xcom_pull("source", key="nothing", map_indexes=-1, default="fallback"),
            "mapped_all": ti.xcom_pull(mapped),
            "mapped_one": ti.xcom_pull(mapped, map_indexes=1),
            "mapped_some": ti.xcom_pull(mapped, map_indexes=[2, 0]),
            "mapped_missing_index": ti.xcom_pull(mapped, map_indexes=9),
            "mapped_index_none": ti.xcom_pull(mapped, map_indexes=None),
            "own": ti.xcom_pull(key="mine"),
            "by_run": ti.xcom_pull("source", run_id=run_id),
            "by_unknown_run": ti.xcom_pull("source", run_id="no such run"),
            "by_unknown_dag": ti.xcom_pull("source", dag_id="no such dag"),
            "other_dag": ti.xcom_pull("the_result", dag_id="tf_result"),
            "prior": ti.xcom_pull("source", include_prior_dates=True),
        }

    @task
    def lazy(values, ti=None):
        return {
            "type": type(values).__name__,
            "length": len(values),
            "first": values[0],
            "last": values[-1],
            "slice": list(values[1:3]),
            "reversed": list(values[::-1]),
            "all": list(values),
            "has": 10 in values,
        }

    class_based = PythonOperator(
        task_id="class_based", python_callable=lambda **_: {"part": [1, 2], "other": 3}
    )

    @task
    def argument(whole, other):
        return [whole, other]

    made = mapped_source.expand(number=[0, 1, 2, 3])
    [source(), made] >> pull()
    lazy(made)
    argument(class_based.output["part"], XComArg(class_based, key="return_value"))
    argument.override(task_id="argument_missing_key")(class_based.output["nothing"], 1)

with DAG("xcom_prior", schedule="@daily", start_date=START, catchup=False):

    @task
    def only_once(logical_date=None):
        return logical_date.isoformat() if logical_date.day == 3 else None

    @task
    def look_back(ti=None):
        return {
            "now": ti.xcom_pull("only_once"),
            "before": ti.xcom_pull("only_once", include_prior_dates=True),
            "before_one": ti.xcom_pull("only_once", include_prior_dates=True, map_indexes=-1),
        }

    only_once() >> look_back()
