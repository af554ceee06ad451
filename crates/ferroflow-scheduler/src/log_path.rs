//! Where the log of a try goes: `[logging] log_filename_template`, a Jinja template or a format of Python's.

mod python;

use std::sync::Arc;

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_model::state::TaskState;
use minijinja::{Environment, context};

pub(crate) use python::iso_format;
use python::{Fields, Moment, method_of_text};

/// The paths of logs, by the configured template.
#[derive(Debug)]
pub struct LogPaths(Kind);

#[derive(Debug)]
enum Kind {
    Jinja(Box<Environment<'static>>),
    Format(String),
}

/// A template that gives no path.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Jinja refuses it.
    #[error("[logging] log_filename_template cannot be used: {0:#}")]
    Jinja(#[from] minijinja::Error),
    /// A format names something that is not there.
    #[error(
        "[logging] log_filename_template cannot be used: {{{0}}} is none of dag_id, task_id, logical_date and try_number"
    )]
    Field(String),
    /// A format has a brace too many or too few.
    #[error("[logging] log_filename_template cannot be used: a brace in it has no partner")]
    Brace,
    /// The run has no logical date, which a format asks for.
    #[error("[logging] log_filename_template asks for the logical date, and run {0} has none")]
    NoDate(String),
}

const NAME: &str = "log_filename_template";

impl LogPaths {
    /// Reads the template.
    pub fn new(template: &str) -> Result<Self, TemplateError> {
        if !template.contains("{{") {
            return Ok(Self(Kind::Format(template.to_owned())));
        }
        let mut environment = Environment::new();
        environment.set_unknown_method_callback(|_, value, method, arguments| {
            method_of_text(value, method, arguments)
        });
        environment.add_template_owned(NAME, template.to_owned())?;
        Ok(Self(Kind::Jinja(Box::new(environment))))
    }

    /// The path of the log of a task instance's current try, relative to `[logging] base_log_folder`.
    pub fn path(&self, run: &DagRun, instance: &TaskInstance) -> Result<String, TemplateError> {
        match &self.0 {
            Kind::Jinja(environment) => {
                let ti = minijinja::Value::from_object(instance_fields(run, instance));
                Ok(environment.get_template(NAME)?.render(context! { ti })?)
            }
            Kind::Format(format) => formatted(format, run, instance),
        }
    }
}

/// A task instance, as templates see it.
fn instance_fields(run: &DagRun, instance: &TaskInstance) -> Fields {
    let key = &instance.key;
    let mut fields = Fields::default();
    fields.set("id", instance.id.to_string());
    fields.set("dag_id", key.dag_id.as_str());
    fields.set("run_id", key.run_id.as_str());
    fields.set("task_id", key.task_id.as_str());
    fields.set("map_index", key.map_index);
    fields.set("try_number", instance.try_number);
    fields.set("max_tries", instance.max_tries);
    fields.set_text("state", instance.state.map(TaskState::as_str));
    fields.set_text("hostname", instance.hostname.as_deref());
    fields.set_text("unixname", instance.unixname.as_deref());
    fields.set("pool", instance.pool.as_str());
    fields.set("pool_slots", instance.pool_slots);
    fields.set_text("queue", instance.queue.as_deref());
    fields.set("priority_weight", instance.priority_weight);
    fields.set_text("operator", instance.operator.as_deref());
    let operator_name = instance.custom_operator_name.as_deref().filter(|name| !name.is_empty());
    fields.set_text("operator_name", operator_name.or(instance.operator.as_deref()));
    fields.set_text("custom_operator_name", instance.custom_operator_name.as_deref());
    fields.set_text("executor", instance.executor.as_deref());
    fields.set("task_display_name", instance.task_display_name.as_deref().unwrap_or(&key.task_id));
    fields.set_time("logical_date", run.logical_date);
    fields.set_time("start_date", instance.start_date);
    fields.set_time("end_date", instance.end_date);
    fields.set_time("queued_dttm", instance.queued_dttm);
    fields.set_time("scheduled_dttm", instance.scheduled_dttm);
    fields.set_time("run_after", Some(run.run_after));
    fields.set("dag_run", minijinja::Value::from_object(run_fields(run)));
    fields
}

fn run_fields(run: &DagRun) -> Fields {
    let mut fields = Fields::default();
    fields.set("id", run.id);
    fields.set("dag_id", run.dag_id.as_str());
    fields.set("run_id", run.run_id.as_str());
    fields.set("run_type", run.run_type.as_str());
    fields.set("state", run.state.as_str());
    fields.set("clear_number", run.clear_number);
    fields.set_text("bundle_version", run.bundle_version.as_deref());
    fields.set_text("partition_key", run.partition_key.as_deref());
    fields.set_text("triggering_user_name", run.triggering_user_name.as_deref());
    fields.set_time("logical_date", run.logical_date);
    fields.set_time("data_interval_start", run.data_interval_start);
    fields.set_time("data_interval_end", run.data_interval_end);
    fields.set_time("run_after", Some(run.run_after));
    fields.set_time("start_date", run.start_date);
    fields.set_time("queued_at", run.queued_at);
    fields
}

/// Python's `str.format` with the few fields that there are.
fn formatted(format: &str, run: &DagRun, instance: &TaskInstance) -> Result<String, TemplateError> {
    let mut out = String::with_capacity(format.len() + 64);
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        if rest[at..].starts_with("}}") {
            out.push('}');
            rest = &rest[at + 2..];
            continue;
        }
        let end = rest[at..].find('}').filter(|_| rest[at..].starts_with('{')).ok_or(TemplateError::Brace)?;
        match &rest[at + 1..at + end] {
            "dag_id" => out.push_str(&instance.key.dag_id),
            "task_id" => out.push_str(&instance.key.task_id),
            "try_number" => out.push_str(&instance.try_number.to_string()),
            "logical_date" => {
                let missing = || TemplateError::NoDate(run.run_id.clone());
                out.push_str(&iso_format(run.logical_date.ok_or_else(missing)?));
            }
            field => return Err(TemplateError::Field(field.to_owned())),
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

impl Fields {
    fn set_time(&mut self, name: &'static str, time: Option<jiff::Timestamp>) {
        let value = time.map(|time| minijinja::Value::from_dyn_object(Arc::new(Moment(time))));
        self.set(name, value.unwrap_or_else(python::none));
    }

    fn set_text(&mut self, name: &'static str, text: Option<&str>) {
        self.set(name, text.map_or_else(python::none, minijinja::Value::from));
    }
}
