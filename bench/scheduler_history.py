"""What a database holds after years: runs that have ended."""

from sqlalchemy import Connection, text

_DAYS = """
    SELECT n, timestamptz '2000-01-01+00' + n * interval '1 minute' AS d FROM generate_series(1, :runs) n
"""

_RUNS = f"""
    INSERT INTO dag_run (dag_id, run_id, run_type, state, run_after, logical_date, queued_at, start_date,
        end_date, clear_number, log_template_id, conf, created_at, updated_at, span_status)
    SELECT 'chain_0000', 'past ' || n, 'manual', 'success', d, d, d, d, d, 0, 1, '{{}}', d, d, 'not_started'
    FROM ({_DAYS}) past
"""

_INSTANCES = f"""
    INSERT INTO task_instance (id, task_id, dag_id, run_id, map_index, start_date, end_date, duration, state,
        try_number, max_tries, hostname, unixname, pool, pool_slots, queue, priority_weight, operator,
        updated_at, dag_version_id, span_status)
    SELECT gen_random_uuid(), 'task_' || lpad(t::text, 3, '0'), 'chain_0000', 'past ' || n, -1, d, d, 0,
        'success', 1, 0, '', 'user', 'default_pool', 1, 'default', 1, 'EmptyOperator',
        d, version.id, 'not_started'
    FROM ({_DAYS}) past
    CROSS JOIN generate_series(0, 9) t
    CROSS JOIN (SELECT id FROM dag_version WHERE dag_id = 'chain_0000' LIMIT 1) version
"""


def add_history(ask: Connection, runs: int) -> None:
    """Finished runs of the first DAG of the chains, with ten finished task instances each."""
    for statement in (_RUNS, _INSTANCES):
        ask.execute(text(statement), {"runs": runs})
        # Between them, too: else the run of each instance is looked for among all runs of the DAG.
        ask.execute(text("ANALYZE"))
