//! What comes out of a statement.

use ferroflow_model::{extended_json, python_float};
use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::{PgRow, PgValueFormat};
use sqlx::sqlite::SqliteRow;
use sqlx::{Column as _, Row as _, TypeInfo as _, ValueRef as _};
use uuid::Uuid;

use crate::encoding::timestamp;
use crate::{BadRow, Error, Json};

/// One row of a result.
pub(crate) struct Row {
    /// The statement that it is an answer to.
    operation: &'static str,
    pub(crate) values: Values,
}

/// What a driver hands over.
pub(crate) enum Values {
    Postgres(PgRow),
    MySql(MySqlRow),
    Sqlite(SqliteRow),
}

impl From<PgRow> for Values {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl From<MySqlRow> for Values {
    fn from(row: MySqlRow) -> Self {
        Self::MySql(row)
    }
}

impl From<SqliteRow> for Values {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl Row {
    pub(crate) fn new(operation: &'static str, values: impl Into<Values>) -> Self {
        Self { operation, values: values.into() }
    }

    /// The value of a column, which may be NULL.
    pub(crate) fn optional<T: Column>(&self, name: &'static str) -> Result<Option<T>, Error> {
        match &self.values {
            Values::Postgres(row) => T::postgres(row, name),
            Values::MySql(row) => T::mysql(row, name),
            Values::Sqlite(row) => T::sqlite(row, name),
        }
        .map_err(|source| self.bad(name, source))
    }

    /// The value of a column that may not be NULL.
    pub(crate) fn get<T: Column>(&self, name: &'static str) -> Result<T, Error> {
        self.optional(name)?.ok_or_else(|| self.bad(name, UNEXPECTED_NULL))
    }

    /// A column whose text is one of a closed set of words.
    pub(crate) fn parsed<T>(&self, name: &'static str) -> Result<Option<T>, Error>
    where
        T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.optional::<String>(name)?
            .map(|text| text.parse().map_err(|error: T::Err| self.bad(name, error)))
            .transpose()
    }

    /// A column whose text is one of a closed set of words and may not be NULL.
    pub(crate) fn get_parsed<T>(&self, name: &'static str) -> Result<T, Error>
    where
        T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.parsed(name)?.ok_or_else(|| self.bad(name, UNEXPECTED_NULL))
    }

    /// A number to the last bit: what the database compares with it finds it again. Of a FLOAT of MySQL that is not what
    /// its text says.
    pub(crate) fn exact_float(&self, name: &'static str) -> Result<Option<f64>, Error> {
        if let Values::MySql(row) = &self.values
            && let Ok(short) = row.try_get::<Option<f32>, _>(name)
        {
            return Ok(short.map(f64::from));
        }
        self.optional(name)
    }

    /// A JSON column that may hold nothing. Airflow writes that as SQL NULL here and as JSON `null` there, and
    /// reads both alike.
    pub(crate) fn json(&self, name: &'static str) -> Result<Option<Json>, Error> {
        Ok(self.optional::<Json>(name)?.filter(|json| *json != Json::null()))
    }

    /// What is inside the envelopes of an ExtendedJSON column, which may hold nothing.
    pub(crate) fn extended_json(&self, name: &'static str) -> Result<Option<serde_json::Value>, Error> {
        let Some(json) = self.json(name)? else { return Ok(None) };
        let value = json.value().map_err(|error| self.bad(name, error))?;
        Ok(Some(extended_json::decode(&value)))
    }

    /// The error that a column holds something else than it should.
    pub(crate) fn bad(&self, column: &'static str, reason: impl Into<BoxError>) -> Error {
        let mut words = vec![];
        let reason: BoxError = reason.into();
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*reason);
        while let Some(error) = cause {
            words.push(error.to_string());
            cause = error.source();
        }
        let is_secret = ["connection/", "variable/"].iter().any(|table| self.operation.starts_with(table));
        let value = match self.shown(column) {
            None => "NULL".to_owned(),
            Some(_) if is_secret => "***".to_owned(),
            Some(text) => format!("{:?}", shortened(&text)),
        };
        Error::Column(Box::new(BadRow {
            operation: self.operation,
            key: self.key(),
            column,
            value,
            reason: shortened(&words.join(": ")),
        }))
    }

