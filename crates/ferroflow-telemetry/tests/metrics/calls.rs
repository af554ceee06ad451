//! Everything that can be told, once by our functions and once as Airflow's components tell it.

use std::time::Duration;

use ferroflow_telemetry::metrics::dag_processing::{self, Ended, File};
use ferroflow_telemetry::metrics::executing::{self, ExecutorTags};
use ferroflow_telemetry::metrics::scheduling::{self, PoolSlots};
use ferroflow_telemetry::metrics::{PoolTags, RunTags, TaskTags, runs};
use serde_json::{Value, json};

const FILE: File<'_> = File { bundle_name: "my bundle", path: "folder/my.dag file.py" };
const TASK: TaskTags<'_> = TaskTags { dag_id: "my.dag", task_id: "group.task" };
const RUN: RunTags<'_> = RunTags { dag_id: "my.dag", run_type: "scheduled" };
const POOL: PoolTags<'_> = PoolTags { pool: "my pool", team_name: None };
const LOCAL: ExecutorTags<'_> =
    ExecutorTags { class: "LocalExecutor", team_name: None, is_one_of_several: false };

/// Every call of ours that Airflow has, too.
pub(crate) fn every_call() {
    processing();
    scheduler();
    tasks();
    every_run();
    executing::slots(LOCAL, 30, 0, 2);
    executing::slots(ExecutorTags { is_one_of_several: true, team_name: Some("red"), ..LOCAL }, 30, 1, 2);
}

/// The same, as Airflow's components call the stats module.
pub(crate) fn every_official_call() -> Vec<Value> {
    [official_processing(), official_scheduler(), official_tasks(), official_runs(), official_executors()]
        .concat()
}

fn processing() {
    dag_processing::process_started(FILE);
    dag_processing::process_ended(FILE, Ended::Stop);
    dag_processing::process_ended(FILE, Ended::Timeout);
    dag_processing::process_ended(FILE, Ended::Terminate);
    dag_processing::processor_timeout(FILE);
    dag_processing::other_callback();
    dag_processing::callback_only();
    dag_processing::file_path_queue_updated();
    dag_processing::heartbeat();
    dag_processing::file_path_queue_size(7);
    dag_processing::totals(Duration::from_millis(1250), 3, 2);
    dag_processing::last_run_ago(FILE, Duration::from_millis(1500));
    dag_processing::last_duration(FILE, Duration::from_micros(2_500_001));
}

fn official_processing() -> Vec<Value> {
    let all =
        json!({"file_path": "folder_my.dag_file.py", "bundle_name": "my_bundle", "file_name": "my.dag_file"});
    let path = &all["file_path"];
    let timed = json!({"bundle_name": all["bundle_name"], "file_name": all["file_name"]});
    vec![
        json!(["incr", "dag_processing.processes", 1, {"file_path": path, "action": "start"}]),
        json!(["decr", "dag_processing.processes", 1, {"file_path": path, "action": "stop"}]),
        json!(["decr", "dag_processing.processes", 1, {"file_path": path, "action": "timeout"}]),
        json!(["decr", "dag_processing.processes", 1, {"file_path": path, "action": "terminate"}]),
        json!(["incr", "dag_processing.processor_timeouts", 1, {"file_path": path}]),
        json!(["incr", "dag_processing.other_callback_count", 1, {}]),
        json!(["incr", "dag_processing.callback_only_count", 1, {}]),
        json!(["incr", "dag_processing.file_path_queue_update_count", 1, null]),
        json!(["incr", "dag_processor_heartbeat", 1, null]),
        json!(["gauge", "dag_processing.file_path_queue_size", 7, null]),
        json!(["gauge", "dag_processing.total_parse_time", 1.25, null]),
        json!(["gauge", "dagbag_size", 3, null]),
        json!(["gauge", "dag_processing.import_errors", 2, null]),
        json!(["gauge", "dag_processing.last_run.seconds_ago", 1.5, all]),
        json!(["timing", "dag_processing.last_duration", 2.500_001, timed]),
    ]
}

