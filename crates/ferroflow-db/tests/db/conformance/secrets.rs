//! Secrets in every table that holds some.

use ferroflow_db::connection::{self, Connection};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::encoding::fernet_rotation;
use ferroflow_db::{Db, Error, ScopedFutureExt as _};
use ferroflow_testkit::{Server, TestDb};

use crate::conformance::NOW;

ferroflow_testkit::on_every_database!(
    all_secrets_move_to_the_first_key,
    a_value_of_an_unknown_key_is_named_and_nothing_is_changed,
    connections_are_listed_changed_and_deleted
);

const OLD: &str = "ibDyYbi7Mxd0KIQpwnQNjFxqjRxX3rL0y4V7s6YqL5o=";
const NEW: &str = "qZ8oEw1R3h2yb6X9wQ4m1FJ2l0a5s7D8kTzYc3uVn9E=";

async fn all_secrets_move_to_the_first_key(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    insert_secrets(&database, server, OLD).await;
    let expected = [1, 1, 1, 1, 1, 1];
    assert_eq!(rotate(&db, &format!("{NEW},{OLD}")).await.unwrap(), expected);
    // Without the old key now: every one of them opens.
    assert_eq!(rotate(&db, NEW).await.unwrap(), expected);
}

async fn a_value_of_an_unknown_key_is_named_and_nothing_is_changed(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    insert_secrets(&database, server, OLD).await;
    let lost = Fernet::new(NEW).unwrap().encrypt("secret", NOW).text;
    database.execute(format!("UPDATE variable SET val = '{lost}'")).await;
    let error = rotate(&db, OLD).await.unwrap_err();
    assert_eq!(error.to_string(), "variable \"v\", column val, cannot be read");
    database.execute(format!("UPDATE variable SET val = '{}'", token(OLD))).await;
    assert_eq!(rotate(&db, OLD).await.unwrap(), [1; 6], "what came before the variable still has its key");
}

async fn connections_are_listed_changed_and_deleted(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let (fernet, key_lost) = (&Fernet::new(OLD).unwrap(), &Fernet::new(NEW).unwrap());
    let second = &Connection { conn_id: "second".to_owned(), ..connection("x", Some("p"), Some("{}")) };
    let (first, changed) = (&connection("x", Some("p"), Some("{}")), &connection("y", None, None));
    let work = db.transact(|tx| {
        async move {
            connection::insert(tx, fernet, first, NOW).await?;
            connection::insert(tx, fernet, second, NOW).await?;
            let names = connection::names(tx).await?;
            assert_eq!(
                names,
                [("c", "x"), ("second", "x")].map(|(id, kind)| (id.to_owned(), kind.to_owned()))
            );
            let all = connection::all(tx, fernet).await?;
            assert!(
                all.iter().map(|one| &one.connection).eq([first, second]) && all[0].is_encrypted,
                "{all:?}"
            );

            connection::overwrite(tx, key_lost, changed, true, NOW).await?;
            let found = connection::find_stored(tx, fernet, "c").await?.unwrap();
            assert_eq!((found.id, found.is_encrypted), (all[0].id, true));
            assert_eq!(found.connection, connection("y", Some("p"), Some("{}")), "secrets stay");
            connection::overwrite(tx, fernet, &connection("y", Some("q"), None), false, NOW).await?;
            assert_eq!(connection::find(tx, fernet, "c").await?, Some(connection("y", Some("q"), None)));
            assert_eq!(
                connection::find(tx, fernet, "second").await?.as_ref(),
                Some(second),
                "another one stays"
            );

            assert!(connection::delete(tx, "c").await? && !connection::delete(tx, "c").await?);
            assert!(!connection::exists(tx, "c").await? && connection::exists(tx, "second").await?);
            Ok(())
        }
        .scope_boxed()
    });
    work.await.unwrap();
}

fn connection(conn_type: &str, password: Option<&str>, extra: Option<&str>) -> Connection {
    Connection {
        conn_id: "c".to_owned(),
        conn_type: conn_type.to_owned(),
        description: Some(format!("to {conn_type}")),
        host: Some("h".to_owned()),
        schema: None,
        login: Some(String::new()),
        password: password.map(str::to_owned),
        port: Some(5),
        extra: extra.map(str::to_owned),
        team_name: None,
    }
}

async fn rotate(db: &Db, keys: &str) -> Result<Vec<u64>, Error> {
    let fernet = &Fernet::new(keys).unwrap();
    let rotated =
        db.transact(|tx| async move { fernet_rotation::rotate_all(tx, fernet).await }.scope_boxed()).await?;
    Ok(rotated.iter().map(|kind| kind.count).collect())
}

/// One secret of each kind, and a trigger that was stored when there was no key.
async fn insert_secrets(database: &TestDb, server: Server, key: &str) {
    let trigger = if server == Server::MariaDb { "`trigger`" } else { "\"trigger\"" };
    let variable_key = if server == Server::MariaDb { "`key`" } else { "\"key\"" };
    let token = token(key);
    let now = "'2026-11-15 12:00:00'";
    for statement in [
        format!(
            "INSERT INTO connection (conn_id, conn_type, password, extra, is_encrypted, is_extra_encrypted) \
             VALUES ('c', 'http', '{token}', '{token}', true, true)"
        ),
        format!("INSERT INTO variable ({variable_key}, val, is_encrypted) VALUES ('v', '{token}', true)"),
        format!("INSERT INTO {trigger} (classpath, kwargs, created_date) VALUES ('a.B', '{token}', {now})"),
        format!("INSERT INTO {trigger} (classpath, kwargs, created_date) VALUES ('a.B', '{{}}', {now})"),
        format!(
            "INSERT INTO connection_test_request \
             (id, token, connection_id, state, created_at, updated_at, conn_type, password, extra, \
             is_encrypted, is_extra_encrypted) \
             VALUES ('0192a1b2c3d47e8f9a0b1c2d3e4f5a6b', 't', 'c', 'pending', {now}, {now}, 'http', \
             '{token}', '{token}', true, true)"
        ),
    ] {
        database.execute(statement).await;
    }
}

fn token(key: &str) -> String {
    Fernet::new(key).unwrap().encrypt("secret", NOW).text
}