    /// The columns that name the row, as far as it has any, with what they hold.
    fn key(&self) -> String {
        let named = KEYS.iter().filter(|name| self.position(name).is_some());
        let named = named.map(|name| match self.shown(name) {
            Some(value) => format!("{name} {:?}", shortened(&value)),
            None => format!("{name} NULL"),
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// What a column holds, for people. Of MariaDB some texts are bytes.
    fn shown(&self, name: &str) -> Option<String> {
        match &self.values {
            Values::MySql(row) => row.try_get(name).unwrap_or_else(|_| self.text_of(name)),
            _ => self.text_of(name),
        }
    }
}

const UNEXPECTED_NULL: &str = "NULL may not be there";

/// The columns that name rows, in one table or another.
const KEYS: [&str; 13] = [
    "dag_id",
    "run_id",
    "task_id",
    "map_index",
    "id",
    "dag_run_id",
    "asset_id",
    "name",
    "uri",
    "pool",
    "key",
    "backfill_id",
    "dag_version_id",
];

/// The beginning of a text that may be long.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

type Decoded<T> = Result<Option<T>, BoxError>;
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A type that a column can hold: how each database hands it over.
pub(crate) trait Column: Sized {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self>;
    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self>;
    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self>;
}

macro_rules! same_everywhere {
    ($($type:ty),*) => {$(
        impl Column for $type {
            fn postgres(row: &PgRow, name: &str) -> Decoded<Self> { Ok(row.try_get(name)?) }
            fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> { Ok(row.try_get(name)?) }
            fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> { Ok(row.try_get(name)?) }
        }
    )*};
}
same_everywhere!(bool, i32, String, Vec<u8>);

impl Column for f64 {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get(name)?)
    }

    /// Of a FLOAT the shortest digits that mean it, as its text has them, which Airflow's driver reads: made longer
    /// bit by bit, 0.1 is 0.10000000149011612.
    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> {
        if row.try_column(name)?.type_info().name() != "FLOAT" {
            return Ok(row.try_get(name)?);
        }
        let short = row.try_get::<Option<f32>, _>(name)?;
        Ok(short.map(|value| value.to_string().parse()).transpose()?)
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get(name)?)
    }
}

impl Column for i64 {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self> {
        Ok(match row.try_column(name)?.type_info().name() {
            "INT4" => row.try_get::<Option<i32>, _>(name)?.map(Self::from),
            "INT2" => row.try_get::<Option<i16>, _>(name)?.map(Self::from),
            _ => row.try_get(name)?,
        })
    }

    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get(name)?)
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get(name)?)
    }
}

impl Column for Uuid {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get(name)?)
    }

    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get::<Option<String>, _>(name)?.map(|text| Uuid::try_parse(&text)).transpose()?)
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get::<Option<String>, _>(name)?.map(|text| Uuid::try_parse(&text)).transpose()?)
    }
}

impl Column for Timestamp {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self> {
        let value = row.try_get_raw(name)?;
        if value.is_null() {
            return Ok(None);
        }
        // The driver panics at what lies beyond its range: `infinity`, for one.
        match value.format() {
            PgValueFormat::Binary => {
                let since_2000 = i64::from_be_bytes(value.as_bytes()?.try_into()?);
                Ok(Some(timestamp::from_postgres(since_2000)?))
            }
            PgValueFormat::Text => Ok(Some(value.as_str()?.parse()?)),
        }
    }

    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get::<Option<_>, _>(name)?.map(timestamp::from_chrono).transpose()?)
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        let text = row.try_get::<Option<String>, _>(name)?;
        Ok(text.map(|text| timestamp::from_sqlite_text(&text)).transpose()?)
    }
}

impl Column for Json {
    fn postgres(row: &PgRow, name: &str) -> Decoded<Self> {
        Ok(row.try_get::<Option<sqlx::types::Json<Box<RawValue>>>, _>(name)?.map(|json| Self::from(json.0)))
    }

    fn mysql(row: &MySqlRow, name: &str) -> Decoded<Self> {
        // A text on MariaDB, which may hold what only Python takes for JSON.
        Ok(row.try_get_unchecked::<Option<String>, _>(name)?.map(Self::from_text).transpose()?)
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        // A column of type JSON turns text that looks like a number into one. Asked for text, SQLite turns it back,
        // while the driver would refuse; but of a fraction it tells fifteen digits only.
        if row.try_get_raw(name)?.type_info().name() == "REAL" {
            let number = row.try_get_unchecked::<Option<f64>, _>(name)?;
            return Ok(number.map(python_float).map(Self::from_text).transpose()?);
        }
        Ok(row.try_get_unchecked::<Option<String>, _>(name)?.map(Self::from_text).transpose()?)
    }
}