fn scheduler() {
    scheduling::job_started();
    scheduling::job_ended();
    scheduling::job_heartbeat_failed();
    scheduling::heartbeat();
    scheduling::loop_done(Duration::from_micros(2_500));
    scheduling::executor_heartbeat("LocalExecutor", Duration::from_micros(500));
    scheduling::critical_section_passed(Duration::from_millis(4), Duration::from_millis(3));
    scheduling::critical_section_busy();
    scheduling::tasks(3, 2);
    scheduling::orphans(2, 1);
    scheduling::running_runs(5);
    scheduling::dag_asked_for(true);
    scheduling::dag_asked_for(false);
    scheduling::dags_kept(9);
    scheduling::pool_starves(POOL, 2);
    let slots = PoolSlots { open: -1.0, queued: 1, running: 2, deferred: 3, scheduled: 4 };
    scheduling::pool_slots(PoolTags { team_name: Some("red"), ..POOL }, slots);
    scheduling::connection_tests(1, 2);
    scheduling::connection_test_reaped("queued");
}

fn official_scheduler() -> Vec<Value> {
    let pool = json!({"pool_name": "my_pool"});
    let red = json!({"pool_name": "my_pool", "team_name": "red"});
    vec![
        json!(["incr", "job_start", 1, null]),
        json!(["incr", "job_end", 1, null]),
        json!(["incr", "job_heartbeat_failure", 1, null]),
        json!(["incr", "scheduler_heartbeat", 1, null]),
        json!(["timing", "scheduler.scheduler_loop_duration", 2.5, null]),
        json!(["timing", "scheduler.executor_heartbeat_duration", 0.5, {"executor": "LocalExecutor"}]),
        json!(["timing", "scheduler.critical_section_query_duration", 3.0, null]),
        json!(["timing", "scheduler.critical_section_duration", 4.0, null]),
        json!(["incr", "scheduler.critical_section_busy", 1, null]),
        json!(["gauge", "scheduler.tasks.starving", 2, null]),
        json!(["gauge", "scheduler.tasks.executable", 3, null]),
        json!(["incr", "scheduler.orphaned_tasks.cleared", 2, null]),
        json!(["incr", "scheduler.orphaned_tasks.adopted", 1, null]),
        json!(["gauge", "scheduler.dagruns.running", 5, null]),
        json!(["incr", "scheduler.dag_bag.cache_hit", 1, null]),
        json!(["incr", "scheduler.dag_bag.cache_miss", 1, null]),
        json!(["gauge", "scheduler.dag_bag.cache_size", 9, null]),
        json!(["gauge", "pool.starving_tasks", 2, pool]),
        json!(["gauge", "pool.open_slots", -1, red]),
        json!(["gauge", "pool.queued_slots", 1, red]),
        json!(["gauge", "pool.running_slots", 2, red]),
        json!(["gauge", "pool.deferred_slots", 3, red]),
        json!(["gauge", "pool.scheduled_slots", 4, red]),
        json!(["gauge", "connection_test.active", 1, null]),
        json!(["gauge", "connection_test.pending", 2, null]),
        json!(["incr", "connection_test.reaped", 1, {"prior_state": "queued"}]),
    ]
}

fn tasks() {
    for (number, state) in (1..).zip(["scheduled", "queued", "running", "deferred"]) {
        scheduling::instances_in_state(state, TASK, Some("a.queue"), number);
    }
    scheduling::killed_externally(TASK);
    scheduling::without_heartbeat(TASK);
    scheduling::failed(TASK, Some("BashOperator"));
    scheduling::queued(TASK, "default", Duration::from_millis(1_500));
}

