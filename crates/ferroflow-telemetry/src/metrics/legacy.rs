//! Names that hold what newer ones have as tags.

use metrics::{Key, Label};

/// A name of a metric, and the tags that go with it.
#[derive(Debug)]
pub(super) struct Named<'k> {
    pub(super) name: String,
    pub(super) tags: Vec<&'k Label>,
    /// Whether tags stand in it.
    pub(super) is_legacy: bool,
}

/// All names of a metric: the legacy one first, where there is one and it is wanted.
pub(super) fn named(key: &Key, legacy_names_on: bool) -> Vec<Named<'_>> {
    let tags: Vec<&Label> = key.labels().collect();
    let mut found = Vec::with_capacity(2);
    if let Some(legacy) = Legacy::of(key.name()).filter(|_| legacy_names_on) {
        let value = |wanted: &str| tags.iter().find(|tag| tag.key() == wanted).map(|tag| tag.value());
        if let Some(name) = legacy.filled(value) {
            let left = tags.iter().copied().filter(|tag| !legacy.has(tag.key())).collect();
            found.push(Named { name, tags: left, is_legacy: true });
        }
    }
    found.push(Named { name: key.name().to_owned(), tags, is_legacy: false });
    found
}

/// A metric with such a name beside its own.
#[derive(Debug)]
struct Legacy {
    name: &'static str,
    /// `{tag}` stands for the tag's value.
    template: &'static str,
}

/// Those that we send, from Airflow's `metrics_template.yaml`.
const LEGACY: [Legacy; 25] = [
    Legacy::new("dag_processing.last_run.seconds_ago", "dag_processing.last_run.seconds_ago.{file_name}"),
    Legacy::new("dag_processing.last_duration", "dag_processing.last_duration.{bundle_name}.{file_name}"),
    Legacy::new("operator_failures", "operator_failures_{operator_name}"),
    Legacy::new("task_removed_from_dag", "task_removed_from_dag.{dag_id}"),
    Legacy::new("task_restored_to_dag", "task_restored_to_dag.{dag_id}"),
    Legacy::new("task_instance_created", "task_instance_created_{task_type}"),
    Legacy::new("executor.open_slots", "executor.open_slots.{executor_class_name}"),
    Legacy::new("executor.queued_tasks", "executor.queued_tasks.{executor_class_name}"),
    Legacy::new("executor.running_tasks", "executor.running_tasks.{executor_class_name}"),
    Legacy::new("pool.open_slots", "pool.open_slots.{pool_name}"),
    Legacy::new("pool.queued_slots", "pool.queued_slots.{pool_name}"),
    Legacy::new("pool.running_slots", "pool.running_slots.{pool_name}"),
    Legacy::new("pool.deferred_slots", "pool.deferred_slots.{pool_name}"),
    Legacy::new("pool.scheduled_slots", "pool.scheduled_slots.{pool_name}"),
    Legacy::new("pool.starving_tasks", "pool.starving_tasks.{pool_name}"),
    Legacy::new("ti.scheduled", "ti.scheduled.{queue}.{dag_id}.{task_id}"),
    Legacy::new("ti.queued", "ti.queued.{queue}.{dag_id}.{task_id}"),
    Legacy::new("ti.running", "ti.running.{queue}.{dag_id}.{task_id}"),
    Legacy::new("ti.deferred", "ti.deferred.{queue}.{dag_id}.{task_id}"),
    Legacy::new("task.scheduled_duration", "dag.{dag_id}.{task_id}.scheduled_duration"),
    Legacy::new("dagrun.dependency-check", "dagrun.dependency-check.{dag_id}"),
    Legacy::new("dagrun.duration.success", "dagrun.duration.success.{dag_id}"),
    Legacy::new("dagrun.duration.failed", "dagrun.duration.failed.{dag_id}"),
    Legacy::new("dagrun.schedule_delay", "dagrun.schedule_delay.{dag_id}"),
    Legacy::new("dagrun.first_task_scheduling_delay", "dagrun.{dag_id}.first_task_scheduling_delay"),
];

impl Legacy {
    const fn new(name: &'static str, template: &'static str) -> Self {
        Self { name, template }
    }

    /// The legacy of a metric, if it has one.
    fn of(name: &str) -> Option<&'static Self> {
        LEGACY.iter().find(|legacy| legacy.name == name)
    }

    /// Whether a tag stands in the name.
    fn has(&self, tag: &str) -> bool {
        self.tags().any(|own| own == tag)
    }

    /// The name, with the values of its tags in it. A dot in a value would begin a new part of the name.
    fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let mut name = self.template.to_owned();
        for tag in self.tags() {
            name = name.replace(&format!("{{{tag}}}"), &value(tag)?.replace('.', "__"));
        }
        Some(name)
    }

    fn tags(&self) -> impl Iterator<Item = &'static str> {
        self.template.split('{').skip(1).filter_map(|part| part.split('}').next())
    }
}
