"""Templates: every value and macro, also those that Airflow 3 does not have any more."""

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, Asset, BaseOperator, Param
from tracing import START


class Render(BaseOperator):
    """Returns what its one field has become."""

    template_fields = ("values",)

    def __init__(self, values, **kwargs):
        super().__init__(**kwargs)
        self.values = values

    def execute(self, context):
        return self.values


DATES = (
    "ds",
    "ds_nodash",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
    "logical_date",
    "data_interval_start",
    "data_interval_end",
    "prev_data_interval_start_success",
    "prev_data_interval_end_success",
    "dag_run.logical_date",
    "dag_run.data_interval_start",
    "dag_run.run_after",
    "data_interval_start | ds",
    "data_interval_end | ts",
    "logical_date | ds_nodash",
    "logical_date | ts_nodash",
    "logical_date | ts_nodash_with_tz",
    "logical_date.add(days=3).isoformat()",
    "logical_date.in_timezone('Asia/Tokyo')",
    "(data_interval_end - data_interval_start).total_seconds()",
    "prev_start_date_success is none",
    "prev_end_date_success is none",
)
IDENTITY = (
    "run_id",
    "dag.dag_id",
    "task.task_id",
    "ti.task_id",
    "ti.try_number",
    "ti.map_index",
    "ti.max_tries",
    "task_instance.dag_id",
    "task_instance_key_str",
    "dag_run.run_id",
    "dag_run.run_type",
    "dag_run.dag_id",
    "dag_run.conf",
    "dag_run.state",
    "dag_run.clear_number",
    "dag_run.partition_key",
    "partition_key",
    "partition_date",
    "task_reschedule_count",
    "inlets",
    "outlets",
    "map_index_template",
    "triggering_asset_events",
    "params",
    "params.word",
    "params['number']",
    "dag.params.word",
    "task.owner",
    "dag.timezone",
)
MACROS = (
    "macros.ds_add(ds, 5)",
    "macros.ds_add(ds, -31)",
    "macros.ds_format(ds, '%Y-%m-%d', '%d/%m/%y')",
    "macros.datetime(2026, 2, 3)",
    "macros.timedelta(days=2)",
    "macros.datetime_diff_for_humans(logical_date, logical_date.add(days=2))",
    "macros.json.dumps({'a': [1, none]})",
    "macros.uuid.UUID(int=5)",
    "macros.dateutil.parser.parse('2026-02-03')",
    "macros.time.gmtime(0).tm_year",
    "macros.yaml.dump({'a': 1})",
    "(macros.datetime.fromisoformat('2026-01-05') - macros.timedelta(hours=1)).isoformat()",
    "[1, 2, 3] | sum",
    "'text' | upper",
    "{'b': 1, 'a': 2} | tojson",
)
SECRETS = (
    "var.value.word",
    "var.value.from_environment",
    "var.value.empty",
    "var.json.settings",
    "var.json.settings.list[1]",
    "var.value.get('nothing', 'fallback')",
    "var.json.get('nothing', {'a': 1})",
    "var.value.settings",
    "conn.a_database.host",
    "conn.a_database.port",
    "conn.a_database.login",
    "conn.a_database.schema",
    "conn.a_database.conn_type",
    "conn.a_database.extra_dejson.option",
    "conn.from_environment.host",
    "conn.from_environment_json.extra_dejson.nested.key",
    "conn.get('nothing', 'fallback')",
    "conn.a_database.get_uri() | length",
)
# Some were there before Airflow 3, some never: each fails its task.
MISSING = (
    "next_ds",
    "next_ds_nodash",
    "prev_ds",
    "prev_ds_nodash",
    "yesterday_ds",
    "tomorrow_ds",
    "next_execution_date",
    "prev_execution_date",
    "execution_date",
    "conf",
    "nobody_knows",
    "params.nothing",
    "var.value.nothing",
    "conn.nothing.host",
    "macros.nothing()",
    "dag_run.nothing",
    "ti.xcom_pull('nobody').attribute",
    "1 / 0",
)


def as_dict(expressions):
    return {one: "{{ " + one + " }}" for one in expressions}


DEFAULTS = {"word": "default", "number": Param(5, type="integer"), "nested": {"a": {"b": "deep"}}}

for dag_id, schedule in (("template_values", None), ("template_values_daily", "0 6 * * *")):
    with DAG(dag_id, schedule=schedule, start_date=START, catchup=False, params=DEFAULTS):
        Render(task_id="dates", values=as_dict(DATES))
        Render(task_id="identity", values=as_dict(IDENTITY), outlets=[Asset("template_outlet")])

with DAG("template_macros", schedule=None, start_date=START):
    Render(task_id="macros", values=as_dict(MACROS))
    Render(task_id="secrets", values=as_dict(SECRETS))
    Render(task_id="masked", values="{{ conn.a_database.password }} and {{ var.value.secret_word }}")
    Render(
        task_id="types", values=[1, 2.5, None, True, ("{{ 1 }}",), {"{{ 2 }}"}, {"k": {"{{ 3 }}": "{{ 4 }}"}}]
    )
    Render(task_id="long", values="{{ 'x' * 5000 }}")
    Render(task_id="object", values=object)
    Render(task_id="no_template", values="{{ '{{' }} {% raw %}{{ ds }}{% endraw %}")
    Render(task_id="syntax_error", values="{{ ds ")

with DAG("template_missing", schedule=None, start_date=START):
    for number, expression in enumerate(MISSING):
        Render(task_id=f"missing_{number:02d}", values="{{ " + expression + " }}")

with DAG(
    "template_native",
    schedule=None,
    start_date=START,
    render_template_as_native_obj=True,
    params={"numbers": [1, 2], "flag": True},
):
    Render(task_id="list", values="{{ params.numbers }}")
    Render(task_id="flag", values="{{ params.flag }}")
    Render(task_id="number", values="{{ 1 + 1 }}")
    Render(task_id="text_of_number", values="{{ '1' }}{{ '2' }}")
    Render(task_id="none", values="{{ none }}")
    Render(task_id="date", values="{{ logical_date }}")
    Render(task_id="dict", values={"k": "{{ {'a': [1]} }}"})
    PythonOperator(
        task_id="argument",
        python_callable=lambda value: [type(value).__name__, value],
        op_args=["{{ ti.xcom_pull('list') or params.numbers }}"],
    )

with DAG(
    "template_own",
    schedule=None,
    start_date=START,
    user_defined_macros={"greet": lambda who: f"hello {who}", "constant": 42, "run_id": "not this one"},
    user_defined_filters={"shout": lambda text: text.upper() + "!"},
    jinja_environment_kwargs={"trim_blocks": True},
    template_searchpath=[],
):
    Render(task_id="own_macro", values="{{ greet('you') }} {{ constant }} {{ run_id }}")
    Render(task_id="own_filter", values="{{ ds | shout }}")
    BashOperator(task_id="trimmed", bash_command="{% if true %}\necho yes\n{% endif %}\n")

with DAG(
    "template_zone", schedule="30 22 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="Europe/Berlin")
):
    Render(task_id="dates", values=as_dict(DATES))
