CREATE TABLE history (
    seq bigserial PRIMARY KEY, at timestamptz DEFAULT clock_timestamp(),
    who text DEFAULT session_user, place text, what text, dag_id text, run_id text,
    task_id text, map_index int, try_number int, old_state text, new_state text, pool text, pool_slots int, job bigint)

CREATE FUNCTION task_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.map_index <> NEW.map_index) THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, old_state, pool, pool_slots, job)
        VALUES ('task', 'delete', OLD.dag_id, OLD.run_id, OLD.task_id, OLD.map_index, OLD.try_number, OLD.state,
            OLD.pool, OLD.pool_slots, OLD.queued_by_job_id);
    END IF;
    IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND OLD.map_index <> NEW.map_index) THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, new_state, pool, pool_slots, job)
        VALUES ('task', 'insert', NEW.dag_id, NEW.run_id, NEW.task_id, NEW.map_index, NEW.try_number, NEW.state,
            NEW.pool, NEW.pool_slots, NEW.queued_by_job_id);
    ELSIF TG_OP = 'UPDATE' AND (OLD.state, OLD.try_number, OLD.pool, OLD.pool_slots, OLD.queued_by_job_id)
        IS DISTINCT FROM (NEW.state, NEW.try_number, NEW.pool, NEW.pool_slots, NEW.queued_by_job_id) THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, old_state, new_state, pool,
            pool_slots, job)
        VALUES ('task', 'update', NEW.dag_id, NEW.run_id, NEW.task_id, NEW.map_index, NEW.try_number, OLD.state,
            NEW.state, NEW.pool, NEW.pool_slots, NEW.queued_by_job_id);
    END IF;
    RETURN NULL;
END $$

CREATE TRIGGER task_changed AFTER INSERT OR UPDATE OR DELETE ON task_instance
FOR EACH ROW EXECUTE FUNCTION task_changed()

CREATE FUNCTION run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, old_state, pool, pool_slots)
        VALUES ('run', 'delete', OLD.dag_id, OLD.run_id, '', -1, 0, OLD.state, '', 0);
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, new_state, pool, pool_slots)
        VALUES ('run', 'insert', NEW.dag_id, NEW.run_id, '', -1, 0, NEW.state, '', 0);
    ELSIF OLD.state IS DISTINCT FROM NEW.state THEN
        INSERT INTO history (place, what, dag_id, run_id, task_id, map_index, try_number, old_state, new_state, pool,
            pool_slots)
        VALUES ('run', 'update', NEW.dag_id, NEW.run_id, '', -1, 0, OLD.state, NEW.state, '', 0);
    END IF;
    RETURN NULL;
END $$

CREATE TRIGGER run_changed AFTER INSERT OR UPDATE OR DELETE ON dag_run FOR EACH ROW EXECUTE FUNCTION run_changed()

CREATE TABLE callback_history (seq bigserial PRIMARY KEY, id text, what text, data text)

CREATE FUNCTION callback_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO callback_history (id, what, data) VALUES (NEW.id, 'insert', NEW.data);
    ELSE
        INSERT INTO callback_history (id, what, data) VALUES (OLD.id, 'delete', OLD.data);
    END IF;
    RETURN NULL;
END $$

CREATE TRIGGER callback_changed AFTER INSERT OR DELETE ON callback FOR EACH ROW EXECUTE FUNCTION callback_changed()

CREATE TABLE disk_is_full (is_full int)

CREATE FUNCTION refuse_if_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF session_user <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NULL;
END $$

CREATE TRIGGER full_disk_of_tasks BEFORE INSERT OR UPDATE ON task_instance
FOR EACH STATEMENT EXECUTE FUNCTION refuse_if_full()

CREATE TRIGGER full_disk_of_runs BEFORE INSERT OR UPDATE ON dag_run
FOR EACH STATEMENT EXECUTE FUNCTION refuse_if_full()

CREATE TRIGGER full_disk_of_jobs BEFORE INSERT OR UPDATE ON job
FOR EACH STATEMENT EXECUTE FUNCTION refuse_if_full()

CREATE TRIGGER full_disk_of_xcoms BEFORE INSERT OR UPDATE ON xcom
FOR EACH STATEMENT EXECUTE FUNCTION refuse_if_full()
