"""Names, ids, texts and documentation beyond ASCII."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, Param

with DAG(
    "ünïcode_dag",
    schedule="0 3 * * *",
    start_date=datetime(2024, 1, 1),
    catchup=True,
    dag_display_name="日本語 · ünïcode 🚀",
    description="Größe, naïve, “quoted”, \\ and \x7f and \u2028",
    doc_md="# Überschrift\n\n- 🐍\n- `{{ ds }}`",
    tags=["größe", "日本", "🚀"],
    params={"straße": Param("ß", type="string", description="„so“")},
    owner_links={"Jürgen": "https://example.org/jürgen"},
):
    BashOperator(
        task_id="schritt_eins_ä",
        task_display_name="Schritt 1️⃣",
        owner="Jürgen",
        bash_command="echo 'ÄÖÜ €'",
        outlets=[Asset("groesse", "s3://eimer/groesse")],
    )
