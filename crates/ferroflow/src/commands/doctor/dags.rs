//! DAGs in the database: whether they can be read, and what they ask for.

use anyhow::Result;
use ferroflow_config::Settings;
use ferroflow_executor::{executor_names, is_available};
use ferroflow_model::dag::Demand;
use ferroflow_operations::Operations;
use ferroflow_operations::dag::{self, Demands};

use super::finding::{Finding, Topic};

/// How many DAGs a finding names.
const NAMED: usize = 5;

pub(super) async fn examine(operations: &Operations) -> Result<Topic> {
    let found = dag::demands(operations).await?;
    Ok(Topic::new("DAGs", findings(&found, &operations.settings)))
}

fn findings(seen: &Demands, settings: &Settings) -> Vec<Finding> {
    let count = |count: usize| if count == 1 { "1 DAG".to_owned() } else { format!("{count} DAGs") };
    let mut findings = Vec::new();
    let readable = seen.dags - seen.unreadable.len();
    findings.push(match seen.dags {
        0 => Finding::note("the database has none: a DAG processor adds those of the DAG files"),
        _ => Finding::ok(format!("the serialized forms of {} were read", count(readable))),
    });
    for (dag_id, problems) in &seen.unreadable {
        findings.push(
            Finding::problem(format!("DAG {dag_id} cannot be read: {}", problems.replace('\n', "; ")))
                .advise("`ferroflow dags reserialize` makes its serialized form anew from its file"),
        );
    }
    for (pool, dags) in &seen.missing_pools {
        let text = format!("there is no pool {pool:?}: tasks of {} wait until there is", by(dags));
        let advice = format!("`ferroflow pools set {pool} SLOTS DESCRIPTION` makes it");
        findings.push(Finding::warning(text).advise(&advice));
    }
    for (demand, dags) in &seen.demands {
        findings.push(judge(demand, &by(dags), settings));
    }
    findings
}

fn by(dags: &[String]) -> String {
    let named = dags.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = dags.len().saturating_sub(NAMED);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

fn judge(demand: &Demand, by: &str, settings: &Settings) -> Finding {
    match demand {
        Demand::Timetable(class) => Finding::ok(format!("timetable {class} of {by} is asked in Python")),
        Demand::WeightRule(class) => Finding::ok(format!("weight rule {class} of {by} is asked in Python")),
        Demand::PartitionMapper(class) => {
            Finding::ok(format!("partition mapper {class} of {by} is asked in Python"))
        }
        Demand::PartitionWindow(class) => {
            Finding::ok(format!("window {class} of partitions of {by} is asked in Python"))
        }
        Demand::DeadlineReference(class) => {
            Finding::ok(format!("deadline reference {class} of {by} is asked in Python"))
        }
        Demand::ExecutorCallback(path) => {
            Finding::ok(format!("callback {path} of a deadline of {by} is run by the LocalExecutor"))
        }
        Demand::Executor(name) => match class_of(name, settings) {
            Some(class) => {
                Finding::ok(format!("tasks of {by} name the executor {name}, which is the {class}"))
            }
            None => Finding::problem(format!("tasks of {by} name the executor {name}: they would fail"))
                .advise("drop the argument executor of these tasks, or keep the official scheduler for them"),
        },
        Demand::User(user) => Finding::warning(format!(
            "tasks of {by} run as the user {user} (run_as_user), which is not tested here"
        ))
        .advise("try one with `ferroflow tasks test` before the swap"),
    }
}

/// The class of the executor that a name means, if there is one here.
fn class_of(name: &str, settings: &Settings) -> Option<String> {
    let names = executor_names(&settings.core.executor, settings.core.multi_team).unwrap_or_default();
    let meant = names.iter().find(|known| is_available(known) && known.is_called(name))?;
    Some(meant.class().to_owned())
}
