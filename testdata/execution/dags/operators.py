"""Every operator of the standard provider."""

import json
import sys
from datetime import datetime, time, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.datetime import BranchDateTimeOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.latest_only import LatestOnlyOperator
from airflow.providers.standard.operators.python import (
    BranchExternalPythonOperator,
    BranchPythonOperator,
    BranchPythonVirtualenvOperator,
    ExternalPythonOperator,
    PythonOperator,
    PythonVirtualenvOperator,
    ShortCircuitOperator,
)
from airflow.providers.standard.operators.smooth import SmoothOperator
from airflow.providers.standard.operators.weekday import BranchDayOfWeekOperator
from airflow.providers.standard.utils.weekday import WeekDay
from airflow.sdk import DAG, Asset, BaseOperator, TriggerRule
from tracing import START, noting

with DAG(
    "op_bash", schedule=None, start_date=START, doc_md="# Shell\n\n*All* of it.", params={"who": "world"}
):
    BashOperator(
        task_id="last_line", bash_command="echo first; echo 'läst {{ params.who }}'", doc_md="Says it."
    )
    BashOperator(task_id="nothing_said", bash_command="true")
    BashOperator(task_id="not_kept", bash_command="echo x", do_xcom_push=False)
    BashOperator(
        task_id="environment",
        bash_command='echo "$GIVEN|$FERROFLOW_WORLD|$AIRFLOW_CTX_DAG_ID|$AIRFLOW_CTX_TRY_NUMBER"',
        env={"GIVEN": "{{ ds }}"},
    )
    BashOperator(
        task_id="environment_appended",
        bash_command='echo "$GIVEN|$FERROFLOW_WORLD|$AIRFLOW_CTX_DAG_RUN_ID|$AIRFLOW_CTX_TASK_ID"',
        env={"GIVEN": "{{ run_id }}"},
        append_env=True,
    )
    BashOperator(task_id="directory", bash_command="pwd", cwd="/usr")
    BashOperator(task_id="directory_missing", bash_command="pwd", cwd="/usr/there is none")
    BashOperator(task_id="script", bash_command="templates/script.sh")
    BashOperator(task_id="script_missing", bash_command="templates/missing.sh")
    BashOperator(task_id="processed", bash_command="echo '{\"a\": [1, null]}'", output_processor=json.loads)
    BashOperator(
        task_id="several",
        bash_command='echo \'{"one": 1, "two": "zwei"}\'',
        output_processor=json.loads,
        multiple_outputs=True,
    )
    BashOperator(task_id="skips", bash_command="echo bye; exit 99")
    BashOperator(task_id="skips_on_other", bash_command="exit 7", skip_on_exit_code=[7, 8])
    BashOperator(task_id="fails", bash_command="echo said before; exit 3")
    BashOperator(task_id="fails_in_pipe", bash_command="false | true; set -o pipefail; false | true")
    BashOperator(task_id="killed_command", bash_command="kill -9 $$")


def _with_context(first, *rest, named=None, ds=None, templates_dict=None, **context):
    return {
        "first": first,
        "rest": list(rest),
        "named": named,
        "ds": ds,
        "templates": templates_dict,
        "knows": sorted({"ti", "dag_run", "params", "var", "conn", "macros"} & context.keys()),
        "try": context["ti"].try_number,
    }


class Templated(BaseOperator):
    """Fields of all kinds, one of them an object with fields of its own."""

    template_fields = ("text", "nested", "from_file", "number")
    template_ext = (".txt",)

    def __init__(self, text, nested, from_file, number, **kwargs):
        super().__init__(**kwargs)
        self.text = text
        self.nested = nested
        self.from_file = from_file
        self.number = number

    def pre_execute(self, context):
        context["ti"].xcom_push(key="before", value=self.text)

    def execute(self, context):
        return [self.text, self.nested, self.from_file, self.number]

    def post_execute(self, context, result=None):
        context["ti"].xcom_push(key="after", value=[result, self.number])


with DAG("op_python", schedule=None, start_date=START):
    PythonOperator(
        task_id="arguments",
        python_callable=_with_context,
        op_args=["{{ ds_nodash }}", 2, ["{{ ts }}", {"k": "{{ run_id }}"}]],
        op_kwargs={"named": "{{ dag.dag_id }}.{{ task.task_id }}"},
        templates_dict={"file": "templates/text.txt", "plain": "{{ 1 + 1 }}"},
        templates_exts=[".txt"],
    )
    PythonOperator(task_id="returns_nothing", python_callable=lambda: None)
    PythonOperator(task_id="not_shown", python_callable=lambda: "kept", show_return_value_in_logs=False)
    PythonOperator(task_id="prints", python_callable=lambda: print("out") or print("err", file=sys.stderr))
    Templated(
        task_id="fields",
        text="{{ logical_date | ds }}",
        nested={"{{ ds }}": ["{{ ti.task_id }}", ("{{ 1 }}", {"{{ 2 }}"})], "n": None},
        from_file="templates/text.txt",
        number=7,
    )
    SmoothOperator(task_id="smooth")
    EmptyOperator(task_id="empty")
    EmptyOperator(task_id="empty_with_outlet", outlets=[Asset("op_empty_outlet")])
    EmptyOperator(task_id="empty_with_callback", on_success_callback=noting("on_success"))
    EmptyOperator(task_id="empty_inlined_not", on_execute_callback=noting("on_execute"))