fn official_tasks() -> Vec<Value> {
    let task = json!({"dag_id": "my.dag", "task_id": "group.task"});
    let queued = json!({"queue": "a.queue", "dag_id": "my.dag", "task_id": "group.task"});
    let failed = json!({"dag_id": "my.dag", "task_id": "group.task", "operator_name": "BashOperator"});
    let waited = json!({"dag_id": "my.dag", "task_id": "group.task", "queue": "default"});
    vec![
        json!(["gauge", "ti.scheduled", 1, queued]),
        json!(["gauge", "ti.queued", 2, queued]),
        json!(["gauge", "ti.running", 3, queued]),
        json!(["gauge", "ti.deferred", 4, queued]),
        json!(["incr", "scheduler.tasks.killed_externally", 1, task]),
        json!(["incr", "task_instances_without_heartbeats_killed", 1, task]),
        json!(["incr", "operator_failures", 1, failed]),
        json!(["incr", "ti_failures", 1, task]),
        json!(["timing", "task.scheduled_duration", 1500.0, waited]),
    ]
}

fn every_run() {
    runs::instances_created(RUN, &[("BashOperator".to_owned(), 3)]);
    runs::assets_updated(2, None);
    runs::assets_updated(1, Some("red"));
    runs::triggered_by_assets();
    runs::assets_orphaned(4);
    runs::started("my.dag", 1.25);
    runs::examined(RUN, 0.002);
    runs::ended(RUN, true, 60.0);
    runs::ended(RUN, false, 61.5);
    runs::first_task_scheduled(RUN, 2.0);
    runs::first_task_started(RUN, 1.0);
    runs::task_removed(RUN);
    runs::task_restored(RUN);
    runs::deadlines_created("my.dag", 2);
    runs::deadline_missed("my.dag", "scheduled__1");
    runs::deadlines_met("my.dag", "scheduled__2", 1);
}

fn official_runs() -> Vec<Value> {
    let run = json!({"dag_id": "my.dag", "run_type": "scheduled"});
    let created = json!({"dag_id": "my.dag", "run_type": "scheduled", "task_type": "BashOperator"});
    let dag = json!({"dag_id": "my.dag"});
    vec![
        json!(["incr", "task_instance_created", 3, created]),
        json!(["incr", "asset.updates", 2, {}]),
        json!(["incr", "asset.updates", 1, {"team_name": "red"}]),
        json!(["incr", "asset.triggered_dagruns", 1, {}]),
        json!(["gauge", "asset.orphaned", 4, null]),
        json!(["timing", "dagrun.schedule_delay", 1250.0, dag]),
        json!(["timing", "dagrun.dependency-check", 2.0, run]),
        json!(["timing", "dagrun.duration.success", 60_000.0, run]),
        json!(["timing", "dagrun.duration.failed", 61_500.0, run]),
        json!(["timing", "dagrun.first_task_scheduling_delay", 2000.0, run]),
        json!(["timing", "dagrun.first_task_start_delay", 1000.0, run]),
        json!(["incr", "task_removed_from_dag", 1, run]),
        json!(["incr", "task_restored_to_dag", 1, run]),
        json!(["incr", "deadline_alerts.deadline_created", 2, dag]),
        json!(["incr", "deadline_alerts.deadline_missed", 1, {"dag_id": "my.dag", "dagrun_id": "scheduled__1"}]),
        json!(["incr", "deadline_alerts.deadline_not_missed", 1, {"dag_id": "my.dag", "dagrun_id": "scheduled__2"}]),
    ]
}

fn official_executors() -> Vec<Value> {
    let mut calls = Vec::new();
    for (base, status, one, several) in [
        ("executor.open_slots", "open", 30, 30),
        ("executor.queued_tasks", "queued", 0, 1),
        ("executor.running_tasks", "running", 2, 2),
    ] {
        let tags = json!({"status": status, "executor_class_name": "LocalExecutor"});
        calls.push(json!(["gauge", base, one, tags]));
        let tags = json!({"status": status, "executor_class_name": "LocalExecutor", "team_name": "red"});
        calls.push(json!(["gauge", format!("{base}.LocalExecutor"), several, tags]));
    }
    calls
}
