//! The metrics of the scheduler's loop: whether it lives, what its steps take, and what it finds.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

use super::tags::{PoolTags, TaskTags, counted, milliseconds, tag};

/// Every name of Airflow's here, and its kind in Airflow's `metrics_template.yaml`. The names of jobs are made of the
/// job's kind there, and are not listed.
pub const NAMES: [(&str, &str); 32] = [
    ("scheduler_heartbeat", "counter"),
    ("scheduler.scheduler_loop_duration", "timer"),
    ("scheduler.executor_heartbeat_duration", "timer"),
    ("scheduler.critical_section_duration", "timer"),
    ("scheduler.critical_section_query_duration", "timer"),
    ("scheduler.critical_section_busy", "counter"),
    ("scheduler.tasks.starving", "gauge"),
    ("scheduler.tasks.executable", "gauge"),
    ("scheduler.tasks.killed_externally", "counter"),
    ("scheduler.orphaned_tasks.cleared", "counter"),
    ("scheduler.orphaned_tasks.adopted", "counter"),
    ("scheduler.dagruns.running", "gauge"),
    ("scheduler.dag_bag.cache_hit", "counter"),
    ("scheduler.dag_bag.cache_miss", "counter"),
    ("scheduler.dag_bag.cache_size", "gauge"),
    ("pool.starving_tasks", "gauge"),
    ("pool.open_slots", "gauge"),
    ("pool.queued_slots", "gauge"),
    ("pool.running_slots", "gauge"),
    ("pool.deferred_slots", "gauge"),
    ("pool.scheduled_slots", "gauge"),
    ("ti.scheduled", "gauge"),
    ("ti.queued", "gauge"),
    ("ti.running", "gauge"),
    ("ti.deferred", "gauge"),
    ("task.scheduled_duration", "timer"),
    ("task_instances_without_heartbeats_killed", "counter"),
    ("operator_failures", "counter"),
    ("ti_failures", "counter"),
    ("connection_test.active", "gauge"),
    ("connection_test.pending", "gauge"),
    ("connection_test.reaped", "counter"),
];

/// The slots of a pool, by what holds them.
#[derive(Clone, Copy, Debug)]
pub struct PoolSlots {
    /// Those that are free; infinite if there is no limit.
    pub open: f64,
    /// Those that queued task instances hold.
    pub queued: i64,
    /// Those that running ones hold.
    pub running: i64,
    /// Those that deferred ones would hold.
    pub deferred: i64,
    /// Those that scheduled ones wait for.
    pub scheduled: i64,
}

/// A job has begun.
pub fn job_started() {
    counter!("job_start").increment(1);
}

/// A job has ended.
pub fn job_ended() {
    counter!("job_end").increment(1);
}

/// The database did not take a job's heartbeat.
pub fn job_heartbeat_failed() {
    counter!("job_heartbeat_failure").increment(1);
}

/// The scheduler lives.
pub fn heartbeat() {
    counter!("scheduler_heartbeat").increment(1);
}

/// So many schedulers were given up.
pub fn schedulers_given_up(number: usize) {
    add("schedulerjobrunner_end", number);
}

/// All steps were done once.
pub fn loop_done(took: Duration) {
    histogram!("scheduler.scheduler_loop_duration").record(timed(took));
}

/// What executors of a class had to tell was taken in.
pub fn executor_heartbeat(class: &str, took: Duration) {
    histogram!("scheduler.executor_heartbeat_duration", vec![tag("executor", class)]).record(timed(took));
}

/// The critical section was passed through; of that time, so long was spent on reading.
pub fn critical_section_passed(took: Duration, reading: Duration) {
    histogram!("scheduler.critical_section_query_duration").record(timed(reading));
    histogram!("scheduler.critical_section_duration").record(timed(took));
}

/// Another scheduler was in the critical section.
pub fn critical_section_busy() {
    counter!("scheduler.critical_section_busy").increment(1);
}

/// How many task instances were queued, and how many were not since their pools have no slots.
pub fn tasks(executable: usize, starving: usize) {
    gauge!("scheduler.tasks.starving").set(counted(starving));
    gauge!("scheduler.tasks.executable").set(counted(executable));
}

/// How many task instances wait for slots of a pool that has none.
pub fn pool_starves(pool: PoolTags<'_>, tasks: usize) {
    gauge!("pool.starving_tasks", pool.labels()).set(counted(tasks));
}

