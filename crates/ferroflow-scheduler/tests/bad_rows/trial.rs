//! A value is spoilt, a scheduler does its work, and it is looked at what became of the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferroflow_db::testing::{execute, texts};
use ferroflow_scheduler::why::{Answer, Asked, why};
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};
use ferroflow_testkit::{Server, TestDb};

use crate::capture;
use crate::cases::{Case, Wanted, cases, quoted};
use crate::life::{Life, Tasks};
use crate::place::{Place, at};
use crate::world::{HALF_MADE, RUNS_OF_HALF_MADE, SECOND, working};

/// So many cycles come to their end whatever is spoilt, and so many at most.
const FEWEST: usize = 8;
const MOST: usize = 32;

/// How many runs of each DAG are in which state.
type Outcome = BTreeMap<String, BTreeMap<String, usize>>;

/// Tries the cases, several at a time, and answers how many there were. Those that go wrong are told, all of them.
#[expect(clippy::print_stderr, reason = "what was asked about is told")]
pub(crate) fn try_cases(server: Server, wanted: &Wanted) -> usize {
    let began = Stopwatch::start();
    let (template, expected, cases) = alone(async {
        let template = Box::pin(working(server)).await;
        let db = template.connect().await;
        let mut cases = cases(&db, server, wanted).await;
        db.close().await;
        let found = cases.len();
        cases = admitted(&template, cases).await;
        let expected = live(&template, None).await;
        assert!(expected.outcome.values().all(is_over), "without a spoilt value: {expected:?}");
        progress(&format!("{server:?}: {} of {found} values can be spoilt", cases.len()));
        (template, expected, cases)
    });
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    if number > 0 && number.is_multiple_of(100) {
                        progress(&format!(
                            "{server:?}: {number} of {} values, {:.0?}",
                            cases.len(),
                            began.elapsed()
                        ));
                    }
                    let lived = alone(live(&template, Some(case)));
                    let judged = judge(case, &lived, &expected);
                    if let (Wanted::Of(_), Ok(())) = (wanted, &judged) {
                        eprintln!("{case:?}: {:#?}", lived.seen);
                    }
                    wrong.lock().unwrap().extend(judged.err());
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    progress(&format!("{server:?}: {} values tried in {:.0?}", cases.len(), began.elapsed()));
    assert!(wrong.is_empty(), "{} of {} go wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    cases.len()
}

/// Shows how far it is, also while what tests print is kept back: all values of a server take an hour.
fn progress(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Runs on a runtime of this thread, whose clock is its own.
fn alone<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// What became of a case.
#[derive(Debug)]
struct Lived {
    outcome: Outcome,
    /// Cycles and chores that have failed.
    failed: Vec<String>,
    /// What can be seen, in the log and by asking why.
    seen: Vec<String>,
    /// Rows that cycles say could not be read.
    unreadable: usize,
}

/// Lets a scheduler work on a copy in which a value is spoilt.
async fn live(template: &TestDb, case: Option<&Case>) -> Lived {
    let database = template.copy().await;
    if let Some(case) = case {
        let [before, update] = spoiling(&database, case);
        execute(&plain_url(&database), &[format!("{before}{update}")]).await.unwrap();
    }
    let place = Place { db: database.connect().await, database };
    let (lines, guard) = capture::listen();
    let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
    let recorder = metrics::set_default_local_recorder(&prometheus);
    let mut life = Life::begin(&place, "second", Tasks::All, at(SECOND)).await;
    let (mut failed, mut unreadable) = (Vec::new(), 0);
    let mut outcome = Outcome::new();
    for cycle in 0..MOST {
        match life.cycle().await {
            Ok(report) => unreadable += report.unreadable.len(),
            Err(error) => failed.push(format!("cycle {cycle}: {error}")),
        }
        outcome = look(&place).await;
        let is_owner = |dag_id: &String| case.is_some_and(|case| case.owners.contains(&dag_id.as_str()));
        let is_rest_over =
            outcome.iter().filter(|(dag_id, _)| !is_owner(dag_id)).all(|(_, runs)| is_over(runs));
        // Its runs are made beside the cycles.
        let is_made = is_owner(&HALF_MADE.to_owned())
            || outcome.get(HALF_MADE).is_some_and(|runs| runs.values().sum::<usize>() >= RUNS_OF_HALF_MADE);
        if cycle >= FEWEST && is_rest_over && is_made {
            break;
        }
    }
    drop((guard, recorder));
    if prometheus.shown().text().contains("ferroflow_unreadable_rows") != (unreadable > 0) {
        failed.push(format!("{unreadable} rows could not be read, and the metric says otherwise"));
    }
    let mut seen = lines.lock().unwrap().clone();
    failed.extend(seen.iter().filter(|line| line.contains("chore has failed")).cloned());
    let owners = match case {
        Some(case) => case.owners.to_vec(),
        None => outcome.keys().map(String::as_str).collect(),
    };
    seen.extend(reasons(&place, &life, &owners).await);
    life.end().await;
    place.db.close().await;
    Lived { outcome, failed, seen, unreadable }
}

/// The cases whose column admits the value. That there are such rows is seen before.
async fn admitted(template: &TestDb, cases: Vec<Case>) -> Vec<Case> {
    let mut admitted = Vec::new();
    for case in cases {
        let [before, update] = spoiling(template, &case);
        let tried = format!("{before}BEGIN; {update}; ROLLBACK");
        if execute(&plain_url(template), &[tried]).await.is_ok() {
            admitted.push(case);
        }
    }
    admitted
}

/// How the value is written, and what is said before.
fn spoiling(database: &TestDb, case: &Case) -> [String; 2] {
    let server = if database.url().starts_with("mysql") { Server::MariaDb } else { Server::Postgres };
    let Case { table, column, value, row, .. } = case;
    let (table, column) = (quoted(server, table), quoted(server, column));
    let update = format!("UPDATE {table} SET {column} = {value} WHERE {row}");
    // An id may refer to nothing where nobody asks the database to look.
    let before = match plain_url(database) {
        url if url.starts_with("sqlite") => "PRAGMA foreign_keys = OFF; ",
        url if url.starts_with("mysql") => "SET foreign_key_checks = 0; ",
        _ => "",
    };
    [before.to_owned(), update]
}

fn plain_url(database: &TestDb) -> String {
    database.url().replace("+psycopg2", "").replace("+pymysql", "")
}

async fn look(place: &Place) -> Outcome {
    let mut outcome = Outcome::new();
    let question = "SELECT CONCAT(dag_id, '|', COALESCE(state, 'none')) AS answer FROM dag_run";
    for line in texts(&place.db, question).await.unwrap_or_default() {
        let (dag_id, state) = line.split_once('|').unwrap();
        *outcome.entry(dag_id.to_owned()).or_default().entry(state.to_owned()).or_default() += 1;
    }
    outcome
}

fn is_over(runs: &BTreeMap<String, usize>) -> bool {
    runs.keys().all(|state| state == "success")
}

/// What `ferroflow why` says of DAGs.
async fn reasons(place: &Place, life: &Life, owners: &[&str]) -> Vec<String> {
    let db = place.database.connect().await;
    let mut told = Vec::new();
    for dag_id in owners {
        let asked = Asked { dag_id, run_id: None, task_id: None };
        match why(&db, &life.cx.settings, asked, life.now).await {
            Ok(answer) => tell(&answer, &mut told),
            Err(error) => told.push(format!("why: {error}")),
        }
    }
    db.close().await;
    told
}

fn tell(answer: &Answer, told: &mut Vec<String>) {
    for reason in &answer.reasons {
        told.push(format!("why: {} is {}: {}", answer.subject, answer.state, reason.text));
    }
    answer.parts.iter().for_each(|part| tell(part, told));
}

/// Every cycle has come to its end, every other DAG has ended its runs, and it can be seen why those it belongs to have
/// not.
fn judge(case: &Case, lived: &Lived, undisturbed: &Lived) -> Result<(), String> {
    let expected = &undisturbed.outcome;
    let mut wrong = String::new();
    for line in &lived.failed {
        writeln!(wrong, "    failed: {line}").unwrap();
    }
    let successes = |outcome: &Outcome, dag_id: &str| {
        outcome.get(dag_id).and_then(|runs| runs.get("success")).copied().unwrap_or_default()
    };
    let mut owners_stand_back = BTreeSet::new();
    for (dag_id, runs) in expected {
        let there = lived.outcome.get(dag_id);
        let is_same =
            there.is_some_and(is_over) && successes(&lived.outcome, dag_id) >= successes(expected, dag_id);
        if is_same {
            continue;
        }
        if case.owners.contains(&dag_id.as_str()) {
            // One that has failed shows that by itself.
            let has_ended = |state: &String| state == "success" || state == "failed";
            if !there.is_some_and(|runs| runs.keys().all(has_ended)) && !is_out_of_sight(case) {
                owners_stand_back.insert(dag_id);
            }
        } else {
            writeln!(wrong, "    runs of {dag_id} should be {runs:?}, and are {there:?}").unwrap();
        }
    }
    if !owners_stand_back.is_empty() && !lived.seen.iter().any(|line| is_reason(line, case, undisturbed)) {
        let runs: Vec<_> = owners_stand_back.iter().map(|dag_id| lived.outcome.get(*dag_id)).collect();
        writeln!(wrong, "    nobody can see why {owners_stand_back:?} do not get on: {runs:?}").unwrap();
    }
    let logged: Vec<&String> =
        lived.seen.iter().filter(|line| line.contains("a row cannot be read")).collect();
    if logged.len() != lived.unreadable {
        let (logged, counted) = (logged.len(), lived.unreadable);
        writeln!(wrong, "    {logged} rows are logged that cannot be read, and {counted} counted").unwrap();
    }
    if !logged.is_empty() && !logged.iter().any(|line| words(line).any(|word| word == case.column)) {
        writeln!(wrong, "    the log does not name the column of the row that cannot be read").unwrap();
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let seen = lived.seen.iter().take(6).map(|line| line.chars().take(300).collect::<String>());
    let seen = seen.collect::<Vec<_>>().join("\n      ");
    Err(format!(
        "{}.{} = {} ({}) where {}\n{wrong}      {seen}",
        case.table,
        case.column,
        case.what,
        case.value.chars().take(40).collect::<String>(),
        case.row
    ))
}

/// Runs that belong to another DAG now: no question about the first one finds them.
fn is_out_of_sight(case: &Case) -> bool {
    case.table == "dag_run" && case.column == "dag_id"
}

/// Whether a line is about what is spoilt: it names the column or the DAG, and is not there otherwise. What somebody is
/// told who asks why may be the same: another asset is waited for as one was before.
fn is_reason(line: &str, case: &Case, undisturbed: &Lived) -> bool {
    let is_named = words(line).any(|word| word == case.column || case.owners.contains(&word));
    let is_same = |other: &String| without_numbers(other) == without_numbers(line);
    let is_wait = line.starts_with("why: ") && !line.contains("has no further run");
    is_named && (is_wait || !undisturbed.seen.iter().any(is_same))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// A line without what differs from life to life: ids and times.
fn without_numbers(line: &str) -> String {
    line.split(' ').filter(|word| !word.contains(|letter: char| letter.is_ascii_digit())).collect()
}
