//! A request as SQL.

use crate::list::condition::prefix_range;
use crate::list::field::{Field, Fields, OrderKey};
use crate::list::keyset::behind;
use crate::list::value::{Kind, as_wide};
use crate::list::{Condition, ListError, ListRequest, Listed, Paging, Position, Value, order};
use crate::statement::{Bind, Row, Statement};
use crate::{Dialect, Error, Tx};

/// So many values may be in one list. Every database has a limit of parameters for a statement, SQLite 32,766.
const MAX_VALUES: usize = 30_000;

/// The columns of `{order_keys}`.
const KEY_NAMES: [&str; 16] = [
    "order_0", "order_1", "order_2", "order_3", "order_4", "order_5", "order_6", "order_7", "order_8",
    "order_9", "order_10", "order_11", "order_12", "order_13", "order_14", "order_15",
];

/// What stands for the fragments of a list.
pub(crate) struct Fragments {
    pub(crate) filter: String,
    pub(crate) order: String,
    pub(crate) page: String,
    pub(crate) order_keys: String,
}

impl Tx {
    /// A page of a list.
    pub(crate) async fn list(
        &mut self,
        statement: &'static Statement,
        fields: &Fields,
        request: &ListRequest,
    ) -> Result<Listed<Row>, Error> {
        let keys = order::keys(fields, &request.order)?;
        let is_reversed = matches!(request.paging, Paging::Before { .. });
        let (conditions, mut binds) = self.conditions(fields, request, &keys)?;
        let has_positions = is_reversed || matches!(request.paging, Paging::After { .. });
        let fragments = Fragments {
            filter: clause("WHERE ", &conditions, "\n    AND "),
            order: clause("ORDER BY ", &orders(&keys, is_reversed), ", "),
            page: paging(&request.paging, &mut binds),
            order_keys: if has_positions { key_columns(&keys) } else { String::new() },
        };
        let rows = self.fetch_list(statement, &fragments, binds).await?;
        cut(rows, &request.paging, &keys)
    }

    /// How many rows all pages of a list have; of a statement whose limit `{page}` is, at most so many.
    pub(crate) async fn list_total(
        &mut self,
        statement: &'static Statement,
        fields: &Fields,
        request: &ListRequest,
        limit: Option<u32>,
    ) -> Result<i64, Error> {
        let unpaged = ListRequest { paging: Paging::All, ..request.clone() };
        let (conditions, mut binds) = self.conditions(fields, &unpaged, &[])?;
        let page = limit.map_or(String::new(), |limit| {
            binds.push(Bind::from(i64::from(limit)));
            "LIMIT ?".to_owned()
        });
        let filter = clause("WHERE ", &conditions, "\n    AND ");
        let fragments = Fragments { filter, order: String::new(), page, order_keys: String::new() };
        let rows = self.fetch_list(statement, &fragments, binds).await?;
        rows.first().map_or(Ok(0), |row| row.get("total"))
    }

    fn conditions(
        &self,
        fields: &Fields,
        request: &ListRequest,
        keys: &[OrderKey],
    ) -> Result<(Vec<String>, Vec<Bind>), ListError> {
        let (mut texts, mut binds) = (Vec::new(), Vec::new());
        for (name, condition) in &request.conditions {
            let comparison =
                Comparison { field: fields.filter(name)?, dialect: self.dialect(), now: request.now };
            texts.push(comparison.text(condition, &mut binds)?);
        }
        let position = match &request.paging {
            Paging::After { position, .. } => position.as_ref().map(|position| (position, false)),
            Paging::Before { position, .. } => Some((position, true)),
            Paging::All | Paging::Offset { .. } => None,
        };
        if let Some((position, is_reversed)) = position {
            let turned =
                |key: &OrderKey| OrderKey { is_descending: key.is_descending != is_reversed, ..*key };
            let keys: Vec<OrderKey> = keys.iter().map(turned).collect();
            let (text, more) = behind(&keys, position, self.dialect())?;
            texts.push(text);
            binds.extend(more);
        }
        Ok((texts, binds))
    }
}

/// One field, about to be compared.
struct Comparison {
    field: &'static Field,
    dialect: Dialect,
    now: Option<jiff::Timestamp>,
}

