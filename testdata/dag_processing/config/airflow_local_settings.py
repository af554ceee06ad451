"""A cluster policy that changes tasks, refuses one DAG and skips another."""


def task_policy(task):
    if "policed" in task.dag.tags:
        task.queue = "from_policy"
        task.retries = max(task.retries, 2)


def dag_policy(dag):
    from airflow.exceptions import AirflowClusterPolicySkipDag, AirflowClusterPolicyViolation

    if "skipped_by_policy" in dag.tags:
        raise AirflowClusterPolicySkipDag(f"{dag.dag_id} is not for here")
    if "refused_by_policy" in dag.tags:
        raise AirflowClusterPolicyViolation(f"{dag.dag_id} breaks the rules of the house")
