"""Mapped tasks and mapped groups, over everything that can be mapped over."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, BaseOperator, task, task_group
from airflow.sdk.exceptions import AirflowSkipException
from tracing import START


class Add(BaseOperator):
    """Adds what it is given; how one of its instances is called, it says itself."""

    template_fields = ("first", "second")

    def __init__(self, first, second=0, **kwargs):
        super().__init__(**kwargs)
        self.first = first
        self.second = second

    def execute(self, context):
        context["named"] = f"{self.first} and {self.second}"
        return [self.first, self.second]


@task
def collect(values):
    return [type(values).__name__, list(values)]


with DAG("map_literal", schedule=None, start_date=START):

    @task
    def double(number, word="{{ ti.map_index }}"):
        return [number * 2, word]

    collect(double.expand(number=[1, 2, 3]))
    double.override(task_id="with_partial").partial(word="{{ ds }}").expand(number=["{{ ds }}", [1], None])
    Add.partial(task_id="product").expand(first=[1, 2], second=["a", "b", "c"])
    Add.partial(task_id="over_dict").expand(first={"k1": "v1", "k2": "v2"})
    Add.partial(task_id="kwargs").expand_kwargs([{"first": 1}, {"first": "{{ ds }}", "second": 5}])
    Add.partial(task_id="none_of_them").expand(first=[]) >> EmptyOperator(task_id="after_none")
    BashOperator.partial(
        task_id="named_by_template", map_index_template="{{ task.bash_command[:8] }} {{ ti.map_index }}"
    ).expand(bash_command=["echo one", "echo two"])
    Add.partial(task_id="named_by_context", map_index_template="{{ named }}").expand(first=[1, 2])
    Add.partial(task_id="named_wrongly", map_index_template="{{ nobody }}").expand(first=[1])
    Add.partial(task_id="named_long", map_index_template="{{ 'x' * 250 }}").expand(first=[1])
    PythonOperator.partial(task_id="arguments", python_callable=lambda *args: list(args)).expand(
        op_args=[[1, "{{ ds }}"], [2]]
    )

with DAG("map_xcom", schedule=None, start_date=START):

    @task
    def numbers():
        return [3, 1, 2]

    @task
    def mapping():
        return {"a": 1, "b": [2]}

    @task
    def nothing():
        return []

    @task
    def kwargs():
        return [{"first": 1}, {"first": "two", "second": 2}]

    @task
    def not_kwargs():
        return [{"first": 1}, "no mapping"]

    @task
    def text():
        return "a text"

    @task
    def none():
        return None

    @task
    def too_many():
        return list(range(1025))

    @task
    def nested_maps(value):
        return [value, value + 10]

    @task
    def single(value, extra=None):
        return {"value": value, "extra": extra}

    @task(max_active_tis_per_dagrun=1)
    def fails_on_one(value):
        if value == 1:
            raise ValueError("this one")
        if value == 2:
            raise AirflowSkipException("that one")
        return value

    source = numbers()
    collect.override(task_id="collect_single")(single.expand(value=source))
    single.override(task_id="over_mapping").expand(value=mapping())
    single.override(task_id="after_empty")(single.override(task_id="over_nothing").expand(value=nothing()))
    Add.partial(task_id="over_kwargs").expand_kwargs(kwargs())
    Add.partial(task_id="over_not_kwargs").expand_kwargs(not_kwargs())
    single.override(task_id="over_text").expand(value=text())
    single.override(task_id="over_none").expand(value=none())
    single.override(task_id="over_too_many").expand(value=too_many())
    collect.override(task_id="collect_product")(
        single.override(task_id="product").expand(value=source, extra=["x", "y"])
    )
    twice = nested_maps.expand(value=source)
    single.override(task_id="over_mapped").expand(value=twice)
    partly = fails_on_one.expand(value=source)
    collect.override(task_id="collect_partly")(partly)
    collect.override(task_id="collect_whatever", trigger_rule="all_done")(partly)
    single.override(task_id="over_partly", trigger_rule="all_done").expand(value=partly)

with DAG("map_functions", schedule=None, start_date=START):

    @task
    def names():
        return ["b", "a", "c"]

    @task
    def sizes():
        return [1, 2]

    def upper(name):
        return name.upper()

    def shout(name):
        if name == "c":
            raise AirflowSkipException("not c")
        return name.upper() + "!"

    def as_kwargs(pair):
        return {"first": pair[0], "second": pair[1]}

    @task
    def use(value):
        return value

    one = names()
    two = sizes()
    use.override(task_id="over_map").expand(value=one.map(upper))
    use.override(task_id="over_map_skipping").expand(value=one.map(shout))
    use.override(task_id="over_zip").expand(value=one.zip(two))
    use.override(task_id="over_zip_longest").expand(value=one.zip(two, fillvalue="none"))
    use.override(task_id="over_concat").expand(value=one.concat(two))
    Add.partial(task_id="over_zip_map").expand_kwargs(one.zip(two).map(as_kwargs))
    collect(one.map(upper))

with DAG("map_groups", schedule=None, start_date=START):

    @task
    def items():
        return [1, 2]

    @task
    def first(value, ti=None):
        return [value, ti.map_index]

    @task
    def second(value, own):
        return [value, own]

    @task
    def fails_for_two(value):
        if value == 2:
            raise ValueError("in the group")
        return value

    @task_group
    def pair(value):
        return second(first(value), value)

    @task_group
    def partly_failing(value):
        done = fails_for_two(value)
        return second.override(task_id="follows")(done, value)

    @task_group
    def skipping(value):
        @task.short_circuit
        def only_one(value):
            return value == 1

        only_one(value) >> first.override(task_id="behind")(value)

    @task_group
    def with_map_inside(value):
        @task
        def some(value):
            return [value] * 2

        return some(value)

    collect(pair.expand(value=items()))
    pair.override(group_id="over_literal").expand(value=["x", "y"])
    pair.override(group_id="over_kwargs").expand_kwargs([{"value": 7}])
    pair.override(group_id="over_nothing").expand(value=[])
    partly_failing.expand(value=[1, 2])
    skipping.expand(value=[1, 2])
    with_map_inside.expand(value=[5, 6])
