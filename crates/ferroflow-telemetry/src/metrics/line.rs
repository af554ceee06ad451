//! What is sent of one metric: lines of statsd.

use metrics::{Key, Label};

use super::legacy::{Named, named};
use super::name::{Rules, is_valid};
use super::settings::MetricsSettings;

/// How tags are written.
#[derive(Debug)]
pub(super) enum Form {
    /// Not at all.
    Plain,
    /// As part of the name.
    InfluxDb,
    /// Behind the value, with those of every metric.
    Datadog { has_own: bool, constant: Vec<String> },
}

impl Form {
    pub(super) fn new(settings: &MetricsSettings) -> Self {
        if settings.datadog_enabled {
            let constant = settings.datadog_tags.iter().filter(|tag| !tag.is_empty()).cloned().collect();
            return Self::Datadog { has_own: settings.datadog_metrics_tags, constant };
        }
        if settings.influxdb_enabled { Self::InfluxDb } else { Self::Plain }
    }
}

/// One line without its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The name, with its prefix.
    pub(super) name: String,
    /// What follows on the value and its kind.
    pub(super) end: String,
}

/// The lines of a metric: that of its legacy name first, where it has one.
pub(super) fn lines(key: &Key, settings: &MetricsSettings, form: &Form, rules: &Rules) -> Vec<Line> {
    let named = named(key, settings.legacy_names_on);
    named
        .into_iter()
        .filter_map(|Named { name, tags, .. }| line(name, &tags, settings, form, rules))
        .collect()
}

fn line(
    mut name: String,
    tags: &[&Label],
    settings: &MetricsSettings,
    form: &Form,
    rules: &Rules,
) -> Option<Line> {
    let sent = || tags.iter().filter(|tag| rules.is_tag_sent(tag.key()));
    let mut end = String::new();
    match form {
        Form::Plain => {}
        Form::InfluxDb => {
            for tag in sent() {
                if [tag.key(), tag.value()].iter().any(|text| text.contains([',', '='])) {
                    tracing::error!(
                        "tag {}={} of metric {name} is left out: it has a comma or an equals sign in it",
                        tag.key(),
                        tag.value()
                    );
                    continue;
                }
                name = format!("{name},{}={}", tag.key(), tag.value());
            }
        }
        Form::Datadog { has_own, constant } => {
            let own = sent().filter(|_| *has_own).map(|tag| format!("{}:{}", tag.key(), tag.value()));
            let all: Vec<String> = own.chain(constant.iter().cloned()).map(|tag| datadog_tag(&tag)).collect();
            if !all.is_empty() {
                end = format!("|#{}", all.join(","));
            }
        }
    }
    if !is_valid(&name, settings.influxdb_enabled) {
        tracing::error!(
            "metric {name:?} is not sent: its name is too long, or has characters that statsd does not take"
        );
        return None;
    }
    if !rules.is_sent(&name) {
        return None;
    }
    if !settings.prefix.is_empty() {
        name = format!("{}.{name}", settings.prefix);
    }
    Some(Line { name, end })
}

/// A tag as Datadog's client writes it.
fn datadog_tag(tag: &str) -> String {
    tag.chars().map(|c| if c.is_alphanumeric() || "_-:/.".contains(c) { c } else { '_' }).collect()
}