def _elsewhere(values, word, **_):
    import sys

    assert sys.version_info >= (3, 8)
    return {"sum": sum(values), "word": word * 2}


def _exits():
    raise SystemExit(42)


def _divides():
    return 1 / 0


def _says_where(**_):
    return "chosen"


with DAG("op_other_pythons", schedule=None, start_date=START):
    ExternalPythonOperator(
        task_id="external",
        python=sys.executable,
        python_callable=_elsewhere,
        op_args=[[1, 2, 3]],
        op_kwargs={"word": "{{ ds }}"},
        expect_airflow=False,
    )
    ExternalPythonOperator(
        task_id="external_skips",
        python=sys.executable,
        python_callable=_exits,
        skip_on_exit_code=42,
        expect_airflow=False,
    )
    ExternalPythonOperator(
        task_id="external_fails", python=sys.executable, python_callable=_divides, expect_airflow=False
    )
    PythonVirtualenvOperator(
        task_id="virtualenv",
        python_callable=_elsewhere,
        op_args=[[4, 5]],
        op_kwargs={"word": "{{ ti.task_id }}"},
        requirements=[],
        system_site_packages=False,
        expect_airflow=False,
    )
    branch = BranchPythonVirtualenvOperator(
        task_id="branch_virtualenv",
        python_callable=_says_where,
        requirements=[],
        system_site_packages=False,
        expect_airflow=False,
    )
    other = BranchExternalPythonOperator(
        task_id="branch_external", python=sys.executable, python_callable=_says_where, expect_airflow=False
    )
    branch >> [EmptyOperator(task_id="chosen"), EmptyOperator(task_id="not_chosen")] << other

with DAG("op_branches", schedule=None, start_date=START):

    def _targets(name: str):
        return [EmptyOperator(task_id=f"{name}_yes"), EmptyOperator(task_id=f"{name}_no")]

    def _after(task):
        task >> _targets(task.task_id)

    def _dates(task_id: str, **kwargs):
        return BranchDateTimeOperator(
            task_id=task_id,
            follow_task_ids_if_true=f"{task_id}_yes",
            follow_task_ids_if_false=f"{task_id}_no",
            use_task_logical_date=True,
            **kwargs,
        )

    def _days(task_id: str, week_day):
        return BranchDayOfWeekOperator(
            task_id=task_id,
            follow_task_ids_if_true=f"{task_id}_yes",
            follow_task_ids_if_false=[f"{task_id}_no"],
            week_day=week_day,
            use_task_logical_date=True,
        )

    _after(BranchPythonOperator(task_id="python", python_callable=lambda: "python_yes"))
    _after(
        BranchPythonOperator(
            task_id="python_list", python_callable=lambda: ["python_list_yes", "python_list_no"]
        )
    )
    _after(BranchPythonOperator(task_id="python_none", python_callable=lambda: None))
    _after(BranchPythonOperator(task_id="python_unknown", python_callable=lambda: "nobody"))
    _after(BranchPythonOperator(task_id="python_wrong_type", python_callable=lambda: 7))
    _after(
        _dates(
            "inside",
            target_lower=datetime(2026, 1, 4, tzinfo=timezone.utc),
            target_upper=datetime(2026, 1, 6, tzinfo=timezone.utc),
        )
    )
    _after(_dates("outside", target_lower=datetime(2026, 1, 6, tzinfo=timezone.utc), target_upper=None))
    _after(_dates("by_time", target_lower=time(23, 0), target_upper=time(1, 0)))
    _after(_days("monday", WeekDay.MONDAY))
    _after(_days("weekend", {"Saturday", WeekDay.SUNDAY}))

with DAG("op_short_circuit", schedule=None, start_date=START):
    for name, value, ignored in (
        ("true", True, True),
        ("false", False, True),
        ("false_obeyed", False, False),
        ("empty_list", [], True),
        ("text", "some", True),
    ):
        circuit = ShortCircuitOperator(
            task_id=f"circuit_{name}",
            python_callable=lambda value=value: value,
            ignore_downstream_trigger_rules=ignored,
        )
        (
            circuit
            >> EmptyOperator(task_id=f"next_{name}")
            >> BashOperator(
                task_id=f"last_{name}", bash_command="echo ran", trigger_rule=TriggerRule.ALL_DONE
            )
        )

with DAG("op_latest_only", schedule="@daily", start_date=START, catchup=False):
    LatestOnlyOperator(task_id="latest_only") >> [
        EmptyOperator(task_id="follows"),
        EmptyOperator(task_id="anyway", trigger_rule=TriggerRule.ALL_DONE),
    ]
