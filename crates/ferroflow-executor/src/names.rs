//! The executors that `[core] executor` names.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_model::admission::ExecutorName;

use crate::registry::KINDS;

/// `[core] executor` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadExecutors {
    /// One is neither known nor a path.
    #[error(
        "[core] executor: {0:?} is neither LocalExecutor, CeleryExecutor or KubernetesExecutor nor the path of a class, \
         with or without an alias before a colon"
    )]
    Unknown(String),
    /// One is there twice.
    #[error("[core] executor: {0} is named twice")]
    Twice(String),
    /// A team has two lists.
    #[error("[core] executor: there are two lists for {}", team.as_ref().map_or("all teams".to_owned(), |team| format!("team {team}")))]
    TwoLists {
        /// Which team.
        team: Option<String>,
    },
    /// There is none for all teams, or it is not the first.
    #[error("[core] executor: the executors for all teams must be there, and come first")]
    NoneForAll,
    /// One is not served here.
    #[error("[core] executor: {0} is not available here; LocalExecutor is")]
    NotAvailable(String),
}

/// The executors of `[core] executor`, the first of which is the default. Those of teams are passed over unless teams are
/// in use.
pub fn executor_names(text: &str, multi_team: bool) -> Result<Vec<ExecutorName>, BadExecutors> {
    let mut names: Vec<ExecutorName> = Vec::new();
    let mut teams = BTreeSet::new();
    for list in text.split(';') {
        let (team, list) = match list.split_once('=') {
            None => (None, list),
            Some(("", list)) => (None, list.trim_matches('=')),
            Some((team, list)) if multi_team => (Some(team.to_owned()), list),
            Some(_) => {
                tracing::warn!(
                    list,
                    "[core] executor: teams are not in use ([core] multi_team); this is ignored"
                );
                continue;
            }
        };
        if team.is_none() && !names.is_empty() && !teams.contains(&None) {
            return Err(BadExecutors::NoneForAll);
        }
        if !teams.insert(team.clone()) {
            return Err(BadExecutors::TwoLists { team });
        }
        let mut paths = BTreeSet::new();
        for word in list.split(',').map(str::trim) {
            let name = executor_name(word, team.clone())?;
            if !paths.insert(name.module_path.clone()) {
                return Err(BadExecutors::Twice(name.module_path.to_string()));
            }
            names.push(name);
        }
    }
    if teams.contains(&None) { Ok(names) } else { Err(BadExecutors::NoneForAll) }
}

fn executor_name(word: &str, team: Option<String>) -> Result<ExecutorName, BadExecutors> {
    let unknown = || BadExecutors::Unknown(word.to_owned());
    let (alias, class) = match word.split_once(':') {
        None => (None, word),
        Some((alias, class)) => (Some(alias), class),
    };
    let team = team.map(Arc::from);
    if let Some(kind) = KINDS.iter().find(|kind| kind.class == class) {
        let alias = Some(alias.unwrap_or(kind.class).into());
        return Ok(ExecutorName { alias, module_path: kind.module_path.into(), team });
    }
    if !class.contains('.') || class.contains(':') {
        return Err(unknown());
    }
    Ok(ExecutorName { alias: alias.map(Into::into), module_path: class.into(), team })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn in_words(text: &str, multi_team: bool) -> String {
        let name = |name: &ExecutorName| {
            let alias = name.alias.as_deref().unwrap_or("-");
            format!("{alias} {} {}", name.module_path, name.team.as_deref().unwrap_or("-"))
        };
        match executor_names(text, multi_team) {
            Ok(names) => names.iter().map(name).collect::<Vec<_>>().join("; "),
            Err(error) => error.to_string(),
        }
    }

    #[test_case("LocalExecutor", "LocalExecutor airflow.executors.local_executor.LocalExecutor -")]
    #[test_case(
        "quick:LocalExecutor, site.Slow",
        "quick airflow.executors.local_executor.LocalExecutor -; - site.Slow -"
    )]
    #[test_case("quick:site.Quick", "quick site.Quick -")]
    #[test_case("=site.Quick", "- site.Quick -"; "an empty team is none")]
    #[test_case("site.Quick;red=site.Slow", "- site.Quick -"; "teams are not in use")]
    fn lists_without_teams(text: &str, expected: &str) {
        assert_eq!(in_words(text, false), expected);
    }

    #[test]
    fn lists_with_teams() {
        assert_eq!(
            in_words("site.Quick;red=site.Slow,slow:site.Quick", true),
            "- site.Quick -; - site.Slow red; slow site.Quick red"
        );
    }

    #[test_case("", "neither"; "nothing")]
    #[test_case("SequentialExecutor", "neither")]
    #[test_case("a:", "neither")]
    #[test_case("a:b:c.D", "neither")]
    #[test_case("LocalExecutor,x:LocalExecutor", "twice")]
    #[test_case("site.A;site.B", "two lists for all teams")]
    #[test_case("site.A;red=site.B;red=site.C", "two lists for team red")]
    #[test_case("red=site.B", "come first"; "none for all")]
    #[test_case("red=site.B;site.A", "come first"; "a team first")]
    fn lists_that_cannot_be_used(text: &str, expected: &str) {
        let said = in_words(text, true);
        assert!(said.contains(expected), "{said}");
    }
}
