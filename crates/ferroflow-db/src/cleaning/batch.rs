use super::tables::Table;
use jiff::Timestamp;

use crate::statement::{Bind, Row};
use crate::{Dialect, Error, Tx};

use super::archives::OF_MIGRATION;
use super::condition::Condition;
use super::tables::KeyKind;

/// What is old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Old {
    /// All that is from before this,
    pub before: Timestamp,
    /// of these DAGs if any are named,
    pub dag_ids: Vec<String>,
    /// and not of those. Tables that do not know of DAGs know no exception.
    pub exclude_dag_ids: Vec<String>,
}

/// What identifies a row.
#[derive(Clone, Debug)]
pub struct Key(Vec<Bind>);

/// What a batch has done.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// How many rows it has deleted.
    pub deleted: u64,
    /// How many it has left to those who hold them.
    pub held: usize,
    /// Where the next one goes on; nothing is left to do if there is none.
    pub next: Option<Key>,
}

/// How many rows of a table are old.
pub async fn count(tx: &mut Tx, table: &Table, old: &Old) -> Result<i64, Error> {
    let Condition { text, binds } = Condition::of(table, old);
    let text = format!("SELECT COUNT(*) AS total FROM {{name:{}}} base WHERE {text}", table.name);
    let rows = tx.fetch_text("counting old rows", &text, binds).await?;
    rows.first().map_or(Ok(0), |row| row.get("total"))
}

/// Deletes up to `limit` old rows that come after one, and copies them into a table before if it is named.
pub async fn batch(
    tx: &mut Tx,
    table: &Table,
    old: &Old,
    after: Option<&Key>,
    limit: usize,
    archive: Option<&str>,
) -> Result<Batch, Error> {
    let limit = limit.clamp(1, table.most_rows());
    let found = look_for(tx, table, old, after, limit).await?;
    if found.is_empty() {
        return Ok(Batch::default());
    }
    let locked = lock(tx, table, old, &found).await?;
    let mut deleted = 0;
    if !locked.is_empty() {
        let (these, binds) = among(table, &locked);
        let name = table.name;
        let by_key = by_key(tx.dialect(), table);
        if let Some(archive) = archive {
            let copy = format!(
                "INSERT INTO {{name:{archive}}} SELECT base.* FROM {{name:{name}}} base {by_key} WHERE {these}"
            );
            tx.execute_text("copying old rows", &copy, binds.clone()).await?;
        }
        let delete = if by_key.is_empty() {
            format!("DELETE FROM {{name:{name}}} WHERE {}", these.replace("base.", ""))
        } else {
            format!("DELETE base FROM {{name:{name}}} base {by_key} WHERE {these}")
        };
        deleted = tx.execute_text("deleting old rows", &delete, binds).await?;
    }
    let is_full = found.len() >= limit;
    Ok(Batch {
        deleted,
        held: found.len() - locked.len(),
        next: if is_full { found.into_iter().next_back() } else { None },
    })
}

async fn look_for(
    tx: &mut Tx,
    table: &Table,
    old: &Old,
    after: Option<&Key>,
    limit: usize,
) -> Result<Vec<Key>, Error> {
    let mut condition = Condition::of(table, old);
    let keys = table.keys();
    if let Some(Key(last)) = after {
        let (open, close) = if last.len() == 1 { ("", "") } else { ("(", ")") };
        let marks = vec!["?"; last.len()].join(", ");
        condition.and(&format!("{open}{keys}{close} > {open}{marks}{close}"));
        condition.binds.extend(last.iter().cloned());
    }
    let Condition { text, binds } = condition;
    let text =
        format!("SELECT {keys} FROM {{name:{}}} base WHERE {text} ORDER BY {keys} LIMIT {limit}", table.name);
    keys_of(table, &tx.fetch_text("looking for old rows", &text, binds).await?)
}

/// Those of some rows that are old still, and that no other transaction holds.
async fn lock(tx: &mut Tx, table: &Table, old: &Old, found: &[Key]) -> Result<Vec<Key>, Error> {
    let (these, mut binds) = among(table, found);
    binds.push(Bind::from(old.before));
    let (keys, recency) = (table.keys(), table.recency);
    let text = format!(
        "SELECT {keys} FROM {{name:{}}} base {} WHERE ({these}) AND base.{{name:{recency}}} < ? {{lock_skip:base}}",
        table.name,
        by_key(tx.dialect(), table)
    );
    keys_of(table, &tx.fetch_text("locking old rows", &text, binds).await?)
}

/// MySQL and MariaDB would read all of a small table, and wait for any transaction that has locked a row of it. The table of a migration
/// need not have a key.
fn by_key(dialect: Dialect, table: &Table) -> &'static str {
    if dialect.is_mysql_family() && table.name != OF_MIGRATION { "FORCE INDEX (PRIMARY)" } else { "" }
}

/// That a row is one of these.
fn among(table: &Table, these: &[Key]) -> (String, Vec<Bind>) {
    let binds = these.iter().flat_map(|Key(values)| values.iter().cloned()).collect();
    let text = match table.key {
        [(column, _)] => format!("base.{{name:{column}}} IN ({})", vec!["?"; these.len()].join(", ")),
        // Not as a list of tuples, for which MariaDB would read, and lock, the whole table.
        columns => {
            let is_one: Vec<String> =
                columns.iter().map(|(column, _)| format!("base.{{name:{column}}} = ?")).collect();
            vec![format!("({})", is_one.join(" AND ")); these.len()].join(" OR ")
        }
    };
    (text, binds)
}

fn keys_of(table: &Table, rows: &[Row]) -> Result<Vec<Key>, Error> {
    let key = |row: &Row| {
        let values: Result<_, Error> = table.key.iter().map(|part| value(row, *part)).collect();
        values.map(Key)
    };
    rows.iter().map(key).collect()
}

fn value(row: &Row, (column, kind): (&'static str, KeyKind)) -> Result<Bind, Error> {
    Ok(match kind {
        KeyKind::Number => Bind::Int(row.optional(column)?),
        KeyKind::Text => Bind::Text(row.optional(column)?),
        KeyKind::Uuid => Bind::Uuid(row.optional(column)?),
    })
}
