"""Uses variables and connections while it is imported: from the database, with defaults, and written."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Connection, Variable

number = int(Variable.get("number_of_tasks", default=1))
settings = Variable.get("settings", deserialize_json=True)
host = Connection.get("a_database").host
try:
    Variable.get("not_there")
    found = "found"
except Exception as error:
    found = type(error).__name__
try:
    Connection.get("not_there")
    connected = "found"
except Exception as error:
    connected = type(error).__name__
Variable.set("written_while_parsing", "yes")

with DAG(
    "variables_and_connections", schedule=None, description=f"{host}, {found}, {connected}, {settings['key']}"
):
    for index in range(number):
        BashOperator(task_id=f"task_{index}", bash_command="true")
