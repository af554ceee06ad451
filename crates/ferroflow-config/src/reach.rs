//! Which of the configured options ferroflow does not obey, and what to do about each.
//!
//! What tasks and DAG files read is not here: their Python is Airflow's own, and obeys what Airflow obeys.

use crate::configuration::Configuration;
use crate::facts::{FACTS, Name};
use crate::suggest::nearest;

/// An option that is configured and that ferroflow does not obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unheeded {
    /// Where it is configured.
    pub place: String,
    /// The option, as `[section] key`.
    pub option: String,
    /// Why it has no effect.
    pub kind: UnheededKind,
}

/// Why a configured option has no effect on ferroflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnheededKind {
    /// It is for a component that ferroflow does not have: the official one obeys it.
    OtherComponent,
    /// The official component obeys it, ours works without it.
    Needless {
        /// What is so instead.
        instead: &'static str,
    },
    /// Something that it asks for is not done.
    NotDone {
        /// What is so instead.
        instead: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// Neither Airflow 3.3.2 nor ferroflow has an option of this name.
    Unknown {
        /// Near names.
        near: Vec<String>,
    },
}

impl Configuration {
    /// All options of the file and the environment that ferroflow does not obey, in the order of their places.
    pub fn unheeded(&self) -> Vec<Unheeded> {
        let known = known_names().filter_map(|name| self.known_unheeded(&name));
        let mut found: Vec<Unheeded> = known.collect();
        found.extend(self.unknown_in_file());
        found.extend(self.unknown_variables());
        found
    }

    fn known_unheeded(&self, name: &Name) -> Option<Unheeded> {
        let place = self.configured_place(name)?;
        if self.get(&name.section, &name.key).ok().flatten().map(|value| value.text)
            == self.default_value(&name.section, &name.key)
        {
            return None;
        }
        let kind = match kind_of(name) {
            Some(UnheededKind::NotDone { .. }) if self.says_no(name) => return None,
            kind => kind?,
        };
        Some(Unheeded { place, option: format!("[{}] {}", name.section, name.key), kind })
    }

    /// An empty value and a flag that is off ask for nothing.
    fn says_no(&self, name: &Name) -> bool {
        let value = self.get(&name.section, &name.key).ok().flatten();
        value.is_none_or(|value| value.text.is_empty() || value.text.eq_ignore_ascii_case("false"))
    }

    fn configured_place(&self, name: &Name) -> Option<String> {
        let suffixes: &[&str] =
            if FACTS.is_sensitive(&name.section, &name.key) { &["", "_cmd", "_secret"] } else { &[""] };
        suffixes.iter().find_map(|suffix| {
            let variable = format!("{}{}", name.variable(), suffix.to_uppercase());
            if self.environment.is_set(&variable) {
                return Some(variable);
            }
            self.entry(&name.section, &format!("{}{suffix}", name.key)).map(|(_, place)| place.to_string())
        })
    }

    fn unknown_in_file(&self) -> Vec<Unheeded> {
        let mut found = Vec::new();
        for section in self.file.sections() {
            for key in self.file.options(section) {
                if is_known(section, key) || is_of_a_provider(section) {
                    continue;
                }
                let place = self.entry(section, key).map(|(_, place)| place.to_string()).unwrap_or_default();
                found.push(unknown(place, section, key));
            }
        }
        found
    }

    fn unknown_variables(&self) -> Vec<Unheeded> {
        let variable = |name: &std::ffi::OsStr| name.to_str()?.strip_prefix("AIRFLOW__").map(str::to_owned);
        let mut names: Vec<String> = self.environment.vars().filter_map(|(name, _)| variable(name)).collect();
        names.sort_unstable();
        let mut found = Vec::new();
        for name in names {
            let Some((section, key)) = name.split_once("__") else { continue };
            let (section, key) = (section.to_lowercase(), key.to_lowercase());
            let sections = FACTS.sections.keys().filter(|known| known.replace('.', "_") == section);
            let is_known = sections.chain([&section]).any(|section| is_known(section, &key));
            if !is_known && !is_of_a_provider(&section) {
                found.push(unknown(format!("AIRFLOW__{name}"), &section, &key));
            }
        }
        found
    }
}

/// Every option that Airflow or ferroflow has.
fn known_names() -> impl Iterator<Item = Name> {
    FACTS.sections.iter().flat_map(|(section, keys)| keys.keys().map(|key| Name::new(section, key)))
}

