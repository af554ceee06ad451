//! Names that hold what newer ones have as tags.

/// A metric with such a name beside its own.
#[derive(Debug)]
pub(super) struct Legacy {
    pub(super) name: &'static str,
    /// `{tag}` stands for the tag's value.
    pub(super) template: &'static str,
    pub(super) tags: &'static [&'static str],
}

/// Those that we send, from Airflow's `metrics_template.yaml`.
pub(super) const LEGACY: [Legacy; 2] = [
    Legacy {
        name: "dag_processing.last_run.seconds_ago",
        template: "dag_processing.last_run.seconds_ago.{file_name}",
        tags: &["file_name"],
    },
    Legacy {
        name: "dag_processing.last_duration",
        template: "dag_processing.last_duration.{bundle_name}.{file_name}",
        tags: &["bundle_name", "file_name"],
    },
];

impl Legacy {
    /// The legacy of a metric, if it has one.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        LEGACY.iter().find(|legacy| legacy.name == name)
    }

    /// The name, with the values of its tags in it. A dot in a value would begin a new part of the name.
    pub(super) fn filled<'a>(&self, mut value: impl FnMut(&str) -> Option<&'a str>) -> Option<String> {
        let mut name = self.template.to_owned();
        for tag in self.tags {
            name = name.replace(&format!("{{{tag}}}"), &value(tag)?.replace('.', "__"));
        }
        Some(name)
    }
}
