//! The metadata database: reachable, of the right revision, how large.

use anyhow::Result;
use ferroflow_db::{Dialect, schema};
use ferroflow_operations::Operations;
use ferroflow_operations::table_size::{self, Rows};

use super::finding::{Finding, Topic};
use crate::commands::operations;
use crate::session::Session;

const NAME: &str = "Database";

/// From so many rows on, cleaning is worth a thought.
const MANY: i64 = 10_000_000;

/// What there is to say, and operations on the database if it can be used.
pub(super) async fn examine(session: &Session) -> (Topic, Option<Operations>) {
    let place = session.database_url().map(|url| url.to_string()).unwrap_or_default();
    let db = match session.connect().await.map_err(anyhow::Error::from) {
        Ok(db) => db,
        Err(error) => {
            let finding = Finding::problem(format!("it cannot be reached: {error:#}")).at(place).advise(
                "see that [database] sql_alchemy_conn is the one of the official scheduler, and that this host may connect",
            );
            return (Topic::new(NAME, vec![finding]), None);
        }
    };
    let mut findings = vec![Finding::ok(format!("{place} ({})", db.server()))];
    findings.extend(of_dialect(db.dialect()));
    let open = session.database_open_to_all();
    findings.extend(open.map(|(told, advice)| Finding::warning(told).advise(advice)));
    if let Err(error) = schema::check(&db).await {
        findings.push(Finding::problem(error.to_string()));
        db.close().await;
        return (Topic::new(NAME, findings), None);
    }
    findings.push(Finding::ok(format!("its tables are those of Airflow 3.3, revision {}", schema::REVISION)));
    let operations = operations::of(session, &db);
    match sizes(&operations).await {
        Ok(sizes) => findings.extend(sizes),
        Err(error) => findings.push(Finding::warning(format!("its tables cannot be counted: {error:#}"))),
    }
    (Topic::new(NAME, findings), Some(operations))
}

fn of_dialect(dialect: Dialect) -> Option<Finding> {
    match dialect {
        Dialect::Sqlite => Some(
            Finding::note("one scheduler at a time works on SQLite")
                .advise("stop the official scheduler before ferroflow's is started"),
        ),
        Dialect::MySql => Some(
            Finding::warning("MySQL is spoken as MariaDB is, but was not tested on a running server")
                .advise("try the swap on a copy of the database first"),
        ),
        Dialect::Postgres | Dialect::MariaDb => None,
    }
}

async fn sizes(operations: &Operations) -> Result<Vec<Finding>> {
    let rows = table_size::list(operations).await?;
    let listed: Vec<String> =
        rows.iter().map(|(table, rows)| format!("{table} {}", in_words(*rows))).collect();
    let mut findings = vec![Finding::ok(format!("rows: {}", listed.join(", ")))];
    let large: Vec<&str> = rows.iter().filter(|(_, rows)| is_large(*rows)).map(|(table, _)| *table).collect();
    if !large.is_empty() {
        let text = format!("{} have more than 10 million rows", large.join(", "));
        findings.push(Finding::note(text).advise(
            "what ferroflow decides does not depend on history; `airflow db clean` makes backups and pages quicker",
        ));
    }
    Ok(findings)
}

fn in_words(rows: Rows) -> String {
    match rows {
        Rows::Exactly(count) => grouped(count),
        Rows::About(count) => format!("about {}", grouped(count)),
        Rows::MoreThan(count) => format!("more than {}", grouped(count)),
    }
}

fn is_large(rows: Rows) -> bool {
    matches!(rows, Rows::Exactly(count) | Rows::About(count) if count > MANY)
}

/// `1234567` as `1,234,567`.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(in_words(Rows::MoreThan(100_000)), "more than 100,000");
    }
}
