//! The configuration: what is wrong, and what has no effect.

use ferroflow_config::{Configuration, Settings, Unheeded, UnheededKind, Warning};
use ferroflow_dagproc::store::leaves_permissions_out;

use super::finding::{Finding, Topic};

const NAME: &str = "Configuration";

/// A configuration with which nothing starts: a line for everything that is wrong.
pub(super) fn refused(error: Option<anyhow::Error>) -> Topic {
    let text = error.map(|error| format!("{error:#}")).unwrap_or_default();
    let mut findings: Vec<Finding> = text.lines().map(Finding::problem).collect();
    findings.push(Finding::note("nothing else was looked at: ferroflow does not start with a wrong setting"));
    Topic::new(NAME, findings)
}

/// A configuration that is right.
pub(super) fn examine(configuration: &Configuration, settings: &Settings) -> Topic {
    let path = configuration.path();
    let found = if path.exists() {
        format!("{} is read, and every value is understood", path.display())
    } else {
        format!("there is no {}: defaults and environment variables are in effect", path.display())
    };
    let mut findings = vec![Finding::ok(found)];
    findings.extend(configuration.warnings().iter().map(warned));
    let unheeded = configuration.unheeded();
    findings.extend(unheeded.iter().filter_map(told));
    findings.extend(of_other_components(&unheeded));
    if leaves_permissions_out(&settings.core.auth_manager) {
        let text = "FabAuthManager: ferroflow's DAG processor does not write the permissions of single DAGs";
        findings.push(Finding::warning(text).advise(
            "run `airflow sync-perm --include-dags` when DAGs are added or their access_control changes",
        ));
    }
    Topic::new(NAME, findings)
}

fn warned(warning: &Warning) -> Finding {
    Finding::note(warning.to_string())
}

fn told(unheeded: &Unheeded) -> Option<Finding> {
    let Unheeded { place, option, kind } = unheeded;
    let finding = match kind {
        UnheededKind::OtherComponent => return None,
        UnheededKind::Needless { instead } => {
            Finding::note(format!("{option} has no effect here: {instead}"))
        }
        UnheededKind::NotDone { instead, advice } => {
            Finding::warning(format!("{option} is not obeyed: {instead}")).advise(*advice)
        }
        UnheededKind::Unknown { near } => {
            let finding = Finding::note(format!("{option} is no option of Airflow 3.3.2, nor of ferroflow"));
            match near.first() {
                None => finding,
                Some(near) => finding.advise(format!("did you mean {near}?")),
            }
        }
    };
    Some(finding.at(place))
}

/// One line for all: most sites have many of them, and nothing is to be done.
fn of_other_components(unheeded: &[Unheeded]) -> Option<Finding> {
    let others: Vec<&str> = unheeded
        .iter()
        .filter(|option| option.kind == UnheededKind::OtherComponent)
        .map(|option| option.option.as_str())
        .collect();
    (!others.is_empty()).then(|| {
        Finding::ok(format!(
            "{} for components that stay official, which obey them: {}",
            if others.len() == 1 {
                "1 setting is".to_owned()
            } else {
                format!("{} settings are", others.len())
            },
            others.join(", ")
        ))
    })
}
