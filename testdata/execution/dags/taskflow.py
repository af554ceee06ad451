"""TaskFlow: every decorator that runs by itself."""

import asyncio
import sys
from typing import Any

from airflow.sdk import (
    DAG,
    BaseAsyncOperator,
    PokeReturnValue,
    chain,
    dag,
    get_current_context,
    result,
    setup,
    task,
    task_group,
    teardown,
)
from tracing import START, note


@dag(schedule=None, start_date=START, params={"number": 3})
def tf_basic():
    """What the documentation of the DAG says."""

    @task
    def produce(number: int = 2, *, params=None, ti=None, run_id=None) -> int:
        """What the documentation of the task says."""
        ti.xcom_push(key="run", value=run_id)
        return number * params["number"]

    @task.python(multiple_outputs=True)
    def several(value: int) -> dict[str, Any]:
        return {"double": value * 2, "half": value / 2, "nested": {"text": str(value)}}

    @task
    def hinted(value: int) -> dict[str, int]:
        return {"from_hint": value}

    @task(task_id="renamed", retries=0)
    def consume(double, half, whole, text="{{ ds }}"):
        context = get_current_context()
        return [double, half, whole, text, context["task"].task_id, context["ti"].map_index]

    @task
    async def awaited(value):
        await asyncio.sleep(0.01)
        return f"awaited {value}"

    @task
    def generates():
        yield 1
        yield 2

    @task(multiple_outputs=True)
    def several_wrong():
        return ["not", "a", "dict"]

    @task(multiple_outputs=True)
    def several_wrong_keys():
        return {1: "number as key"}

    @task
    def last(*args):
        return len(args)

    first = produce()
    parts = several(first)
    end = consume(parts["double"], parts["half"], parts)
    chain(end, [awaited(first), hinted(5)])
    produce.override(task_id="produce_again")(number=first)
    last(1, first, [first, {"k": first}], "{{ ti.xcom_pull('produce') }}")
    generates()
    several_wrong()
    several_wrong_keys()


@dag(schedule=None, start_date=START)
def tf_decorators():
    @task.bash(env={"WORD": "{{ ds }}"}, append_env=True)
    def shell(number):
        return f'echo "{number} $WORD {{{{ ti.task_id }}}}"'

    @task.bash
    def shell_wrong():
        return 7

    @task.branch
    def choose(which):
        return [f"target_{which}"]

    @task.short_circuit
    def proceed(value):
        return value

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def proceed_gently(value):
        return value

    @task.sensor(poke_interval=0.1, timeout=20, mode="poke")
    def sense(value, ti=None) -> PokeReturnValue:
        return PokeReturnValue(is_done=True, xcom_value={"sensed": value})

    @task.sensor(poke_interval=0.1, timeout=20)
    def sense_plain() -> bool:
        return True

    @task.external_python(python=sys.executable, expect_airflow=False)
    def external(number):
        return number + 1

    @task.virtualenv(requirements=[], system_site_packages=False, expect_airflow=False)
    def virtual(number):
        return {"next": number + 1}

    @task.branch_external_python(python=sys.executable, expect_airflow=False)
    def choose_external():
        return "external_yes"

    @task
    def target(name, **context):
        return name

    chosen = choose("b")
    chosen >> [target.override(task_id=f"target_{name}")(name) for name in "abc"]
    choose_external() >> [target.override(task_id=f"external_{name}")(name) for name in ("yes", "no")]
    proceed(0) >> target.override(task_id="cut_off")("x") >> target.override(task_id="cut_off_too")("y")
    gentle = target.override(task_id="not_cut_off", trigger_rule="all_done")("z")
    proceed_gently("") >> target.override(task_id="gently_cut_off")("x") >> gentle
    target.override(task_id="after_sensor")(sense(shell(1)))
    virtual(external(1))
    sense_plain()
    shell_wrong()


@dag(schedule=None, start_date=START)
def tf_conditions():
    def yes(context):
        return True

    def no(context):
        return False

    def unsure(context):
        raise RuntimeError("cannot decide")

    @task
    def body(ti=None):
        return ti.task_id

    for name, decorator in (
        ("run_if_yes", task.run_if(yes)),
        ("run_if_no", task.run_if(no, skip_message="not today")),
        ("skip_if_yes", task.skip_if(yes, skip_message="rather not")),
        ("skip_if_no", task.skip_if(no)),
        ("run_if_unsure", task.run_if(unsure)),
    ):

        @decorator
        @task(task_id=name)
        def conditional(ti=None):
            return ti.task_id

        conditional() >> body.override(task_id=f"after_{name}")()

    @task.skip_if(no)
    @task.run_if(yes)
    @task.bash
    def both():
        return "echo both"

    both()


class Slowly(BaseAsyncOperator):
    """An operator that awaits."""

    template_fields = ("word",)

    def __init__(self, word, **kwargs):
        super().__init__(**kwargs)
        self.word = word

    async def aexecute(self, context):
        await asyncio.sleep(0.01)
        return self.word


@dag(schedule=None, start_date=START)
def tf_groups():
    @task
    def step(value, ti=None):
        return f"{ti.task_id}:{value}"

    @task_group
    def inner(value):
        return step(value)

    @task_group(prefix_group_id=False, tooltip="outer one")
    def outer(value):
        one = inner(value)
        return step.override(task_id="outside_inner")(one)

    @setup
    def open_it():
        return "opened"

    @teardown
    def close_it(what):
        note(get_current_context(), "closed", value=what)

    opened = open_it()
    work = outer(opened)
    opened >> work >> close_it(opened)
    Slowly(task_id="slowly", word="{{ run_id }}")


with DAG("tf_result", schedule=None, start_date=START) as with_result:

    @result
    @task
    def the_result():
        return {"answer": 42}

    @task
    def not_the_result():
        return 1

    the_result() >> not_the_result()

tf_basic()
tf_decorators()
tf_conditions()
tf_groups()