impl Comparison {
    fn text(&self, condition: &Condition, binds: &mut Vec<Bind>) -> Result<String, ListError> {
        if let Condition::Not(condition) = condition {
            return Ok(format!("NOT ({})", self.text(condition, binds)?));
        }
        let mut texts = Vec::with_capacity(self.field.compared.len());
        for compared in self.field.compared {
            texts.push(self.compare(&self.comparable(compared, condition), condition, binds)?);
        }
        let text = any(&texts);
        Ok(self.field.within.map_or_else(|| text.clone(), |within| within.replace("{condition}", &text)))
    }

    fn comparable(&self, compared: &str, condition: &Condition) -> String {
        let is_wide = self.field.kind == Kind::Text && condition.has_wide_text();
        if is_wide && self.dialect.is_mysql_family() { as_wide(compared) } else { compared.to_owned() }
    }

    fn compare(
        &self,
        compared: &str,
        condition: &Condition,
        binds: &mut Vec<Bind>,
    ) -> Result<String, ListError> {
        Ok(match condition {
            Condition::OneOf(values) => self.one_of(compared, values, binds)?,
            Condition::AtLeast(value) => self.bound(compared, ">=", value, binds)?,
            Condition::Above(value) => self.bound(compared, ">", value, binds)?,
            Condition::AtMost(value) => self.bound(compared, "<=", value, binds)?,
            Condition::Below(value) => self.bound(compared, "<", value, binds)?,
            Condition::Like(patterns) => {
                let mut texts = Vec::with_capacity(patterns.len());
                for pattern in patterns {
                    texts.push(self.like(compared, &format!("%{pattern}%"), "", binds)?);
                }
                any(&texts)
            }
            Condition::Contains(text) => {
                let escaped = text.replace('!', "!!").replace('%', "!%").replace('_', "!_");
                self.like(compared, &format!("%{escaped}%"), " ESCAPE '!'", binds)?
            }
            Condition::LikeExactly(pattern) => {
                binds.push(self.pattern(&format!("%{pattern}%"))?);
                format!("{compared} LIKE ?")
            }
            Condition::StartsWith(prefixes) => {
                let mut texts = Vec::with_capacity(prefixes.len());
                for prefix in prefixes {
                    texts.push(self.starts_with(compared, prefix, binds)?);
                }
                any(&texts)
            }
            Condition::Not(condition) => format!("NOT ({})", self.compare(compared, condition, binds)?),
        })
    }

    fn one_of(
        &self,
        compared: &str,
        values: &[Option<Value>],
        binds: &mut Vec<Bind>,
    ) -> Result<String, ListError> {
        let mut texts = Vec::new();
        let some: Vec<&Value> = values.iter().flatten().collect();
        let items = some.iter().map(|value| self.bind(value)).collect::<Result<Vec<_>, _>>()?;
        if items.len() > MAX_VALUES {
            return Err(ListError::TooManyValues { field: self.field.name.to_owned(), limit: MAX_VALUES });
        }
        if items.len() == 1 {
            binds.extend(items);
            texts.push(format!("{compared} = ?"));
        } else if !items.is_empty() {
            binds.push(Bind::List(items));
            texts.push(format!("{compared} IN ({{few}})"));
        }
        if values.contains(&None) {
            texts.push(format!("{compared} IS NULL"));
        }
        Ok(any(&texts))
    }

    /// What is open has not come before now, and will come after every bound from below.
    fn bound(
        &self,
        compared: &str,
        operator: &str,
        value: &Value,
        binds: &mut Vec<Bind>,
    ) -> Result<String, ListError> {
        binds.push(self.bind(value)?);
        let text = format!("{compared} {operator} ?");
        let is_passed = match (value, self.now) {
            (Value::Time(bound), Some(now)) if operator == "<=" => now <= *bound,
            (Value::Time(bound), Some(now)) if operator == "<" => now < *bound,
            _ => operator.starts_with('>'),
        };
        let takes_open = self.field.is_open && is_passed;
        Ok(if takes_open { format!("({text} OR {compared} IS NULL)") } else { text })
    }

    fn like(
        &self,
        compared: &str,
        pattern: &str,
        escape: &str,
        binds: &mut Vec<Bind>,
    ) -> Result<String, ListError> {
        binds.push(self.pattern(pattern)?);
        Ok(match self.dialect {
            Dialect::Postgres => format!("{compared} ILIKE ?{escape}"),
            _ => format!("LOWER({compared}) LIKE LOWER(?){escape}"),
        })
    }

