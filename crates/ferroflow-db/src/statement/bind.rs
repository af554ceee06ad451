//! What goes into a statement, in each database's own encoding.

use jiff::Timestamp;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo};
use sqlx::{Encode, MySql, Postgres, Sqlite, Type, encode::IsNull, error::BoxDynError};
use uuid::Uuid;

use crate::Json;
use crate::encoding::timestamp;
use crate::statement::text::{MAX_LIST_LENGTH, padded};

/// So many values go into one statement.
pub(crate) const BATCH: usize = 500;

/// A parameter. A NULL stays typed: the driver caches a statement by its text alone, and the first bind fixes
/// the types of its parameters.
#[derive(Clone, Debug)]
pub(crate) enum Bind {
    Bool(Option<bool>),
    Int(Option<i64>),
    Float(Option<f64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Json(Option<Json>),
    Uuid(Option<Uuid>),
    Time(Option<Timestamp>),
    /// For `{in}` and `{few}`.
    List(Vec<Bind>),
    /// The values of several rows, one row after the other, for `{rows:…}`.
    Rows(Vec<Bind>),
}

/// The lengths of the lists among `binds`, and all of them in a row, lists padded.
pub(crate) fn flatten(binds: Vec<Bind>) -> (Vec<usize>, Vec<Bind>) {
    let mut lengths = Vec::new();
    let mut flat = Vec::with_capacity(binds.len());
    for bind in binds {
        match bind {
            Bind::List(items) => {
                let length = padded(items.len());
                lengths.push(length);
                // What stands in a list twice is found once.
                let filler = items.last().cloned().unwrap_or(Bind::Text(None));
                flat.extend(items.into_iter().chain(std::iter::repeat(filler)).take(length));
            }
            Bind::Rows(values) => {
                lengths.push(values.len());
                flat.extend(values);
            }
            scalar => flat.push(scalar),
        }
    }
    (lengths, flat)
}

/// The same values, in so many parts that no list is too long for one statement.
pub(crate) fn parts(binds: Vec<Bind>) -> Vec<Vec<Bind>> {
    let is_long = |bind: &Bind| matches!(bind, Bind::List(items) if items.len() > MAX_LIST_LENGTH);
    let Some(place) = binds.iter().position(is_long) else { return vec![binds] };
    let Bind::List(items) = &binds[place] else { return vec![binds] };
    let with = |part: &[Bind]| {
        let mut binds = binds.clone();
        binds[place] = Bind::List(part.to_vec());
        parts(binds)
    };
    items.chunks(MAX_LIST_LENGTH).flat_map(with).collect()
}

type Query<'q, DB> = sqlx::query::Query<'q, DB, <DB as sqlx::Database>::Arguments>;

pub(crate) fn postgres(query: Query<'_, Postgres>, binds: Vec<Bind>) -> Query<'_, Postgres> {
    binds.into_iter().fold(query, |query, bind| match bind {
        Bind::Json(json) => query.bind(json.map(PgJsonText)),
        Bind::Uuid(uuid) => query.bind(uuid),
        Bind::Time(time) => query.bind(time.map(timestamp::to_chrono)),
        other => common(query, other),
    })
}

pub(crate) fn mysql(query: Query<'_, MySql>, binds: Vec<Bind>) -> Query<'_, MySql> {
    binds.into_iter().fold(query, |query, bind| match bind {
        Bind::Uuid(uuid) => query.bind(uuid.map(hex)),
        // As a DATETIME, which the server checks against the column's range. A TIMESTAMP beyond it would
        // silently become NULL, or the time of day.
        Bind::Time(time) => query.bind(time.map(|time| timestamp::to_chrono(time).naive_utc())),
        other => common(query, other),
    })
}

pub(crate) fn sqlite(query: Query<'_, Sqlite>, binds: Vec<Bind>) -> Query<'_, Sqlite> {
    binds.into_iter().fold(query, |query, bind| match bind {
        Bind::Uuid(uuid) => query.bind(uuid.map(hex)),
        Bind::Time(time) => query.bind(time.map(timestamp::to_sqlite_text)),
        Bind::Json(Some(json)) => match fraction(json.text()) {
            Some(number) => query.bind(number),
            None => query.bind(json.into_text()),
        },
        other => common(query, other),
    })
}

/// A number that a column of type JSON would hold as a fraction. SQLite reads its text less exactly than we do.
fn fraction(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_whole = || text.parse::<i64>().is_ok();
    text.parse().ok().filter(|number: &f64| is_number && !is_whole() && number.is_finite())
}

/// The kinds that every driver takes as they are, and JSON where it is a text column.
fn common<'q, DB>(query: Query<'q, DB>, bind: Bind) -> Query<'q, DB>
where
    DB: sqlx::Database,
    Option<bool>: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
    Option<f64>: Encode<'q, DB> + Type<DB>,
    Option<String>: Encode<'q, DB> + Type<DB>,
    Option<Vec<u8>>: Encode<'q, DB> + Type<DB>,
{
    match bind {
        Bind::Bool(value) => query.bind(value),
        Bind::Int(value) => query.bind(value),
        Bind::Float(value) => query.bind(value),
        Bind::Text(value) => query.bind(value),
        Bind::Bytes(value) => query.bind(value),
        Bind::Json(value) => query.bind(value.map(Json::into_text)),
        Bind::Uuid(value) => query.bind(value.map(hex)),
        Bind::Time(value) => query.bind(value.map(timestamp::to_sqlite_text)),
        Bind::List(items) | Bind::Rows(items) => items.into_iter().fold(query, common),
    }
}

/// How Airflow stores a UUID where there is no type for it. MariaDB's UUID type takes the same text.
fn hex(uuid: Uuid) -> String {
    uuid.simple().to_string()
}

/// JSON text sent as `json`, not as the driver's `jsonb`, which would reorder the keys on their way into a
/// `json` column. PostgreSQL casts it where the column is `jsonb`.
struct PgJsonText(Json);

impl Type<Postgres> for PgJsonText {
    fn type_info() -> PgTypeInfo {
        const JSON: sqlx::postgres::types::Oid = sqlx::postgres::types::Oid(114);
        PgTypeInfo::with_oid(JSON)
    }
}

impl Encode<'_, Postgres> for PgJsonText {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(self.0.text().as_bytes());
        Ok(IsNull::No)
    }
}

macro_rules! bind_from {
    ($($variant:ident($type:ty) $(via $convert:expr)?;)*) => {$(
        impl From<$type> for Bind {
            fn from(value: $type) -> Self {
                Self::$variant(Some($($convert)?(value)))
            }
        }

        impl From<Option<$type>> for Bind {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value$(.map($convert))?)
            }
        }
    )*};
}

