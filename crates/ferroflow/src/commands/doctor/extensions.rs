//! Plugins and other extension points in use, and how each is served.

use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_python::survey::{self, Extensions, Implementation, Plugin};
use ferroflow_telemetry::chain;

use super::finding::{Finding, Topic, last_line};
use crate::session::Session;

const NAME: &str = "Plugins and extension points";

/// How long Airflow may take to load all plugins.
const LIMIT: Duration = Duration::from_mins(2);

const LOCAL_BUNDLE: &str = "airflow.dag_processing.bundles.local.LocalDagBundle";
const USUAL_XCOM: &str = "airflow.sdk.execution_time.xcom.BaseXCom";

/// What Airflow finds, or why it could not be asked.
pub(super) async fn ask(session: &Session) -> Result<Extensions, String> {
    let python = session.start_python().await.map_err(|error| shortened(&chain(&error)))?;
    survey::extensions(python, LIMIT).await.map_err(|error| shortened(&error.to_string()))
}

/// Of a message with a traceback in it, the beginning and the end.
fn shortened(error: &str) -> String {
    match error.trim_end().lines().next() {
        Some(first) if first != last_line(error) => format!("{first} … {}", last_line(error)),
        _ => error.to_owned(),
    }
}

/// What is said of it. Without a Python nothing could be asked.
pub(super) fn examine(settings: &Settings, asked: Option<&Result<Extensions, String>>) -> Topic {
    let mut findings = bundles(settings);
    match asked {
        None => findings.push(Finding::note("plugins were not looked at: there is no Python to load them")),
        Some(Err(error)) => findings.push(
            Finding::problem(format!("Airflow could not be asked for its plugins: {error}")).advise(
                "the same Python will run DAG files and tasks: see that `airflow plugins` works with it",
            ),
        ),
        Some(Ok(found)) => findings.extend(of_extensions(found)),
    }
    if findings.is_empty() {
        findings.push(Finding::ok("none is in use"));
    }
    Topic::new(NAME, findings)
}

fn of_extensions(found: &Extensions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, error) in &found.plugin_errors {
        findings.push(
            Finding::warning(format!("a plugin cannot be loaded: {}", last_line(error)))
                .at(place)
                .advise("official components cannot load it either: mend it, or take it away"),
        );
    }
    findings.extend(found.plugins.iter().flat_map(of_plugin));
    findings.extend(listeners(&found.listeners));
    findings.extend(found.policies.iter().map(policy));
    for class in &found.secrets_backends {
        findings.push(Finding::ok(format!(
            "secrets backend {class}: asked in a Python process, before the database"
        )));
    }
    if let Some(error) = &found.secrets_error {
        findings.push(
            Finding::problem(format!("[secrets] backend cannot be loaded: {error}"))
                .advise("connections and variables of tasks come from it: mend [secrets] backend"),
        );
    }
    if found.xcom_backend != USUAL_XCOM && !found.xcom_backend.ends_with(".BaseXCom") {
        findings.push(Finding::ok(format!("XCom backend {}: tasks use it themselves", found.xcom_backend)));
    }
    findings
}

fn bundles(settings: &Settings) -> Vec<Finding> {
    let list = settings.dag_processor.dag_bundle_config_list.as_ref().and_then(|list| list.as_array());
    let text = |bundle: &serde_json::Value, key: &str| bundle[key].as_str().unwrap_or_default().to_owned();
    let named = list.into_iter().flatten().map(|bundle| (text(bundle, "name"), text(bundle, "classpath")));
    named
        .filter(|(_, class)| class != LOCAL_BUNDLE)
        .map(|(name, class)| {
            Finding::ok(format!(
                "bundle {name} ({class}): asked in a Python process, for [ferroflow] bundle_timeout at most"
            ))
        })
        .collect()
}

fn of_plugin(plugin: &Plugin) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (kind, names) in &plugin.brings {
        for name in names {
            findings.push(brought(kind, name));
        }
    }
    if plugin.pages > 0 {
        let text = format!("plugin {}: its pages and endpoints are the official API server's", plugin.name);
        findings.push(Finding::ok(text));
    }
    findings.into_iter().map(|found| with_source(found, plugin)).collect()
}

fn with_source(found: Finding, plugin: &Plugin) -> Finding {
    match &plugin.source {
        Some(source) => found.at(source),
        None => found,
    }
}

fn brought(kind: &str, name: &str) -> Finding {
    match kind {
        "timetables" => Finding::ok(format!(
            "timetable {name}: asked in a Python process, for [ferroflow] timetable_timeout at most"
        )),
        "priority_weight_strategies" => Finding::ok(format!(
            "weight rule {name}: asked in a Python process, for [ferroflow] user_code_timeout at most"
        )),
        "partition_mappers" | "windows" => Finding::ok(format!(
            "partition mapper or window {name}: asked in a Python process, for [ferroflow] timetable_timeout at most"
        )),
        "deadline_references" => Finding::ok(format!(
            "deadline reference {name}: asked in a Python process, for [ferroflow] timetable_timeout at most"
        )),
        "macros" => Finding::ok(format!("macro {name}: tasks use it themselves")),
        _ => Finding::ok(format!("link {name}: the official API server shows it")),
    }
}

/// One finding for each module that listens.
fn listeners(implementations: &[Implementation]) -> Vec<Finding> {
    let mut places: Vec<&str> = implementations.iter().map(|one| one.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let finding = |place: &str| {
        let hooks = implementations.iter().filter(|one| one.place == place).map(|one| one.hook.as_str());
        let hooks: Vec<&str> = hooks.collect();
        Finding::ok(format!(
            "listener {place} ({}): told after the commit, in a Python process; what it changes in objects is not stored",
            hooks.join(", ")
        ))
    };
    places.into_iter().map(finding).collect()
}

fn policy(Implementation { hook, place }: &Implementation) -> Finding {
    match hook.as_str() {
        "task_policy" | "dag_policy" => {
            Finding::ok(format!("{hook} ({place}): applied when DAG files are parsed"))
        }
        "task_instance_mutation_hook" => Finding::ok(format!(
            "{hook} ({place}): asked in a Python process when task instances are made, for [ferroflow] \
             user_code_timeout at most"
        )),
        "get_airflow_context_vars" => Finding::ok(format!("{hook} ({place}): tasks ask it themselves")),
        "get_dagbag_import_timeout" => {
            Finding::ok(format!("{hook} ({place}): asked where DAG files are imported"))
        }
        "pod_mutation_hook" => Finding::note(format!("{hook} ({place}) is for the KubernetesExecutor alone")),
        _ => Finding::note(format!("{hook} ({place}) is not known here, and not asked")),
    }
}
