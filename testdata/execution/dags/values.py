"""Params, variables and connections."""

from airflow.sdk import DAG, BaseHook, Connection, Param, Variable, task
from airflow.sdk.exceptions import AirflowRuntimeError
from tracing import START

TYPED = {
    "text": Param("default", type="string", minLength=2),
    "number": Param(1, type="integer", minimum=0, maximum=10),
    "maybe": Param(None, type=["null", "string"]),
    "choice": Param("a", enum=["a", "b"]),
    "day": Param("2026-01-05", type="string", format="date"),
    "untyped": {"nested": [1]},
}

for dag_id in ("params_defaults", "params_given", "params_wrong"):
    with DAG(dag_id, schedule=None, start_date=START, params=TYPED):

        @task(params={"own": "of the task", "number": 7})
        def with_own(params=None):
            return dict(params)

        @task
        def plain(params=None, dag_run=None):
            return {"params": {key: params[key] for key in params}, "conf": dag_run.conf}

        @task
        def missing(params=None):
            return params["nothing"]

        with_own()
        plain()
        missing()


def attempt(function, *args, **kwargs):
    """What it returned, or how it failed."""
    try:
        return ["returned", function(*args, **kwargs)]
    except KeyError as error:
        return ["KeyError", str(error)]
    except AirflowRuntimeError as error:
        return ["AirflowRuntimeError", error.error.error.value]
    except Exception as error:
        return [type(error).__name__, str(error)]


with DAG("variables", schedule=None, start_date=START):

    @task
    def read():
        return {
            "word": attempt(Variable.get, "word"),
            "settings": attempt(Variable.get, "settings", deserialize_json=True),
            "not_json": attempt(Variable.get, "word", deserialize_json=True),
            "environment": attempt(Variable.get, "from_environment"),
            "environment_first": attempt(Variable.get, "in_both"),
            "missing": attempt(Variable.get, "nothing"),
            "missing_default": attempt(Variable.get, "nothing", default="fallback"),
            "missing_none": attempt(Variable.get, "nothing", default=None),
            "empty": attempt(Variable.get, "empty"),
            "unicode": attempt(Variable.get, "ünï/code key"),
        }

    @task
    def write():
        Variable.set("written", "by a task", description="described")
        Variable.set("written_json", {"a": [1, None]}, serialize_json=True)
        Variable.set("word_replaced", "second")
        Variable.set("in_both", "hidden by the environment")
        return {
            "again": attempt(Variable.get, "written"),
            "json": attempt(Variable.get, "written_json", deserialize_json=True),
            "number": attempt(Variable.set, "written_number", 5),
            "none": attempt(Variable.set, "written_none", None),
            "hidden": attempt(Variable.get, "in_both"),
        }

    @task
    def delete():
        Variable.set("short_lived", "x")
        before = attempt(Variable.get, "short_lived")
        Variable.delete("short_lived")
        return [
            before,
            attempt(Variable.get, "short_lived", default="gone"),
            attempt(Variable.delete, "never was there"),
            attempt(Variable.get, "word_replaced"),
        ]

    @task
    def keys():
        return sorted(Variable.keys(prefix="listed_"))

    read() >> write() >> delete() >> keys()

with DAG("connections", schedule=None, start_date=START):

    def shown(conn):
        names = ("conn_id", "conn_type", "host", "schema", "login", "password", "port", "extra")
        return {name: getattr(conn, name) for name in names}

    @task
    def read_connections():
        ids = ("a_database", "from_environment", "from_environment_json", "bare", "ünïcode")
        return {
            **{conn_id: attempt(lambda conn_id=conn_id: shown(Connection.get(conn_id))) for conn_id in ids},
            "extra": attempt(lambda: Connection.get("a_database").extra_dejson),
            "uri": attempt(lambda: Connection.get("bare").get_uri()),
            "missing": attempt(Connection.get, "nothing"),
            "by_hook": attempt(lambda: BaseHook.get_connection("a_database").host),
            "by_hook_missing": attempt(lambda: BaseHook.get_connection("nothing").host),
        }

    @task
    def missing_fails():
        return Connection.get("nothing").host

    @task
    def missing_variable_fails():
        return Variable.get("nothing")

    read_connections()
    missing_fails()
    missing_variable_fails()
