//! A server that refuses, and connections that break.

use std::time::Duration;

use ferroflow_db::{Db, Options};
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Fault, Faulty, Server, TestDb};
use jiff::Timestamp;

use crate::bad_database::life::{Left, announce, difference};
use crate::bad_database::place::{Place, START};

/// Why PostgreSQL refuses what it would do at another time.
const OF_POSTGRES: [&str; 10] =
    ["25006", "40001", "53100", "57014", "58030", "57P01", "08006", "53300", "40P01", "57000"];

/// The same of MariaDB.
const OF_MARIADB: [&str; 11] =
    ["1290", "1836", "1792", "1021", "3024", "1205", "1213", "2006", "2013", "1180", "1040"];

const DELAY: Fault = Fault::Delay(Duration::from_millis(50));

/// How many things go wrong in one life.
const AT_ONCE: usize = 18;

#[tokio::test]
async fn whatever_postgres_does_at_any_statement_nothing_is_lost_doubled_or_invented() {
    Box::pin(try_all(Server::Postgres, &OF_POSTGRES)).await;
}

#[tokio::test]
async fn whatever_mariadb_does_at_any_statement_nothing_is_lost_doubled_or_invented() {
    Box::pin(try_all(Server::MariaDb, &OF_MARIADB)).await;
}

struct Trial {
    place: Place,
    faulty: Faulty,
    job_id: i64,
    now: Timestamp,
    lives: usize,
}

async fn try_all(server: Server, codes: &[&'static str]) {
    let mut trial = Trial::new(server).await;
    trial.live().await.unwrap();
    trial.faulty.said();
    let clean = trial.live().await.unwrap();
    let statements = distinct(trial.faulty.said());
    let cases = cases(&statements, codes);
    let mut failures = Vec::new();
    let (mut pairs, mut unmet) = (0, Vec::new());
    let at_once = if is_all_asked() { 1 } else { AT_ONCE };
    // Those of one life are far from each other: none has two of one statement.
    let lives = cases.len().div_ceil(at_once);
    for first in 0..lives {
        let chosen: Vec<_> = cases.iter().skip(first).step_by(lives).collect();
        let left = trial.suffer(&chosen, &clean, &mut failures).await;
        let (met, others): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|(statement, _)| left.iter().all(|(unmet, _)| unmet != statement));
        pairs += met.iter().filter(|(_, faults)| faults.len() > 1).count();
        unmet.extend(others);
    }
    for case in unmet {
        let (_, faults) = case;
        let left = trial.suffer(&[case], &clean, &mut failures).await;
        pairs += usize::from(left.is_empty() && faults.len() > 1);
        assert!(left.len() < faults.len(), "{case:?} was not said again");
        // Where the first of a pair has done its work, the statement is not said again.
        for (statement, fault) in left {
            let second = (statement, vec![fault]);
            let left = trial.suffer(&[&second], &clean, &mut failures).await;
            assert!(left.is_empty(), "{second:?} was not said again");
        }
    }
    clock::pretend(None);
    assert!(statements.len() > 50, "{statements:#?}");
    let all_pairs = cases.iter().filter(|(_, faults)| faults.len() > 1).count();
    assert!(2 * pairs >= all_pairs, "of {all_pairs} pairs only {pairs} were met in a row");
    assert!(failures.is_empty(), "{} of {lives} lives: {}", failures.len(), failures.join("\n\n"));
}

impl Trial {
    async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let direct = database.connect().await;
        let faulty = Faulty::way_to(server, &database).await;
        // Whatever fails is seen by whoever asked, at once.
        let options = Options { max_attempts: 1, ..Options::new(faulty.url()) };
        let db = Db::connect(&options).await.unwrap();
        let place = Place::new(database, direct, db).await;
        let job_id = announce(&place).await;
        Self { place, faulty, job_id, now: START, lives: 0 }
    }

    async fn live(&mut self) -> Result<Left, String> {
        self.lives += 1;
        self.place.live(&format!("run_{}", self.lives), self.job_id, &mut self.now).await
    }

    /// A life in which these go wrong. Answers those that did not come to it.
    async fn suffer(
        &mut self,
        cases: &[&Case],
        clean: &Left,
        failures: &mut Vec<String>,
    ) -> Vec<(String, Fault)> {
        for (statement, faults) in cases {
            for fault in faults {
                self.faulty.plan(statement, *fault);
            }
        }
        let lived = self.live().await;
        let unmet = self.faulty.unmet();
        let failure = lived.map_or_else(Some, |left| difference(clean, &left));
        failures.extend(failure.map(|failure| format!("{cases:#?}: {failure}")));
        unmet
    }
}

/// What goes wrong at a statement, one time after the other that it is said.
type Case = (String, Vec<Fault>);

/// What goes wrong, and where: at what writes, all that can; at what reads, a break or a refusal.
fn cases(statements: &[String], codes: &[&'static str]) -> Vec<Case> {
    let mut next_code = codes.iter().cycle();
    let mut refuse = || Fault::Refuse(next_code.next().unwrap());
    let mut cases = Vec::new();
    for (number, statement) in statements.iter().enumerate() {
        let is_read = ["SELECT", "BEGIN", "COMMIT of: SELECT"].iter().any(|word| statement.starts_with(word))
            && !["UPDATE", "INSERT", "DELETE"].iter().any(|word| statement.contains(word));
        let faults = match (is_read, number % 2) {
            _ if is_all_asked() => {
                let mut all: Vec<_> = codes.iter().map(|code| vec![Fault::Refuse(code)]).collect();
                all.extend([vec![Fault::CutBefore], vec![Fault::CutAfter], vec![DELAY]]);
                all.extend([vec![Fault::CutAfter, refuse()], vec![refuse(), Fault::CutAfter]]);
                all
            }
            (true, 0) => vec![vec![Fault::CutBefore]],
            (true, _) => vec![vec![refuse(), DELAY]],
            (false, 0) => vec![vec![Fault::CutBefore], vec![Fault::CutAfter, refuse()], vec![DELAY]],
            (false, _) => {
                vec![vec![Fault::CutBefore, DELAY], vec![Fault::CutAfter], vec![refuse(), refuse()]]
            }
        };
        cases.extend(faults.into_iter().map(|fault| (statement.clone(), fault)));
    }
    cases
}

fn distinct(mut statements: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    statements.retain(|statement| seen.insert(statement.clone()));
    statements
}

#[expect(clippy::disallowed_methods, reason = "how much is tried is said to the tests, not in airflow.cfg")]
pub(crate) fn is_all_asked() -> bool {
    std::env::var("FERROFLOW_BAD_DATABASE").is_ok_and(|value| value == "all")
}