bind_from! {
    Bool(bool);
    Int(i64);
    Int(i32) via i64::from;
    Float(f64);
    Text(String);
    Text(&str) via str::to_owned;
    Bytes(Vec<u8>);
    Json(Json);
    Uuid(Uuid);
    Time(Timestamp);
}

/// An empty list is one NULL, of the items' type: nothing equals it.
impl<T> FromIterator<T> for Bind
where
    Self: From<T> + From<Option<T>>,
{
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let items: Vec<Self> = items.into_iter().map(Self::from).collect();
        Self::List(if items.is_empty() { vec![Self::from(None::<T>)] } else { items })
    }
}

/// The values of a statement, in its order.
macro_rules! binds {
    ($($value:expr),* $(,)?) => { vec![$($crate::statement::Bind::from($value)),*] };
}
pub(crate) use binds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_taken_in_parts_each_with_each() {
        let list = |length: i64| (0..length).collect::<Bind>();
        let lengths = |binds: Vec<Bind>| -> Vec<Vec<usize>> {
            let length = |bind: &Bind| if let Bind::List(items) = bind { items.len() } else { 1 };
            parts(binds).iter().map(|part| part.iter().map(length).collect()).collect()
        };
        assert_eq!(lengths(vec![Bind::from("x"), list(4096)]), [[1, 4096]]);
        assert_eq!(lengths(vec![list(9000), Bind::from(1)]), [[4096, 1], [4096, 1], [808, 1]]);
        assert_eq!(lengths(vec![list(4097), list(5000)]), [[4096, 4096], [4096, 904], [1, 4096], [1, 904]]);
        // Each item is in one of them.
        let items: Vec<Bind> = parts(vec![list(9000)]).into_iter().flatten().collect();
        assert_eq!(format!("{:?}", flatten(items).1.len()), "9216");
    }

    #[test]
    fn lists_are_padded_and_an_empty_one_is_a_null_of_its_type() {
        let (lengths, flat) =
            flatten(vec![[1_i64, 2, 3].into_iter().collect(), std::iter::empty::<i64>().collect()]);
        assert_eq!(lengths, [4, 1]);
        assert_eq!(
            format!("{flat:?}"),
            "[Int(Some(1)), Int(Some(2)), Int(Some(3)), Int(Some(3)), Int(None)]"
        );
    }
}
