//! Secrets in every table that holds some.

use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, fernet_rotation};
use ferroflow_testkit::{Server, TestDb};

use crate::{NOW, on_every_database};

on_every_database!(
    all_secrets_move_to_the_first_key,
    a_value_of_an_unknown_key_is_named_and_nothing_is_changed
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
