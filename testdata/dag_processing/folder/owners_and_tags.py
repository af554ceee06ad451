"""Owners, links of owners, tags; a later phase changes tags and links."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG(
    "owners_and_tags",
    schedule=None,
    tags=["Upper", "lower", "with space", "goes_away"],
    owner_links={"team_a": "https://example.org/a", "team_b": "mailto:b@example.org"},
    default_args={"owner": "team_a"},
    access_control={"Viewer": {"DAGs": {"can_read"}}},
):
    EmptyOperator(task_id="of_a")
    EmptyOperator(task_id="of_b", owner="team_b")
    EmptyOperator(task_id="of_c", owner="team_c")
