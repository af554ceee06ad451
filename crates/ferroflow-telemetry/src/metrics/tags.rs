//! What metrics are tagged with.

use metrics::Label;

/// A task.
#[derive(Clone, Copy, Debug)]
pub struct TaskTags<'a> {
    /// Its DAG.
    pub dag_id: &'a str,
    /// Itself.
    pub task_id: &'a str,
}

/// The runs of a DAG that are of one type.
#[derive(Clone, Copy, Debug)]
pub struct RunTags<'a> {
    /// The DAG.
    pub dag_id: &'a str,
    /// Why they exist.
    pub run_type: &'a str,
}

/// A pool, under the name that metrics have for it.
#[derive(Clone, Copy, Debug)]
pub struct PoolTags<'a> {
    /// Its name.
    pub pool: &'a str,
    /// The team it belongs to.
    pub team_name: Option<&'a str>,
}

impl TaskTags<'_> {
    pub(super) fn labels(self) -> Vec<Label> {
        vec![tag("dag_id", self.dag_id), tag("task_id", self.task_id)]
    }

    pub(super) fn labels_and(self, name: &'static str, value: &str) -> Vec<Label> {
        let mut labels = self.labels();
        labels.push(tag(name, value));
        labels
    }
}

impl RunTags<'_> {
    pub(super) fn labels(self) -> Vec<Label> {
        vec![tag("dag_id", self.dag_id), tag("run_type", self.run_type)]
    }
}

impl PoolTags<'_> {
    pub(super) fn labels(self) -> Vec<Label> {
        let mut labels = vec![tag("pool_name", &super::normalized(self.pool))];
        labels.extend(self.team_name.map(|team| tag("team_name", team)));
        labels
    }
}

pub(super) fn tag(name: &'static str, value: &str) -> Label {
    Label::new(name, value.to_owned())
}

/// A number of things, as gauges take it.
#[expect(clippy::cast_precision_loss, reason = "no count comes near 2^53")]
pub(super) fn counted(number: impl TryInto<i64>) -> f64 {
    number.try_into().unwrap_or(i64::MAX) as f64
}

/// Timers take milliseconds.
pub(super) fn milliseconds(seconds: f64) -> f64 {
    seconds * 1000.0
}
