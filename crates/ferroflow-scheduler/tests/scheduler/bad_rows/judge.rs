//! Whether what became of a case is as it should be: every cycle has come to its end, every other DAG has ended its
//! runs, and it can be seen why those that the value belongs to have not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ferroflow_db::BadRow;
use ferroflow_model::why::Kind;

use crate::bad_rows::cases::Case;
use crate::bad_rows::trial::{Lived, Outcome, Told};

/// What goes wrong, if anything does.
pub(crate) fn judge(case: &Case, lived: &Lived, undisturbed: &Lived) -> Result<(), String> {
    let mut wrong = String::new();
    for line in &lived.failed {
        writeln!(wrong, "    failed: {line}").unwrap();
    }
    for (dag_id, runs) in &undisturbed.outcome {
        let there = lived.outcome.get(dag_id);
        if !case.owners.contains(&dag_id.as_str())
            && !has_got_on(dag_id, &lived.outcome, &undisturbed.outcome)
        {
            writeln!(wrong, "    runs of {dag_id} should be {runs:?}, and are {there:?}").unwrap();
        }
    }
    for dag_id in stands_back(case, &lived.outcome, &undisturbed.outcome) {
        let runs = lived.outcome.get(dag_id);
        for unseen in unseen(dag_id, case, lived, undisturbed) {
            writeln!(wrong, "    {dag_id} does not get on, its runs are {runs:?}: {unseen}").unwrap();
        }
    }
    for bad in lived.unreadable.iter().filter(|bad| !is_logged(bad, &lived.log)) {
        writeln!(wrong, "    the log does not say: {bad}").unwrap();
    }
    let logged = lived.log.iter().filter(|line| line.contains("a row cannot be read")).count();
    if logged != lived.unreadable.len() {
        let counted = lived.unreadable.len();
        writeln!(wrong, "    {logged} rows are logged that cannot be read, and {counted} counted").unwrap();
    }
    if !lived.unreadable.is_empty() && !lived.unreadable.iter().any(|bad| is_of(bad, case)) {
        writeln!(wrong, "    others than what is spoilt cannot be read: {:?}", lived.unreadable).unwrap();
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let log = lived.log.iter().take(6).map(|line| line.chars().take(300).collect::<String>());
    let told = lived.told.iter().take(12).map(|told| {
        let Told { run_id, subject, kind, text, until, .. } = told;
        format!(
            "why {run_id:?}: {subject}: {kind:?}: {}, {until:?}",
            text.chars().take(300).collect::<String>()
        )
    });
    let seen = log.chain(told).collect::<Vec<_>>().join("\n      ");
    Err(format!(
        "{}.{} = {} ({}) where {}\n{wrong}      {seen}",
        case.table,
        case.column,
        case.what,
        case.value.chars().take(40).collect::<String>(),
        case.row
    ))
}

/// The DAGs that the value belongs to whose runs are not what they are without it.
pub(crate) fn stands_back<'a>(case: &Case, outcome: &Outcome, expected: &'a Outcome) -> Vec<&'a String> {
    let is_owner = |dag_id: &&String| case.owners.contains(&dag_id.as_str());
    // Runs that belong to another DAG now, and dates of a backfill that belong to another one or have a run, as their rows
    // say: no question about the first one finds them.
    let is_out_of_sight = match case.table {
        "dag_run" => case.column == "dag_id",
        "backfill_dag_run" => ["backfill_id", "dag_run_id"].contains(&case.column.as_str()),
        _ => false,
    };
    expected
        .keys()
        .filter(is_owner)
        .filter(|dag_id| !is_out_of_sight && !has_got_on(dag_id, outcome, expected))
        .collect()
}

pub(crate) fn is_over(runs: &BTreeMap<String, usize>) -> bool {
    runs.keys().all(|state| state == "success")
}

fn has_got_on(dag_id: &str, outcome: &Outcome, expected: &Outcome) -> bool {
    let there = outcome.get(dag_id);
    there.is_some_and(is_over)
        && count(outcome, dag_id, Some("success")) >= count(expected, dag_id, Some("success"))
}

/// How many runs a DAG has, of a state or of all.
fn count(outcome: &Outcome, dag_id: &str, state: Option<&str>) -> usize {
    let runs = outcome.get(dag_id).into_iter().flatten();
    runs.filter(|(of, _)| state.is_none_or(|state| *of == state)).map(|(_, runs)| runs).sum()
}

