//! Which rows are behind a position.

use crate::Dialect;
use crate::list::field::OrderKey;
use crate::list::value::{as_wide, is_wide};
use crate::list::{ListError, Position};
use crate::statement::Bind;

/// The condition that a row comes behind a position, with its binds.
///
/// Leading keys have inclusive bounds and inner ones strict ones, so that an index of the keys is used. NULL is where the
/// database puts it in a plain `ORDER BY`: last of all on PostgreSQL, first elsewhere.
pub(super) fn behind(
    keys: &[OrderKey],
    position: &Position,
    dialect: Dialect,
) -> Result<(String, Vec<Bind>), ListError> {
    let bad = || ListError::BadPosition { found: position.0.len(), expected: keys.len() };
    if position.0.len() != keys.len() {
        return Err(bad());
    }
    let mut condition: Option<(String, Vec<Bind>)> = None;
    for (key, value) in keys.iter().zip(&position.0).rev() {
        let value = match value {
            Some(value) => Some(key.kind.bind(Some(value)).ok_or_else(bad)?),
            None => None,
        };
        let nulls_last = (dialect == Dialect::Postgres) != key.is_descending;
        let is_mysql = dialect.is_mysql_family();
        let bounds = Bounds { key, value, nulls_last, is_mysql };
        condition = Some(match condition {
            None => bounds.strictly(),
            Some((inner, inner_binds)) => {
                let (at_least, mut binds) = bounds.at_least();
                let (beyond, beyond_binds) = bounds.strictly();
                binds.extend(beyond_binds);
                binds.extend(inner_binds);
                (format!("({at_least} AND ({beyond} OR {inner}))"), binds)
            }
        });
    }
    Ok(condition.unwrap_or_else(|| ("1 = 1".to_owned(), Vec::new())))
}

/// What one key says of a row behind the position.
struct Bounds<'a> {
    key: &'a OrderKey,
    value: Option<Bind>,
    nulls_last: bool,
    is_mysql: bool,
}

impl Bounds<'_> {
    fn at_least(&self) -> (String, Vec<Bind>) {
        match &self.value {
            Some(value) => self.compared(if self.key.is_descending { "<=" } else { ">=" }, value),
            None if self.nulls_last => (format!("{} IS NULL", self.key.compared), Vec::new()),
            None => ("1 = 1".to_owned(), Vec::new()),
        }
    }

    fn strictly(&self) -> (String, Vec<Bind>) {
        match &self.value {
            Some(value) => self.compared(if self.key.is_descending { "<" } else { ">" }, value),
            None if self.nulls_last => ("1 = 0".to_owned(), Vec::new()),
            None => (format!("{} IS NOT NULL", self.key.compared), Vec::new()),
        }
    }

    fn compared(&self, operator: &str, value: &Bind) -> (String, Vec<Bind>) {
        let compared = match value {
            Bind::Text(Some(text)) if self.is_mysql && is_wide(text) => as_wide(self.key.compared),
            _ => self.key.compared.to_owned(),
        };
        let text = if self.nulls_last {
            format!("({compared} {operator} ? OR {compared} IS NULL)")
        } else {
            format!("{compared} {operator} ?")
        };
        (text, vec![value.clone()])
    }
}
