//! The ways to a server: sockets, poolers, schemas, passwords.

use ferroflow_db::schema::{self, State};
use ferroflow_db::{Db, Options, ScopedFutureExt as _};
use ferroflow_testkit::{Airflow, Server, TestDb, creation, given};

use crate::conformance::{get_variable, set_variable};

/// The pooler hands each transaction another server connection: whatever stayed on one would be missed or
/// found by somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn behind_pgbouncer_in_transaction_mode_everything_works() {
    let database = TestDb::empty(Server::Postgres).await;
    let url = format!("{}{}", given("PGBOUNCER"), database.name());
    let db = Db::connect(&Options { statement_cache: 0, ..Options::new(url) }).await.unwrap();
    schema::migrate(&db, &creation()).await.unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let db = db.clone();
            tokio::spawn(async move {
                let key = &format!("key {number}");
                db.transact(|tx| {
                    async move {
                        set_variable(tx, key, "value").await?;
                        get_variable(tx, key).await
                    }
                    .scope_boxed()
                })
                .await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().as_deref(), Some("value"));
    }
    db.close().await;
}

#[tokio::test]
async fn a_transaction_can_be_waited_for_on_any_thread() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    // Compiles only if the future of `transact` is `Send`, with what it borrows.
    let state = tokio::spawn(async move { schema::state(&db).await }).await.unwrap().unwrap();
    assert_eq!(state, State::Current);
}

#[tokio::test]
async fn postgres_is_reached_by_its_socket() {
    let database = TestDb::migrated(Server::Postgres).await;
    let url = ferroflow_db::DatabaseUrl::parse(&database.url()).unwrap();
    let by_socket = format!(
        "postgresql+psycopg2://{}:{}@/{}?host={}&port={}",
        url.username.unwrap(),
        url.password.unwrap(),
        database.name(),
        given("POSTGRES_SOCKET_DIR"),
        url.port.unwrap()
    );
    let db = Db::connect(&Options::new(by_socket)).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
}

#[tokio::test]
async fn mariadb_is_reached_by_its_socket() {
    let database = TestDb::migrated(Server::MariaDb).await;
    let by_socket = format!("{}?unix_socket={}", database.url(), given("MARIADB_SOCKET"));
    let db = Db::connect(&Options::new(by_socket)).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
}

/// The servers' certificate is for 127.0.0.1.
#[tokio::test]
async fn tls_is_used_and_certificates_are_checked_as_the_url_says() {
    let certificates = given("CERTIFICATES");
    let (ours, other) = (format!("{certificates}/ca.pem"), format!("{certificates}/other-ca.pem"));
    let database = TestDb::empty(Server::Postgres).await;
    for (query, expected) in [
        ("sslmode=disable".to_owned(), Some(false)),
        ("sslmode=require".to_owned(), Some(true)),
        (format!("sslmode=require&sslrootcert={ours}"), Some(true)),
        (format!("sslmode=require&sslrootcert={other}"), None),
        (format!("sslmode=verify-ca&sslrootcert={ours}"), Some(true)),
        (format!("sslmode=verify-full&sslrootcert={ours}"), Some(true)),
        (format!("sslmode=verify-full&sslrootcert={other}"), None),
        (format!("sslmode=verify-ca&sslrootcert={other}"), None),
    ] {
        assert_tls(&format!("{}?{query}", database.url()), expected).await;
    }
    let by_name = database.url().replace("127.0.0.1", "localhost");
    assert_tls(&format!("{by_name}?sslmode=verify-ca&sslrootcert={ours}"), Some(true)).await;
    assert_tls(&format!("{by_name}?sslmode=verify-full&sslrootcert={ours}"), None).await;

    let database = TestDb::empty(Server::MariaDb).await;
    for (query, expected) in [
        ("ssl_mode=DISABLED".to_owned(), Some(false)),
        ("ssl_mode=REQUIRED".to_owned(), Some(true)),
        (format!("ssl_mode=VERIFY_CA&ssl_ca={ours}"), Some(true)),
        (format!("ssl_ca={ours}&ssl_verify_identity=true"), Some(true)),
        (format!("ssl_ca={other}"), None),
        (format!("ssl_mode=VERIFY_IDENTITY&ssl_ca={other}"), None),
    ] {
        assert_tls(&format!("{}?{query}", database.url()), expected).await;
    }
}

/// Whether the connection is encrypted; `None` if there is none.
async fn assert_tls(url: &str, expected: Option<bool>) {
    let found = match Db::connect(&Options::new(url)).await {
        Ok(db) => Some(ferroflow_db::testing::is_encrypted(&db).await.unwrap()),
        Err(error) => {
            assert!(error.to_string().contains("certificate"), "{url}: {error}");
            None
        }
    };
    assert_eq!(found, expected, "{url}");
}

/// A login of the server outlives its databases; the server is thrown away with all of them.
#[tokio::test]
async fn a_password_of_any_characters_is_decoded() {
    let database = TestDb::migrated(Server::Postgres).await;
    let user = format!("{}_user", database.name());
    database.execute(format!("CREATE USER {user} SUPERUSER PASSWORD 'p@ss/w:rd%?é'")).await;
    let (_, address) = database.url().rsplit_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let url = format!("postgresql+psycopg2://{user}:p%40ss%2Fw%3Ard%25%3F%C3%A9@{address}");
    let db = Db::connect(&Options::new(url)).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
}

#[tokio::test]
async fn tables_go_to_the_configured_schema_of_postgres() {
    let database = TestDb::empty(Server::Postgres).await;
    let options = Options { schema: Some("Air Flow".to_owned()), ..database.options() };
    let db = Db::connect_to_create(&options).await.unwrap();
    let refused = schema::migrate(&db, &creation()).await.unwrap_err();
    assert!(refused.to_string().contains("no schema to look in"), "{refused}");

    database.execute(r#"CREATE SCHEMA "Air Flow""#).await;
    // Tables of somebody else in another schema are not in the way.
    database.execute("CREATE TABLE public.theirs (id integer)").await;
    schema::migrate(&db, &creation()).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
    // A division by zero, were there none.
    database.execute(r#"SELECT 1 / count(*) FROM "Air Flow".log_template"#).await;
    // Airflow keeps its revision outside the schema: without the setting, it is found, and the tables are not.
    let elsewhere = schema::check(&database.connect().await).await.unwrap_err().to_string();
    assert!(elsewhere.contains("lacks tables") && elsewhere.contains("sql_alchemy_schema"), "{elsewhere}");
    let airflow = Airflow::on(&database.url()).with("AIRFLOW__DATABASE__SQL_ALCHEMY_SCHEMA", "Air Flow");
    airflow.run(&["db", "check-migrations", "--migration-wait-timeout", "0"]).expect_success();
}