/// The slots of a pool.
pub fn pool_slots(pool: PoolTags<'_>, slots: PoolSlots) {
    let values = [
        ("pool.open_slots", slots.open),
        ("pool.queued_slots", counted(slots.queued)),
        ("pool.running_slots", counted(slots.running)),
        ("pool.deferred_slots", counted(slots.deferred)),
        ("pool.scheduled_slots", counted(slots.scheduled)),
    ];
    for (name, value) in values {
        gauge!(name, pool.labels()).set(value);
    }
}

/// How many instances of a task are in a state, on a queue of workers.
pub fn instances_in_state(state: &str, task: TaskTags<'_>, queue: Option<&str>, number: i64) {
    let mut labels: Vec<_> = queue.map(|queue| tag("queue", queue)).into_iter().collect();
    labels.extend(task.labels());
    gauge!(format!("ti.{state}"), labels).set(counted(number));
}

/// How many runs are running.
pub fn running_runs(number: i64) {
    gauge!("scheduler.dagruns.running").set(counted(number));
}

/// An executor is done with a task instance whose row says otherwise.
pub fn killed_externally(task: TaskTags<'_>) {
    counter!("scheduler.tasks.killed_externally", task.labels()).increment(1);
}

/// Of the task instances that no scheduler looked after, so many begin anew, and so many are looked after now.
pub fn orphans(cleared: usize, adopted: usize) {
    add("scheduler.orphaned_tasks.cleared", cleared);
    add("scheduler.orphaned_tasks.adopted", adopted);
}

/// Nothing was heard of a running task instance for too long.
pub fn without_heartbeat(task: TaskTags<'_>) {
    counter!("task_instances_without_heartbeats_killed", task.labels()).increment(1);
}

/// A task instance has failed that did not tell so itself: those that do count themselves.
pub fn failed(task: TaskTags<'_>, operator: Option<&str>) {
    if let Some(operator) = operator {
        counter!("operator_failures", task.labels_and("operator_name", operator)).increment(1);
    }
    counter!("ti_failures", task.labels()).increment(1);
}

/// A task instance was queued for the first time, so long after it was ready.
pub fn queued(task: TaskTags<'_>, queue: &str, after: Duration) {
    histogram!("task.scheduled_duration", task.labels_and("queue", queue)).record(timed(after));
}

/// A DAG was asked for that was read already, or had to be read.
pub fn dag_asked_for(is_known: bool) {
    let name = if is_known { "scheduler.dag_bag.cache_hit" } else { "scheduler.dag_bag.cache_miss" };
    counter!(name).increment(1);
}

/// How many DAGs are kept.
pub fn dags_kept(number: usize) {
    gauge!("scheduler.dag_bag.cache_size").set(counted(number));
}

/// How many tests of connections are at executors, and how many wait for one.
pub fn connection_tests(active: i64, pending: i64) {
    gauge!("connection_test.active").set(counted(active));
    gauge!("connection_test.pending").set(counted(pending));
}

/// A test of a connection was given up.
pub fn connection_test_reaped(prior_state: &str) {
    counter!("connection_test.reaped", vec![tag("prior_state", prior_state)]).increment(1);
}

/// Something of a DAG could not be done, and nothing else had to wait for it. Airflow has no such metric.
pub fn set_aside(dag_id: &str, what: &'static str) {
    let labels = vec![tag("dag_id", dag_id), tag("what", what)];
    counter!("ferroflow.scheduler.set_aside", labels).increment(1);
}

/// A run could not be moved on, and is tried again later. Airflow has no such metric.
pub fn run_put_off(reason: &'static str) {
    counter!("ferroflow.scheduler.runs_put_off", vec![tag("reason", reason)]).increment(1);
}

/// A row was found that cannot be read, and was left out. Airflow has no such metric.
pub fn unreadable_row(table: &'static str) {
    counter!("ferroflow.unreadable_rows", vec![tag("table", table)]).increment(1);
}

/// A cycle could not be finished, because of the database. Airflow has no such metric.
pub fn cycle_failed() {
    counter!("ferroflow.scheduler.failed_cycles").increment(1);
}

/// How many runs are kept in memory. Airflow has no such metric.
pub fn runs_attended(number: usize) {
    gauge!("ferroflow.scheduler.attended_runs").set(counted(number));
}

fn add(name: &'static str, number: usize) {
    counter!(name).increment(u64::try_from(number).unwrap_or(u64::MAX));
}

fn timed(took: Duration) -> f64 {
    milliseconds(took.as_secs_f64())
}