/// Also under a former name, or as what gives its value.
fn is_known(section: &str, key: &str) -> bool {
    let has = |key: &str| {
        FACTS.option(section, key).is_some()
            || FACTS.renamed_from(section, key).is_some()
            || UNLISTED.contains(&(section, key))
    };
    let stems = ["_cmd", "_secret"].iter().filter_map(|suffix| key.strip_suffix(suffix));
    has(key) || stems.into_iter().any(|stem| has(stem) && FACTS.is_sensitive(section, stem))
}

/// Options that Airflow reads and does not list.
const UNLISTED: [(&str, &str); 1] = [("scheduler", "num_stuck_in_queued_retries")];

/// Of a provider that ferroflow has not heard of, which its own code reads.
fn is_of_a_provider(section: &str) -> bool {
    !FACTS.sections.keys().any(|known| known == section || known.replace('.', "_") == section)
}

fn unknown(place: String, section: &str, key: &str) -> Unheeded {
    let names: Vec<&str> = FACTS
        .sections
        .get(section)
        .map_or_else(Vec::new, |options| options.keys().map(String::as_str).collect());
    let near = nearest(key, names).map(str::to_owned).collect();
    Unheeded { place, option: format!("[{section}] {key}"), kind: UnheededKind::Unknown { near } }
}

/// What becomes of an option here; nothing if it is obeyed, or is read by the Python of tasks and DAG files.
fn kind_of(name: &Name) -> Option<UnheededKind> {
    let (section, key) = (name.section.as_str(), name.key.as_str());
    if let Some((_, _, instead, advice)) = NOT_DONE.iter().find(|entry| (entry.0, entry.1) == (section, key))
    {
        return Some(UnheededKind::NotDone { instead, advice });
    }
    if let Some((_, _, instead)) = NEEDLESS.iter().find(|entry| (entry.0, entry.1) == (section, key)) {
        return Some(UnheededKind::Needless { instead });
    }
    let is_other = OTHER_COMPONENTS.contains(&section) && !OBEYED_ELSEWHERE.contains(&(section, key));
    is_other.then_some(UnheededKind::OtherComponent)
}

/// Sections of the API server, the triggerer, and of workers that ferroflow's executors do not start.
const OTHER_COMPONENTS: [&str; 7] = [
    "api",
    "api_auth",
    "execution_api",
    "triggerer",
    "celery",
    "celery_broker_transport_options",
    "kubernetes_executor",
];

/// Options of those sections that ferroflow does obey.
const OBEYED_ELSEWHERE: [(&str, &str); 4] = [
    ("api", "secret_key"),
    ("api", "host"),
    ("triggerer", "job_heartbeat_sec"),
    ("triggerer", "triggerer_health_check_threshold"),
];

const NO_TRACES: &str = "ferroflow's components send no traces; what tasks send they send themselves";
const PYTHON_DATABASE: &str = "ferroflow connects without SQLAlchemy";
const OWN_LOG: &str = "ferroflow's components have a form of their own for what they log";

/// Section, option, what is so instead, what to do.
const NOT_DONE: &[(&str, &str, &str, &str)] = &[
    (
        "logging",
        "remote_logging",
        "logs of tasks stay in [logging] base_log_folder on the host of the scheduler",
        "have that folder on storage that others see, or collect it by a log shipper; the API server reads logs of \
         running and of ended tasks from the scheduler's log server",
    ),
    (
        "core",
        "asset_manager_class",
        "changes of assets are registered as Airflow's own manager does",
        "keep the official scheduler if the class does more than that",
    ),
    (
        "core",
        "default_impersonation",
        "running tasks as another user is not tested here",
        "try one task with `ferroflow tasks test` before the swap, or keep the official scheduler",
    ),
    (
        "core",
        "security",
        "ferroflow renews no Kerberos tickets",
        "keep `airflow kerberos` running beside it, which writes the ticket cache that tasks use",
    ),
    (
        "sentry",
        "sentry_on",
        "errors of ferroflow's own components are not sent to Sentry; those of tasks are",
        "watch the components' logs",
    ),
    ("traces", "otel_on", NO_TRACES, "keep the official scheduler where traces of runs are needed"),
    (
        "metrics",
        "stat_name_handler",
        "names of metrics are not given to Python",
        "rename them where they are collected",
    ),
    (
        "metrics",
        "statsd_custom_client_path",
        "metrics are sent by ferroflow's own statsd client",
        "point statsd_host and statsd_port at what the class talks to",
    ),
    (
        "database",
        "sql_alchemy_connect_args",
        PYTHON_DATABASE,
        "give what matters in the URL of [database] sql_alchemy_conn (docs/databases.md)",
    ),
    (
        "database",
        "sql_alchemy_engine_args",
        PYTHON_DATABASE,
        "give what matters in the URL of [database] sql_alchemy_conn (docs/databases.md)",
    ),
    (
        "database",
        "sql_alchemy_session_maker",
        PYTHON_DATABASE,
        "give what matters in the URL of [database] sql_alchemy_conn (docs/databases.md)",
    ),
    (
        "logging",
        "logging_config_class",
        "ferroflow's components log as [logging] logging_level and json_logs say; tasks and DAG files obey the class",
        "set logging_level and json_logs for what the components log",
    ),
];

