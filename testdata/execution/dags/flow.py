"""What follows on what: branches, trigger rules, setup and teardown."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Label, TaskGroup, TriggerRule, chain, setup, task, task_group, teardown
from airflow.sdk.exceptions import AirflowSkipException
from tracing import START, note


@task
def succeeds(**context):
    note(context, "ran")
    return context["ti"].task_id


@task
def fails():
    raise ValueError("as meant")


@task
def skips():
    raise AirflowSkipException("as meant")


with DAG("flow_branches", schedule=None, start_date=START):

    @task.branch
    def pick(names):
        return names

    @task.branch
    def pick_group():
        return "group_b"

    @task.branch
    def pick_by_xcom(ti=None):
        return ti.xcom_pull("says_left")

    @task
    def says_left():
        return "left"

    outer = pick.override(task_id="outer")("inner")
    inner = pick.override(task_id="inner")(["deep_a", "deep_c"])
    deep = [EmptyOperator(task_id=f"deep_{name}") for name in "abc"]
    other = EmptyOperator(task_id="other")
    join_inner = EmptyOperator(task_id="join_inner", trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
    join = succeeds.override(task_id="join", trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)()
    outer >> Label("in") >> inner >> deep >> join_inner >> join
    outer >> Label("out") >> other >> join
    outer >> join

    groups = []
    for name in "ab":
        with TaskGroup(f"group_{name}") as group:
            EmptyOperator(task_id="one") >> EmptyOperator(task_id="two")
        groups.append(group)
    pick_group() >> groups
    says_left() >> pick_by_xcom() >> [EmptyOperator(task_id="left"), EmptyOperator(task_id="right")]
    (
        pick.override(task_id="picks_join")("joined")
        >> EmptyOperator(task_id="between")
        >> EmptyOperator(task_id="joined", trigger_rule=TriggerRule.NONE_FAILED)
    )

with DAG("flow_rules", schedule=None, start_date=START):
    # One after the other: who sees what first, would be chance.
    good, also_good, bad = succeeds(), succeeds.override(task_id="also_good")(), fails()
    skipped = skips.override(trigger_rule=TriggerRule.ALL_DONE)()
    good >> also_good >> bad >> skipped
    cases = {
        "good": [good, also_good],
        "mixed": [good, bad, skipped],
        "skipped": [good, skipped],
    }
    for case, upstream in cases.items():
        for rule in TriggerRule:
            if rule in (TriggerRule.ALWAYS,):
                continue
            upstream >> EmptyOperator(task_id=f"{case}_{rule.value}", trigger_rule=rule)
    for rule in (TriggerRule.ONE_DONE, TriggerRule.ALL_DONE_MIN_ONE_SUCCESS):
        cases["mixed"] >> succeeds.override(task_id=f"run_{rule.value}", trigger_rule=rule)()
    EmptyOperator(task_id="always", trigger_rule=TriggerRule.ALWAYS)

with DAG("flow_teardown", schedule=None, start_date=START):

    def trio(name, work, set_up=succeeds, tear_down=succeeds, **kwargs):
        begin = set_up.override(task_id=f"{name}_setup")().as_setup()
        middle = work.override(task_id=f"{name}_work")()
        end = tear_down.override(task_id=f"{name}_teardown")().as_teardown(setups=begin, **kwargs)
        begin >> middle >> end
        return end

    trio("all_good", succeeds)
    trio("work_fails", fails)
    trio("work_skips", skips)
    trio("setup_fails", succeeds, set_up=fails)
    trio("setup_skips", succeeds, set_up=skips)
    trio("teardown_fails", succeeds, tear_down=fails)

with DAG("flow_teardown_ignored", schedule=None, start_date=START):
    trio("teardown_fails", succeeds, tear_down=fails)
    trio("teardown_skips", succeeds, tear_down=skips)

with DAG("flow_teardown_counts", schedule=None, start_date=START):
    trio("teardown_fails", succeeds, tear_down=fails, on_failure_fail_dagrun=True)

with DAG("flow_teardown_nested", schedule=None, start_date=START):

    @setup
    def outer_setup():
        return "outer"

    @setup
    def inner_setup():
        return "inner"

    @teardown(on_failure_fail_dagrun=True)
    def inner_teardown(**context):
        note(context, "inner")

    @teardown
    def outer_teardown(**context):
        note(context, "outer")

    @task_group
    def scoped():
        begin = inner_setup()
        end = inner_teardown()
        with end.as_teardown(setups=begin):
            succeeds.override(task_id="inside")() >> fails.override(task_id="inside_fails")()

    opening, closing = outer_setup(), outer_teardown()
    opening >> scoped() >> closing
    opening >> closing
    with closing:
        skips.override(task_id="within")()

with DAG("flow_failure_spreads", schedule=None, start_date=START):
    chain(
        fails.override(task_id="root")(),
        [succeeds.override(task_id="left")(), succeeds.override(task_id="right")()],
        BashOperator(task_id="end", bash_command="echo never"),
        succeeds.override(task_id="anyway", trigger_rule=TriggerRule.ALL_DONE)(),
    )

with DAG("flow_skip_spreads", schedule=None, start_date=START):
    skips.override(task_id="root")() >> [
        succeeds.override(task_id="next")(),
        succeeds.override(task_id="despite", trigger_rule=TriggerRule.NONE_FAILED)(),
    ]

with DAG("flow_nothing", schedule=None, start_date=START):
    pass