/// What cannot be seen of a DAG that stands back.
fn unseen(dag_id: &str, case: &Case, lived: &Lived, undisturbed: &Lived) -> Vec<String> {
    let told: Vec<&Told> = lived.told.iter().filter(|told| told.dag_id == dag_id).collect();
    if !lived.unreadable.is_empty() {
        let is_told = |told: &&Told| {
            matches!(told.kind, Some(Kind::UnreadableRow | Kind::NoDefinition))
                && names(&told.text, &case.column)
        };
        // Of a run that has failed the log says it.
        let is_missing = !told.iter().any(is_told) && !has_failed(dag_id, lived, undisturbed);
        return is_missing.then(|| "who asks why is not told of the row".to_owned()).into_iter().collect();
    }
    let mut unseen = Vec::new();
    let is_logged = || {
        lived.log.iter().any(|line| {
            (names(line, &case.column) || names(line, dag_id))
                && !undisturbed.log.iter().any(|other| is_alike(other, line))
        })
    };
    let runs: BTreeSet<_> = told.iter().filter_map(|told| told.run_id.clone()).collect();
    for run_id in runs {
        let of_run = || told.iter().filter(|told| told.run_id.as_ref() == Some(&run_id));
        if of_run().any(|told| told.subject.ends_with("is failed")) {
            if !is_logged() && !of_run().any(|told| says_what_failed(told)) {
                unseen.push(format!("nothing says why {run_id} has failed"));
            }
        } else if !of_run().any(|told| is_cause(told)) {
            unseen.push(format!("nothing says why {run_id} has not ended"));
        }
    }
    if count(&lived.outcome, dag_id, None) < count(&undisturbed.outcome, dag_id, None) {
        let is_other = |told: &&&Told| {
            told.run_id.is_none()
                && (!undisturbed.told.contains(told)
                    || told.kind == Some(Kind::Assets) && case.table.contains("asset"))
        };
        if !told.iter().filter(is_other).any(|told| told.kind != Some(Kind::Next)) && !is_logged() {
            unseen.push("nothing says why it has no further run".to_owned());
        }
    }
    unseen
}

/// Whether all runs of a DAG are there and have ended, if some of them badly.
fn has_failed(dag_id: &str, lived: &Lived, undisturbed: &Lived) -> bool {
    let ended =
        |outcome: &Outcome| count(outcome, dag_id, Some("success")) + count(outcome, dag_id, Some("failed"));
    let all = count(&lived.outcome, dag_id, None);
    ended(&lived.outcome) == all
        && (all > count(&lived.outcome, dag_id, Some("success")))
        && all >= count(&undisturbed.outcome, dag_id, None)
}

/// Whether what is told of a run, or of a task instance of it, says what keeps it.
fn is_cause(told: &Told) -> bool {
    match told.kind {
        None => true,
        Some(kind) => !matches!(
            kind,
            Kind::Next | Kind::Running | Kind::RunNotRunning | Kind::Dependencies | Kind::Finished
        ),
    }
}

/// Whether what is told of a failed run names what is not as it should be: a task that has no instance, or one whose number
/// of instances nobody knows.
fn says_what_failed(told: &Told) -> bool {
    ["without a task instance", "how many instances it is to have is not known"]
        .iter()
        .any(|said| told.text.contains(said))
}

/// Whether the log says of a row what it is, which column cannot be read, and what that holds.
fn is_logged(bad: &BadRow, log: &[String]) -> bool {
    let says = [
        format!("operation={} ", bad.operation),
        format!("row={} ", bad.key),
        format!("column={} ", bad.column),
        format!("value={} ", bad.value),
    ];
    log.iter()
        .any(|line| line.contains("a row cannot be read") && says.iter().all(|said| line.contains(said)))
}

/// Whether it is the value of the case that cannot be read.
fn is_of(bad: &BadRow, case: &Case) -> bool {
    bad.column == case.column
}

fn names(line: &str, name: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

/// Whether lines say the same but for ids and times.
fn is_alike(one: &str, other: &str) -> bool {
    let without_numbers = |line: &str| -> String {
        line.split(' ').filter(|word| !word.contains(|letter: char| letter.is_ascii_digit())).collect()
    };
    without_numbers(one) == without_numbers(other)
}
