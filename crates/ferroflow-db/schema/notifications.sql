-- What makes changes of official components heard by `ferroflow scheduler` (PostgreSQL only; see src/news/triggers.rs).
-- Ferroflow's own connections tell by themselves, and are left out. A row that is changed without news costs a comparison.

CREATE SCHEMA IF NOT EXISTS ferroflow_news;

CREATE OR REPLACE FUNCTION ferroflow_news.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ferroflow', json_build_array('', TG_ARGV[0])::text);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ferroflow_news.tell_dag() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ferroflow', json_build_array('', TG_ARGV[0], NEW.dag_id)::text);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ferroflow_news.tell_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ferroflow', json_build_array('', 'run', NEW.dag_id, NEW.run_id)::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER ferroflow_state AFTER UPDATE OF state ON task_instance FOR EACH ROW
WHEN (
    OLD.state IS DISTINCT FROM NEW.state
    AND NEW.state IS DISTINCT FROM 'queued'
    AND NEW.state IS DISTINCT FROM 'running'
    AND current_setting('application_name') <> 'ferroflow'
) EXECUTE FUNCTION ferroflow_news.tell_run();

CREATE TRIGGER ferroflow_new AFTER INSERT ON dag_run FOR EACH ROW
WHEN (NEW.state = 'queued' AND current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell_dag('queued');

CREATE TRIGGER ferroflow_queued AFTER UPDATE OF state ON dag_run FOR EACH ROW
WHEN (
    OLD.state IS DISTINCT FROM NEW.state
    AND NEW.state = 'queued'
    AND current_setting('application_name') <> 'ferroflow'
) EXECUTE FUNCTION ferroflow_news.tell_dag('queued');

CREATE TRIGGER ferroflow_state AFTER UPDATE OF state ON dag_run FOR EACH ROW
WHEN (
    OLD.state IS DISTINCT FROM NEW.state
    AND current_setting('application_name') <> 'ferroflow'
) EXECUTE FUNCTION ferroflow_news.tell_run();

CREATE TRIGGER ferroflow_changed AFTER UPDATE OR DELETE ON backfill FOR EACH STATEMENT
WHEN (current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('queued');

CREATE TRIGGER ferroflow_new AFTER INSERT ON asset_dag_run_queue FOR EACH STATEMENT
WHEN (current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('assets');

CREATE TRIGGER ferroflow_new AFTER INSERT ON partitioned_asset_key_log FOR EACH STATEMENT
WHEN (current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('assets');

CREATE TRIGGER ferroflow_changed
AFTER UPDATE OF is_paused, is_stale, next_dagrun_create_after ON dag FOR EACH ROW
WHEN (
    (
        OLD.is_paused IS DISTINCT FROM NEW.is_paused
        OR OLD.is_stale IS DISTINCT FROM NEW.is_stale
        OR OLD.next_dagrun_create_after IS DISTINCT FROM NEW.next_dagrun_create_after
    )
    AND current_setting('application_name') <> 'ferroflow'
) EXECUTE FUNCTION ferroflow_news.tell('dags');

CREATE TRIGGER ferroflow_new AFTER INSERT ON dag_version FOR EACH STATEMENT
WHEN (current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('dags');

CREATE TRIGGER ferroflow_changed AFTER INSERT OR UPDATE OR DELETE ON slot_pool FOR EACH STATEMENT
WHEN (current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('slots');

CREATE TRIGGER ferroflow_ended AFTER UPDATE OF state ON job FOR EACH ROW
WHEN (
    OLD.state IS DISTINCT FROM NEW.state
    AND NEW.job_type = 'SchedulerJob'
    AND current_setting('application_name') <> 'ferroflow'
) EXECUTE FUNCTION ferroflow_news.tell('schedulers');

CREATE TRIGGER ferroflow_answered AFTER UPDATE OF responded_at ON hitl_detail FOR EACH ROW
WHEN (NEW.responded_at IS NOT NULL AND current_setting('application_name') <> 'ferroflow')
EXECUTE FUNCTION ferroflow_news.tell('answers');