    fn starts_with(&self, compared: &str, prefix: &str, binds: &mut Vec<Bind>) -> Result<String, ListError> {
        let Some((from, to)) = prefix_range(prefix) else { return Ok(format!("{compared} IS NOT NULL")) };
        binds.push(self.pattern(from)?);
        let Some(to) = to else { return Ok(format!("{compared} >= ?")) };
        binds.push(self.pattern(&to)?);
        Ok(format!("({compared} >= ? AND {compared} < ?)"))
    }

    fn pattern(&self, pattern: &str) -> Result<Bind, ListError> {
        self.bind(&Value::from(pattern))
    }

    fn bind(&self, value: &Value) -> Result<Bind, ListError> {
        let Field { name, kind, .. } = self.field;
        let bad = || ListError::BadValue { field: (*name).to_owned(), expected: kind.name() };
        kind.bind(Some(value)).ok_or_else(bad)
    }
}

/// Any of these; of none, no row.
fn any(texts: &[String]) -> String {
    match texts {
        [] => "1 = 0".to_owned(),
        [text] => text.clone(),
        texts => format!("({})", texts.join(" OR ")),
    }
}

fn clause(word: &str, parts: &[String], separator: &str) -> String {
    if parts.is_empty() { String::new() } else { format!("{word}{}", parts.join(separator)) }
}

fn orders(keys: &[OrderKey], is_reversed: bool) -> Vec<String> {
    let direction = |key: &OrderKey| if key.is_descending == is_reversed { "" } else { " DESC" };
    keys.iter().map(|key| format!("{}{}", key.compared, direction(key))).collect()
}

fn key_columns(keys: &[OrderKey]) -> String {
    let columns = keys.iter().zip(KEY_NAMES).map(|(key, name)| format!(",\n    {} AS {name}", key.compared));
    columns.collect()
}

/// One row more than asked for tells whether there is another page.
fn paging(paging: &Paging, binds: &mut Vec<Bind>) -> String {
    match paging {
        Paging::All => String::new(),
        Paging::Offset { limit, offset } => {
            let offset = i64::try_from(*offset).unwrap_or(i64::MAX);
            binds.extend([Bind::from(i64::from(*limit)), Bind::from(offset)]);
            "LIMIT ? OFFSET ?".to_owned()
        }
        Paging::After { limit, .. } | Paging::Before { limit, .. } => {
            binds.push(Bind::from(i64::from(*limit) + 1));
            "LIMIT ?".to_owned()
        }
    }
}

/// The rows of the page, in the order of the list, and where the pages beside it are.
fn cut(mut rows: Vec<Row>, paging: &Paging, keys: &[OrderKey]) -> Result<Listed<Row>, Error> {
    let (limit, is_reversed, is_first) = match paging {
        Paging::All | Paging::Offset { .. } => return Ok(Listed { rows, next: None, previous: None }),
        Paging::After { limit, position } => (*limit, false, position.is_none()),
        Paging::Before { limit, .. } => (*limit, true, false),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let are_more = rows.len() > limit;
    rows.truncate(limit);
    if is_reversed {
        rows.reverse();
    }
    let (follow, precede) = if is_reversed { (true, are_more) } else { (are_more, !is_first) };
    let place = |row: Option<&Row>, is_wanted: bool| match row {
        Some(row) if is_wanted => position(row, keys).map(Some),
        _ => Ok(None),
    };
    Ok(Listed { next: place(rows.last(), follow)?, previous: place(rows.first(), precede)?, rows })
}

fn position(row: &Row, keys: &[OrderKey]) -> Result<Position, Error> {
    let values = keys.iter().zip(KEY_NAMES).map(|(key, name)| {
        Ok(match key.kind {
            Kind::Bool => row.optional(name)?.map(Value::Bool),
            Kind::Int => row.optional(name)?.map(Value::Int),
            Kind::Float => row.exact_float(name)?.map(Value::Float),
            Kind::Text => row.optional(name)?.map(Value::Text),
            Kind::Time => row.optional(name)?.map(Value::Time),
            Kind::Uuid => row.optional(name)?.map(Value::Uuid),
        })
    });
    values.collect::<Result<_, Error>>().map(Position)
}
