//! What comes out of a statement.

use ferroflow_model::extended_json;
use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column as _, Row as _, TypeInfo as _, ValueRef as _};
use uuid::Uuid;

use crate::encoding::timestamp;
use crate::{Error, Json};

/// One row of a result.
pub(crate) enum Row {
    Postgres(PgRow),
    MySql(MySqlRow),
    Sqlite(SqliteRow),
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl From<MySqlRow> for Row {
    fn from(row: MySqlRow) -> Self {
        Self::MySql(row)
    }
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl Row {
    /// The value of a column, which may be NULL.
    pub(crate) fn optional<T: Column>(&self, name: &'static str) -> Result<Option<T>, Error> {
        match self {
            Self::Postgres(row) => T::postgres(row, name),
            Self::MySql(row) => T::mysql(row, name),
            Self::Sqlite(row) => T::sqlite(row, name),
        }
        .map_err(|source| Error::Column { column: name, source })
    }

    /// The value of a column that may not be NULL.
    pub(crate) fn get<T: Column>(&self, name: &'static str) -> Result<T, Error> {
        self.optional(name)?.ok_or_else(|| unexpected_null(name))
    }

    /// A column whose text is one of a closed set of words.
    pub(crate) fn parsed<T>(&self, name: &'static str) -> Result<Option<T>, Error>
    where
        T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.optional::<String>(name)?
            .map(|text| {
                text.parse().map_err(|error: T::Err| Error::Column { column: name, source: error.into() })
            })
            .transpose()
    }

    /// A column whose text is one of a closed set of words and may not be NULL.
    pub(crate) fn get_parsed<T>(&self, name: &'static str) -> Result<T, Error>
    where
        T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.parsed(name)?.ok_or_else(|| unexpected_null(name))
    }

    /// A JSON column that may hold nothing. Airflow writes that as SQL NULL here and as JSON `null` there, and
    /// reads both alike.
    pub(crate) fn json(&self, name: &'static str) -> Result<Option<Json>, Error> {
        Ok(self.optional::<Json>(name)?.filter(|json| *json != Json::null()))
    }

    /// What is inside the envelopes of an ExtendedJSON column, which may hold nothing.
    pub(crate) fn extended_json(&self, name: &'static str) -> Result<Option<serde_json::Value>, Error> {
        let Some(json) = self.json(name)? else { return Ok(None) };
        let value = json.value().map_err(|error| Error::Column { column: name, source: error.into() })?;
        Ok(Some(extended_json::decode(&value)))
    }
}

fn unexpected_null(column: &'static str) -> Error {
    Error::Column { column, source: "holds NULL, which it may not".into() }
}

type Decoded<T> = Result<Option<T>, BoxError>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
        Ok(row.try_get::<Option<_>, _>(name)?.map(timestamp::from_chrono).transpose()?)
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
        Ok(row.try_get::<Option<sqlx::types::Json<Box<RawValue>>>, _>(name)?.map(|json| Self::from(json.0)))
    }

    fn sqlite(row: &SqliteRow, name: &str) -> Decoded<Self> {
        // A column of type JSON turns text that looks like a number into one. Asked for text, SQLite turns it back,
        // while the driver would refuse; but of a fraction it tells fifteen digits only.
        if row.try_get_raw(name)?.type_info().name() == "REAL" {
            let number = row.try_get_unchecked::<Option<f64>, _>(name)?.map(serde_json::Value::from);
            return Ok(number.map(Self::from));
        }
        Ok(row.try_get_unchecked::<Option<String>, _>(name)?.map(Self::from_text).transpose()?)
    }
}
