//! Database URLs as SQLAlchemy writes them: `dialect+driver://user:password@host:port/database?key=value`.

use std::fmt;

use percent_encoding::percent_decode_str;

/// Which family of databases a URL speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `postgresql://`, with any driver.
    Postgres,
    /// `mysql://` or `mariadb://`, with any driver.
    MySql,
    /// `sqlite://`.
    Sqlite,
}

/// A URL taken apart. The Python driver it names is of no interest here: ferroflow has its own.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// The family.
    pub family: Family,
    /// Decoded.
    pub username: Option<String>,
    /// Decoded.
    pub password: Option<String>,
    /// Without the brackets of an IPv6 address.
    pub host: Option<String>,
    /// The port, if one is named.
    pub port: Option<u16>,
    /// What follows the first slash: a name, or for SQLite a path.
    pub database: Option<String>,
    /// Decoded, in order.
    pub query: Vec<(String, String)>,
}

/// Why a text is not the URL of a database that ferroflow knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// No `://` in it.
    #[error(
        "it has no scheme; expected something like postgresql+psycopg2://user:password@host:5432/airflow"
    )]
    NoScheme,
    /// A database that is not supported.
    #[error(
        "unknown scheme {0:?}; known are postgresql, mysql, mariadb and sqlite, each with an optional +driver"
    )]
    UnknownScheme(String),
    /// A port that is no number. It is not told: it may be a password.
    #[error(
        "what follows the host and its colon is not a port; percent-encode an @ or : of the password (%40, %3A)"
    )]
    BadPort,
    /// A percent sign that stands for itself, most likely in a password.
    #[error("{0} holds a character that is not UTF-8 when decoded; percent-encode it (% is %25)")]
    BadEncoding(&'static str),
}

impl DatabaseUrl {
    /// Takes a URL apart, as SQLAlchemy does.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = url.trim().split_once("://").ok_or(UrlError::NoScheme)?;
        let family = family(scheme)?;
        let (login, rest) = split_login(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = match rest.split_once('/') {
            Some((address, database)) => (address, Some(database)),
            None => (rest, None),
        };
        let (username, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((username, password)) => (non_empty(username), non_empty(password)),
            None => (None, None),
        };
        let (host, port) = host_and_port(address)?;
        Ok(Self {
            family,
            username: username.map(|text| decoded(text, "the user name")).transpose()?,
            password: password.map(|text| decoded(text, "the password")).transpose()?,
            host,
            port,
            database: database.and_then(non_empty).map(|text| decoded(text, "the database")).transpose()?,
            query: query_pairs(query)?,
        })
    }

    /// The value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The URL without its password: fit for logs and messages.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.family {
            Family::Postgres => "postgresql",
            Family::MySql => "mysql",
            Family::Sqlite => "sqlite",
        };
        write!(f, "{scheme}://")?;
        if let Some(username) = &self.username {
            let password = if self.password.is_some() { ":***" } else { "" };
            write!(f, "{username}{password}@")?;
        }
        if let Some(host) = &self.host {
            if host.contains(':') { write!(f, "[{host}]")? } else { write!(f, "{host}")? }
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.database.as_deref().unwrap_or(""))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// What stands before the `@`. A password may hold `/`, `?` and even an `@` as they are; a user name and a host
/// may not.
fn split_login(rest: &str) -> (Option<&str>, &str) {
    let Some((before, _)) = rest.split_once('@') else { return (None, rest) };
    if before.split(':').next().is_some_and(|username| username.contains(['/', '?'])) {
        return (None, rest);
    }
    let end_of_host =
        rest[before.len()..].find(['/', '?']).map_or(rest.len(), |length| before.len() + length);
    match rest[..end_of_host].rfind('@') {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    }
}

fn family(scheme: &str) -> Result<Family, UrlError> {
    match scheme.split('+').next() {
        Some("postgresql" | "postgres") => Ok(Family::Postgres),
        Some("mysql" | "mariadb") => Ok(Family::MySql),
        Some("sqlite") => Ok(Family::Sqlite),
        _ => Err(UrlError::UnknownScheme(scheme.to_owned())),
    }
}

