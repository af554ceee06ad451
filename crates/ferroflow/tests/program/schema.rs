//! A database made by `ferroflow db migrate` and one made by `airflow db migrate` are the same, and each
//! program accepts the other's.

use ferroflow_testkit::{Airflow, Program, Server, TestDb};

async fn ferroflow_and_airflow_make_the_same_database(server: Server) {
    let ours = TestDb::empty(server).await;
    let theirs = TestDb::empty(server).await;
    let airflow = Airflow::on(&theirs.url());

    let made = Program::new(env!("CARGO_BIN_EXE_ferroflow"))
        .on(&ours.url())
        .run(&["db", "migrate"])
        .expect_success();
    assert!(made.starts_with("created 58 tables"), "{made}");
    airflow.run(&["db", "migrate"]).expect_success();

    let introspect = |url: &str| airflow.python("testdata/schema/introspect.py", &[url], "").expect_success();
    let (ours_facts, theirs_facts) = (introspect(&ours.url()), introspect(&theirs.url()));
    assert!(theirs_facts.len() > 10_000, "{theirs_facts}");
    assert_same_lines(&ours_facts, &theirs_facts);

    let accepted = Airflow::on(&ours.url()).run(&["db", "check-migrations", "--migration-wait-timeout", "0"]);
    accepted.expect_success();
    let ferroflow = Program::new(env!("CARGO_BIN_EXE_ferroflow")).on(&theirs.url());
    let checked = ferroflow.run(&["db", "check"]).expect_success();
    assert!(checked.contains("tables at revision d2f4e1b3c5a7"), "{checked}");
    ferroflow.run(&["db", "check-migrations", "-t", "0"]).expect_success();
    let again = ferroflow.run(&["db", "migrate"]).expect_success();
    assert!(again.starts_with("up to date: "), "{again}");
    assert_same_lines(&introspect(&theirs.url()), &theirs_facts);
}

#[tokio::test]
async fn on_sqlite() {
    ferroflow_and_airflow_make_the_same_database(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    ferroflow_and_airflow_make_the_same_database(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    ferroflow_and_airflow_make_the_same_database(Server::MariaDb).await;
}

/// What the first rows and the columns depend on: pools, log templates (one that Airflow has replaced since, and
/// one of the site's own) and the collation of ids.
#[tokio::test]
async fn a_configured_database_is_the_same_too() {
    let old_default = "dag_id={{ ti.dag_id }}/run_id={{ ti.run_id }}/task_id={{ ti.task_id }}/\
                       {% if ti.map_index >= 0 %}map_index={{ ti.map_index }}/{% endif %}attempt={{ try_number }}.log";
    let settings = [
        (Server::Sqlite, "AIRFLOW__LOGGING__LOG_FILENAME_TEMPLATE", old_default),
        (Server::Sqlite, "AIRFLOW__LOGGING__LOG_FILENAME_TEMPLATE", "{{ ti.dag_id }}.log"),
        (Server::Sqlite, "AIRFLOW__CORE__DEFAULT_POOL_TASK_SLOT_COUNT", "7"),
        (Server::MariaDb, "AIRFLOW__DATABASE__SQL_ENGINE_COLLATION_FOR_IDS", "ascii_bin"),
    ];
    for (server, variable, value) in settings {
        let (ours, theirs) = (TestDb::empty(server).await, TestDb::empty(server).await);
        let airflow = Airflow::on(&theirs.url()).with(variable, value);
        let ferroflow = Program::new(env!("CARGO_BIN_EXE_ferroflow")).on(&ours.url()).with(variable, value);
        ferroflow.run(&["db", "migrate"]).expect_success();
        airflow.run(&["db", "migrate"]).expect_success();
        let introspect =
            |url: &str| airflow.python("testdata/schema/introspect.py", &[url], "").expect_success();
        assert_same_lines(&introspect(&ours.url()), &introspect(&theirs.url()));
    }
}

/// There is no MySQL 8 server to be had everywhere, so the statements themselves are compared.
#[test]
fn on_mysql_8_the_statements_say_what_sqlalchemy_would() {
    let statements = ferroflow_db::testing::ddl_as_json(ferroflow_db::Dialect::MySql);
    let compared = Airflow::on("sqlite:////nowhere/airflow.db").python(
        "testdata/schema/mysql8_types.py",
        &[],
        &statements,
    );
    compared.expect_success();
}

/// The first differences, instead of two texts of thousands of lines.
fn assert_same_lines(left: &str, right: &str) {
    let differences: Vec<String> = left
        .lines()
        .zip(right.lines())
        .enumerate()
        .filter(|(_, (left, right))| left != right)
        .map(|(number, (left, right))| format!("line {number}\n  ours    {left}\n  theirs  {right}"))
        .take(5)
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(left.lines().count(), right.lines().count());
}
