//! URLs are taken apart as SQLAlchemy takes them apart.

use ferroflow_db::DatabaseUrl;
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};

const URLS: &[&str] = &[
    "postgresql+psycopg2://airflow:secret@db:5432/airflow",
    "postgresql://db/airflow",
    "postgresql://db",
    "postgresql://db:5432",
    "postgresql://u@h/d",
    "postgresql://u:@h/d",
    "postgresql://:p@h/d",
    "postgresql+psycopg2://u:p%40ss%2Fw%3A%25@h/d",
    "postgresql://u%40corp:p@h/d",
    "postgresql://u:p/s?s@127.0.0.1:1/d",
    "postgresql://u:p:q@h/d",
    "postgresql://u:p@[::1]:6543/d?sslmode=require",
    "postgresql://[::1]/d",
    "postgresql+psycopg2://u:p@/d?host=/run/pg&port=1",
    "postgresql:///d",
    "postgresql://h/d%20e",
    "postgresql://h/d?options=-c%20search_path%3Dx+y",
    "postgresql://h/d?options=a@b",
    "mysql+mysqldb://u:p@h:3306/d?charset=utf8mb4",
    "mysql+pymysql://u:p@localhost/d?unix_socket=/run/my%20sql.sock",
    "mariadb+mariadbconnector://u@h/d",
    "sqlite:////var/lib/airflow/airflow.db",
    "sqlite:////var/a%20b.db",
    "sqlite:///relative.db",
    "sqlite://",
];

#[test]
fn urls_have_the_parts_that_sqlalchemy_finds() {
    let airflow = Airflow::on("sqlite:////nowhere/airflow.db");
    let theirs = airflow.python("testdata/urls/make_url.py", &[], &json!(URLS).to_string()).expect_success();
    let theirs: Vec<Value> = serde_json::from_str(&theirs).unwrap();
    assert_eq!(theirs.len(), URLS.len());
    for (text, theirs) in URLS.iter().zip(theirs) {
        let ours = DatabaseUrl::parse(text).unwrap();
        let ours = json!({
            "username": ours.username,
            "password": ours.password,
            "host": ours.host,
            "port": ours.port,
            "database": ours.database,
            "query": ours.query,
        });
        assert_eq!(ours, theirs, "{text}");
    }
}