fn host_and_port(address: &str) -> Result<(Option<String>, Option<u16>), UrlError> {
    let (host, port) =
        if let Some((host, port)) = address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            (host, port.strip_prefix(':').unwrap_or(port))
        } else {
            address.split_once(':').unwrap_or((address, ""))
        };
    let port = match port {
        "" => None,
        text => Some(text.parse().map_err(|_| UrlError::BadPort)?),
    };
    Ok((non_empty(host).map(str::to_owned), port))
}

fn query_pairs(query: &str) -> Result<Vec<(String, String)>, UrlError> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |text: &str| decoded(&text.replace('+', " "), "the part after ?");
            Ok((text(key)?, text(value)?))
        })
        .collect()
}

fn decoded(text: &str, part: &'static str) -> Result<String, UrlError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| UrlError::BadEncoding(part))?;
    Ok(decoded.into_owned())
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> String {
        let url = DatabaseUrl::parse(url).unwrap();
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let query: Vec<_> = url.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!(
            "{:?} {} {} {} {} {} {}",
            url.family,
            text(&url.username),
            text(&url.password),
            text(&url.host),
            url.port.map_or("-".to_owned(), |port| port.to_string()),
            text(&url.database),
            query.join(",")
        )
    }

    #[test]
    fn urls_as_they_stand_in_airflow_cfg() {
        for (url, expected) in [
            (
                "postgresql+psycopg2://airflow:secret@db:5432/airflow",
                "Postgres airflow secret db 5432 airflow ",
            ),
            ("postgresql://db/airflow", "Postgres - - db - airflow "),
            ("postgres://u@h/d", "Postgres u - h - d "),
            ("postgresql+psycopg2://u:p%40ss%2Fw%3A%25@h/d", "Postgres u p@ss/w:% h - d "),
            ("postgresql+psycopg2://u:p@ss@h/d", "Postgres u p@ss h - d "),
            ("postgresql://u:p/s?s@127.0.0.1:1/d", "Postgres u p/s?s 127.0.0.1 1 d "),
            ("postgresql://h/d?options=a@b", "Postgres - - h - d options=a@b"),
            ("postgresql://h/d%20e", "Postgres - - h - d e "),
            ("postgresql://u:p@[::1]:6543/d?sslmode=require", "Postgres u p ::1 6543 d sslmode=require"),
            ("postgresql+psycopg2://u:p@/d?host=/run/pg&port=1", "Postgres u p - - d host=/run/pg,port=1"),
            ("mysql+mysqldb://u:p@h:3306/d?charset=utf8mb4", "MySql u p h 3306 d charset=utf8mb4"),
            (
                "mysql+pymysql://u:p@localhost/d?unix_socket=/run/my%20sql.sock",
                "MySql u p localhost - d unix_socket=/run/my sql.sock",
            ),
            ("mariadb+mariadbconnector://u@h/d", "MySql u - h - d "),
            ("sqlite:////var/lib/airflow/airflow.db", "Sqlite - - - - /var/lib/airflow/airflow.db "),
            ("sqlite:///relative.db", "Sqlite - - - - relative.db "),
            ("sqlite://", "Sqlite - - - - - "),
        ] {
            assert_eq!(parts(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_the_reason() {
        for (url, expected) in [
            ("airflow.db", UrlError::NoScheme),
            ("oracle://u:p@h/d", UrlError::UnknownScheme("oracle".to_owned())),
            ("mssql+pyodbc://h/d", UrlError::UnknownScheme("mssql+pyodbc".to_owned())),
            ("postgresql://h:port/d", UrlError::BadPort),
            ("postgresql://u:%ff@h/d", UrlError::BadEncoding("the password")),
        ] {
            assert_eq!(DatabaseUrl::parse(url).unwrap_err(), expected, "{url}");
        }
    }

    #[test]
    fn a_url_that_is_refused_does_not_show_its_password_either() {
        for url in ["postgresql://u:hunter2", "postgresql://hunter2:hunter2", "postgresql://u:%ffhunter2@h/d"]
        {
            let error = DatabaseUrl::parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let url = DatabaseUrl::parse("postgresql://u:secret@h:1/d?password=secret").unwrap();
        assert_eq!(
            format!("{url} {url:?}"),
            "postgresql://u:***@h:1/d DatabaseUrl(postgresql://u:***@h:1/d)"
        );
    }
}
