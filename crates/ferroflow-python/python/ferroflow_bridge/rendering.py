"""The templates of a task, filled in for a run: one that is there, or one that is only thought of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.cli.commands.task_command import _get_template_context, _get_ti
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.sdk.definitions._internal.dag_parsing_context import _airflow_parsing_context_manager
from airflow.serialization.serialized_objects import DagSerialization
from airflow.utils.providers_configuration_loader import providers_configuration_loaded

from ferroflow_bridge.bundles import initialized
from ferroflow_bridge.helper import method

if TYPE_CHECKING:
    from airflow.sdk import DAG


@method("rendering.render")
@providers_configuration_loaded
def render(
    bundle_name: str, file: str, dag_id: str, task_id: str, map_index: int, run: str
) -> list[dict[str, Any]]:
    """Each field that is a template, as a text."""
    dag = _imported(bundle_name, file, dag_id)
    scheduled = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    instance, _ = _get_ti(
        scheduled.get_task(task_id), map_index, logical_date_or_run_id=run, create_if_necessary="memory"
    )
    task = dag.get_task(task_id)
    context = _get_template_context(instance, task)
    task.render_template_fields(context)
    # Of a mapped task, what is rendered is one of the tasks that it stands for.
    return [{"name": name, "text": str(getattr(context["task"], name))} for name in task.template_fields]


def _imported(bundle_name: str, file: str, dag_id: str) -> DAG:
    bundle = initialized(bundle_name)
    with _airflow_parsing_context_manager(dag_id=dag_id):
        bag = BundleDagBag(
            dag_folder=bundle.path / file,
            bundle_path=bundle.path,
            bundle_name=bundle.name,
            safe_mode=False,
        )
    if dag := bag.dags.get(dag_id):
        return dag
    problems = [text.strip().splitlines()[-1] for text in bag.import_errors.values() if text.strip()]
    reason = problems[0] if problems else "it is not in it any more"
    raise LookupError(f"{bundle.path / file} gives no DAG {dag_id}: {reason}")
