"""Params of every kind."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

with DAG(
    "params",
    schedule=None,
    params={
        "plain_text": "text",
        "plain_number": 3,
        "plain_none": None,
        "plain_list": ["b", "a"],
        "plain_dict": {"z": 1, "a": {"deep": [1, 2.0, 1e-7, True]}},
        "integer": Param(5, type="integer", minimum=1, maximum=10, title="An integer"),
        "number": Param(0.00001, type="number"),
        "nullable": Param(None, type=["null", "string"]),
        "choice": Param("b", enum=["a", "b", "c"], description="one of three"),
        "multi": Param(["x"], type="array", examples=["x", "y"], values_display={"x": "X"}),
        "object": Param({"key": "value"}, type=["object", "null"]),
        "date": Param("2024-01-01", type="string", format="date"),
        "date_time": Param("2024-01-01T00:00:00+00:00", type="string", format="date-time"),
        "text_area": Param("one\ntwo", type="string", format="multiline", section="Texts"),
        "pattern": Param("abc", type="string", pattern="^[a-z]+$", minLength=3),
        "constant": Param(42, const=42),
        "unset": Param(type="string"),
    },
):
    BashOperator(task_id="own", bash_command="true", params={"of_the_task": Param(1, type="integer")})
