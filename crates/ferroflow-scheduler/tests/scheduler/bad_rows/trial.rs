//! A value is spoilt, a scheduler does its work, and it is looked at what became of the runs.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferroflow_db::BadRow;
use ferroflow_db::testing::{execute, texts};
use ferroflow_model::why::{Kind, Reason};
use ferroflow_scheduler::why::{Answer, Asked, NoAnswer, why};
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};
use ferroflow_testkit::{Server, TestDb};
use jiff::Timestamp;

use crate::bad_rows::capture;
use crate::bad_rows::cases::{Case, Wanted, cases, quoted};
use crate::bad_rows::judge::{is_over, judge, stands_back};
use crate::bad_rows::life::{Life, Tasks};
use crate::bad_rows::place::{Place, at};
use crate::bad_rows::world::{HALF_MADE, RUNS_OF_HALF_MADE, SECOND, working};

/// So many cycles come to their end whatever is spoilt, and so many at most. All that is overdue is dealt with in the
/// first of them, and every chore has its turn in each.
const FEWEST: usize = 6;
const MOST: usize = 32;

/// What nothing has become of for so many cycles stays so.
const STILL: usize = 4;

/// How many runs of a DAG it is asked about one by one.
const MAX_RUNS: usize = 3;

/// How many runs of each DAG are in which state.
pub(crate) type Outcome = BTreeMap<String, BTreeMap<String, usize>>;

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
        let expected = live(&template, None, None).await;
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
                    let lived = alone(live(&template, Some(case), Some(&expected.outcome)));
                    let judged = judge(case, &lived, &expected);
                    if let (Wanted::Of(_), Ok(())) = (wanted, &judged) {
                        eprintln!("{case:?}: {lived:#?}");
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
pub(crate) struct Lived {
    pub(crate) outcome: Outcome,
    /// Cycles and chores that have failed.
    pub(crate) failed: Vec<String>,
    /// What the log says.
    pub(crate) log: Vec<String>,
    /// What somebody is told who asks why.
    pub(crate) told: Vec<Told>,
    /// Rows that cycles say could not be read.
    pub(crate) unreadable: Vec<BadRow>,
}

/// Something that somebody is told who asks why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) dag_id: String,
    /// The run that was asked about.
    pub(crate) run_id: Option<String>,
    /// Which thing it is about, and where that stands.
    pub(crate) subject: String,
    /// Nothing where there is no answer.
    pub(crate) kind: Option<Kind>,
    pub(crate) text: String,
    pub(crate) until: Option<Timestamp>,
}

/// Lets a scheduler work on a copy in which a value is spoilt. Of DAGs that do not get on as is expected it is asked why.
async fn live(template: &TestDb, case: Option<&Case>, expected: Option<&Outcome>) -> Lived {
    let database = template.copy().await;
    if let Some(case) = case.filter(|case| !case.is_of_the_living()) {
        spoil(&database, case).await;
    }
    let place = Place { db: database.connect().await, database };
    let (lines, guard) = capture::listen();
    let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
    let recorder = metrics::set_default_local_recorder(&prometheus);
    let mut life = Life::begin(&place, "second", Tasks::All, at(SECOND)).await;
    if let Some(case) = case.filter(|case| case.is_of_the_living()) {
        spoil(&place.database, case).await;
    }
    let (mut failed, mut unreadable) = (Vec::new(), Vec::new());
    let (mut outcome, mut still) = (Outcome::new(), 0);
    for cycle in 0..MOST {
        match life.cycle().await {
            Ok(report) => unreadable.extend(report.unreadable),
            Err(error) => failed.push(format!("cycle {cycle}: {error}")),
        }
        let before = std::mem::replace(&mut outcome, look(&place).await);
        still = if before == outcome { still + 1 } else { 0 };
        let is_owner = |dag_id: &String| case.is_some_and(|case| case.owners.contains(&dag_id.as_str()));
        let is_still = |dag_id: &String| is_owner(dag_id) && still >= STILL;
        let is_rest_over = outcome.iter().all(|(dag_id, runs)| is_still(dag_id) || is_over(runs));
        // Its runs are made beside the cycles.
        let is_made = is_still(&HALF_MADE.to_owned())
            || outcome.get(HALF_MADE).is_some_and(|runs| runs.values().sum::<usize>() >= RUNS_OF_HALF_MADE);
        if cycle >= FEWEST && is_rest_over && is_made {
            break;
        }
    }
    drop((guard, recorder));
    if prometheus.shown().text().contains("ferroflow_unreadable_rows") == unreadable.is_empty() {
        failed.push(format!("the metric says otherwise than cycles: {unreadable:?}"));
    }
    let log = lines.lock().unwrap().clone();
    failed.extend(log.iter().filter(|line| line.contains("chore failed")).cloned());
    let asked: Vec<&String> = match (case, expected) {
        (Some(case), Some(expected)) => stands_back(case, &outcome, expected),
        _ => outcome.keys().collect(),
    };
    let told = reasons(&place, &life, &asked).await;
    life.end().await;
    place.db.close().await;
    Lived { outcome, failed, log, told, unreadable }
}