/// Section, option, what is so instead.
const NEEDLESS: &[(&str, &str, &str)] = &[
    ("core", "mp_start_method", "ferroflow starts processes by a fork server of its own"),
    ("core", "mp_forkserver_preload", "ferroflow starts processes by a fork server of its own"),
    ("core", "killed_task_cleanup_time", "a task that is not wanted any more has 5 seconds to end"),
    ("core", "execute_tasks_new_python_interpreter", "each task is a process of its own"),
    ("core", "execution_api_server_url", "tasks ask their supervisor, which asks the database"),
    ("core", "team_name_cache_ttl", "teams are read with the rows that have them"),
    ("database", "sql_alchemy_conn_async", "ferroflow has one pool of connections"),
    ("database", "sql_alchemy_connect_args_async", "ferroflow has one pool of connections"),
    ("database", "sql_engine_encoding", "ferroflow speaks UTF-8 with every database"),
    ("database", "check_migrations", "the revision is always checked"),
    ("database", "migration_batch_size", "ferroflow migrates nothing"),
    ("dag_processor", "parsing_pre_import_modules", "the fork server has Airflow imported already"),
    ("scheduler", "enable_tracemalloc", "there is no Python in the scheduler to be traced"),
    ("scheduler", "task_instance_heartbeat_sec", "heartbeats of all tasks are written together"),
    ("workers", "execution_api_retries", "tasks do not talk HTTP with their supervisor"),
    ("workers", "execution_api_retry_wait_min", "tasks do not talk HTTP with their supervisor"),
    ("workers", "execution_api_retry_wait_max", "tasks do not talk HTTP with their supervisor"),
    ("workers", "execution_api_timeout", "tasks do not talk HTTP with their supervisor"),
    (
        "workers",
        "max_failed_heartbeats",
        "a task is given up after [scheduler] task_instance_heartbeat_timeout",
    ),
    ("workers", "socket_cleanup_timeout", "what a task leaves running is ended with it"),
    ("logging", "log_format", OWN_LOG),
    ("logging", "simple_log_format", OWN_LOG),
    ("logging", "colored_console_log", OWN_LOG),
    ("logging", "callsite_parameters", OWN_LOG),
    ("logging", "dag_processor_log_format", OWN_LOG),
    ("metrics", "otel_debugging_on", "ferroflow's log at level DEBUG tells what is sent"),
    ("traces", "otel_debugging_on", NO_TRACES),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A change that teaches ferroflow to obey an option takes it out of the tables.
    #[test]
    fn what_is_said_to_have_no_effect_is_not_read_by_other_crates() {
        /// Read, to be warned of.
        const WARNED_OF: [&str; 4] =
            ["remote_logging", "otel_on", "stat_name_handler", "statsd_custom_client_path"];
        let mut sources = String::new();
        for folder in fs_err::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
            let folder = folder.unwrap();
            if folder.file_name() != "ferroflow-config" {
                add_sources(&folder.path().join("src"), &mut sources);
            }
        }
        assert!(sources.contains("settings.core.parallelism"), "the sources were found");
        let names = NOT_DONE.iter().map(|entry| (entry.0, entry.1));
        let read: Vec<(&str, &str)> = names
            .chain(NEEDLESS.iter().map(|entry| (entry.0, entry.1)))
            .filter(|(section, key)| {
                !WARNED_OF.contains(key) && sources.contains(&format!("{section}.{key}"))
            })
            .collect();
        assert_eq!(read, []);
    }

    fn add_sources(folder: &Path, sources: &mut String) {
        for entry in fs_err::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add_sources(&path, sources);
            } else {
                sources.push_str(&fs_err::read_to_string(&path).unwrap_or_default());
            }
        }
    }

    #[test]
    fn tables_name_options_that_there_are_and_each_once() {
        let not_done = NOT_DONE.iter().map(|entry| (entry.0, entry.1));
        let mut names: Vec<(&str, &str)> =
            not_done.chain(NEEDLESS.iter().map(|entry| (entry.0, entry.1))).collect();
        let unknown: Vec<_> =
            names.iter().filter(|(section, key)| FACTS.option(section, key).is_none()).collect();
        assert_eq!(unknown, Vec::<&(&str, &str)>::new());
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "an option is there twice");
    }
}
