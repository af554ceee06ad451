CREATE TABLE history (
    seq bigint AUTO_INCREMENT PRIMARY KEY, at datetime(6), who varchar(200), place varchar(10), what varchar(10),
    dag_id varchar(250), run_id varchar(250), task_id varchar(250), map_index int, try_number int,
    old_state varchar(20), new_state varchar(20), pool varchar(250), pool_slots int, job bigint)

CREATE TRIGGER task_inserted AFTER INSERT ON task_instance FOR EACH ROW
    INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'task', 'insert', NEW.dag_id,
        NEW.run_id, NEW.task_id, NEW.map_index, NEW.try_number, NULL, NEW.state, NEW.pool, NEW.pool_slots,
        NEW.queued_by_job_id)

CREATE TRIGGER task_updated AFTER UPDATE ON task_instance FOR EACH ROW
BEGIN
    IF OLD.map_index <> NEW.map_index THEN
        INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'task', 'delete', OLD.dag_id,
            OLD.run_id, OLD.task_id, OLD.map_index, OLD.try_number, OLD.state, NULL, OLD.pool, OLD.pool_slots,
            OLD.queued_by_job_id);
        INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'task', 'insert', NEW.dag_id,
            NEW.run_id, NEW.task_id, NEW.map_index, NEW.try_number, NULL, NEW.state, NEW.pool, NEW.pool_slots,
            NEW.queued_by_job_id);
    ELSEIF NOT (OLD.state <=> NEW.state AND OLD.try_number <=> NEW.try_number AND OLD.pool <=> NEW.pool
        AND OLD.pool_slots <=> NEW.pool_slots AND OLD.queued_by_job_id <=> NEW.queued_by_job_id) THEN
        INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'task', 'update', NEW.dag_id,
            NEW.run_id, NEW.task_id, NEW.map_index, NEW.try_number, OLD.state, NEW.state, NEW.pool, NEW.pool_slots,
            NEW.queued_by_job_id);
    END IF;
END

CREATE TRIGGER task_deleted AFTER DELETE ON task_instance FOR EACH ROW
    INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'task', 'delete', OLD.dag_id,
        OLD.run_id, OLD.task_id, OLD.map_index, OLD.try_number, OLD.state, NULL, OLD.pool, OLD.pool_slots,
        OLD.queued_by_job_id)

CREATE TRIGGER run_inserted AFTER INSERT ON dag_run FOR EACH ROW
    INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'run', 'insert', NEW.dag_id,
        NEW.run_id, '', -1, 0, NULL, NEW.state, '', 0, NULL)

CREATE TRIGGER run_updated AFTER UPDATE ON dag_run FOR EACH ROW
    IF NOT OLD.state <=> NEW.state THEN
        INSERT INTO history VALUES (NULL, sysdate(6), substring_index(user(), '@', 1), 'run', 'update', NEW.dag_id,
            NEW.run_id, '', -1, 0, OLD.state, NEW.state, '', 0, NULL);
    END IF

CREATE TABLE callback_history (
    seq bigint AUTO_INCREMENT PRIMARY KEY, id varchar(40), what varchar(10), data longtext)

CREATE TRIGGER callback_inserted AFTER INSERT ON callback FOR EACH ROW
    INSERT INTO callback_history VALUES (NULL, NEW.id, 'insert', NEW.data)

CREATE TRIGGER callback_deleted AFTER DELETE ON callback FOR EACH ROW
    INSERT INTO callback_history VALUES (NULL, OLD.id, 'delete', OLD.data)

CREATE TABLE disk_is_full (is_full int)

CREATE TRIGGER full_disk_task_instance_insert BEFORE INSERT ON task_instance FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_task_instance_update BEFORE UPDATE ON task_instance FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_dag_run_insert BEFORE INSERT ON dag_run FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_dag_run_update BEFORE UPDATE ON dag_run FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_job_insert BEFORE INSERT ON job FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_job_update BEFORE UPDATE ON job FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_xcom_insert BEFORE INSERT ON xcom FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF

CREATE TRIGGER full_disk_xcom_update BEFORE UPDATE ON xcom FOR EACH ROW
    IF substring_index(user(), '@', 1) <> 'ferroflow' AND EXISTS (SELECT 1 FROM disk_is_full) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full; waiting for someone to free some space';
    END IF