/// The cases whose column admits the value. That there are such rows is seen before.
async fn admitted(template: &TestDb, cases: Vec<Case>) -> Vec<Case> {
    let mut admitted = Vec::new();
    for case in cases {
        let [before, update] = spoiling(template, &case, case.row_before());
        let tried = format!("{before}BEGIN; {update}; ROLLBACK");
        if execute(&plain_url(template), &[tried]).await.is_ok() {
            admitted.push(case);
        }
    }
    admitted
}

async fn spoil(database: &TestDb, case: &Case) {
    let [before, update] = spoiling(database, case, case.row);
    execute(&plain_url(database), &[format!("{before}{update}")]).await.unwrap();
}

/// How the value is written, and what is said before.
fn spoiling(database: &TestDb, case: &Case, row: &str) -> [String; 2] {
    let server = if database.url().starts_with("mysql") { Server::MariaDb } else { Server::Postgres };
    let Case { table, column, value, .. } = case;
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

/// What `ferroflow why` says of DAGs, and of runs of theirs that have not ended.
async fn reasons(place: &Place, life: &Life, dag_ids: &[&String]) -> Vec<Told> {
    let mut told = Vec::new();
    for dag_id in dag_ids {
        let question = format!(
            "SELECT run_id AS answer FROM dag_run WHERE dag_id = '{dag_id}' AND COALESCE(state, 'none') <> 'success' \
             ORDER BY id LIMIT {MAX_RUNS}"
        );
        let runs = texts(&place.db, &question).await.unwrap_or_default();
        for run_id in std::iter::once(None).chain(runs.iter().map(|run_id| Some(run_id.as_str()))) {
            // Each row is told of once, by whoever keeps a connection.
            let db = place.database.connect().await;
            let asked = Asked { dag_id, run_id, task_id: None };
            let answered = why(&db, &life.cx.settings, asked, life.now).await;
            db.close().await;
            told.extend(all_told(answered).into_iter().map(|told| Told {
                dag_id: (*dag_id).clone(),
                run_id: run_id.map(str::to_owned),
                ..told
            }));
        }
    }
    told
}

fn all_told(answered: Result<Answer, NoAnswer>) -> Vec<Told> {
    let (dag_id, run_id) = (String::new(), None);
    let answer = match answered {
        Ok(answer) => answer,
        Err(error) => {
            let (subject, text) = (String::new(), error.to_string());
            return vec![Told { dag_id, run_id, subject, kind: None, text, until: None }];
        }
    };
    let subject = format!("{} is {}", answer.subject, answer.state);
    let own = answer.reasons.into_iter().map(|reason| Told {
        dag_id: dag_id.clone(),
        run_id: run_id.clone(),
        subject: subject.clone(),
        kind: Some(reason.kind),
        text: with_holders(&reason),
        until: reason.until,
    });
    let mut told: Vec<Told> = own.collect();
    told.extend(answer.parts.into_iter().flat_map(|part| all_told(Ok(part))));
    told
}

fn with_holders(reason: &Reason) -> String {
    let holders: Vec<String> =
        reason.holders.iter().map(|holder| format!("{} {}", holder.what, holder.state)).collect();
    if holders.is_empty() { reason.text.clone() } else { format!("{} ({})", reason.text, holders.join("; ")) }
}
