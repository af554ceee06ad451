//! Connections, tests of them, and variables.

use ferroflow_db::connection::{self, Connection, test_request};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::change;
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Db, Dialect, Error, ScopedFutureExt as _, Tx};
use jiff::ToSpan as _;
use uuid::Uuid;

use super::within;
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { connections(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { variables(tx).await }.scope_boxed()).await;
    for id in [1, 2, 3] {
        ask_for_a_test(db, Uuid::from_u128(id)).await;
    }
    within(db, |tx| async move { tests(tx).await }.scope_boxed()).await;
}

async fn connections(tx: &mut Tx) -> Result<(), Error> {
    let fernet = Fernet::default();
    let own = Connection {
        conn_id: "own".to_owned(),
        conn_type: "http".to_owned(),
        description: None,
        host: Some("host".to_owned()),
        schema: None,
        login: None,
        password: Some("secret".to_owned()),
        port: Some(80),
        extra: Some("{}".to_owned()),
        team_name: None,
    };
    connection::insert(tx, &fernet, &own, NOW).await?;
    connection::overwrite(tx, &fernet, &own, false, NOW).await?;
    connection::store_tested(tx, &fernet, &own, NOW).await?;
    assert_eq!(connection::find(tx, &fernet, "own").await?, Some(own));
    assert_eq!(connection::all(tx, &fernet).await?.len(), 1);
    assert_eq!(connection::names(tx).await?.len(), 1);
    assert!(connection::delete(tx, "own").await?);
    Ok(())
}

async fn variables(tx: &mut Tx) -> Result<(), Error> {
    let fernet = Fernet::default();
    for key in ["a", "b"] {
        let one = Variable { key: key.to_owned(), val: "1".to_owned(), description: None, team_name: None };
        variable::set(tx, &fernet, &one, NOW).await?;
    }
    assert!(variable::get(tx, &fernet, "a").await?.is_some());
    assert_eq!(variable::all(tx, &fernet).await?.len(), 2);
    assert_eq!(variable::keys(tx, "", 10, 0).await?.0, 2);
    assert!(variable::delete(tx, "a").await?);
    assert!(variable::delete_visible(tx, "b", None).await?);
    Ok(())
}

/// An API server asks for them; nothing here does yet.
async fn ask_for_a_test(db: &Db, id: Uuid) {
    let id = match db.dialect() {
        Dialect::Postgres => id.hyphenated().to_string(),
        _ => id.simple().to_string(),
    };
    let insert = format!(
        "INSERT INTO connection_test_request (id, connection_id, state, created_at, updated_at, conn_type, \
         is_encrypted, is_extra_encrypted, commit_on_success, token) \
         VALUES ('{id}', 'own', 'pending', '2027-01-15 08:00:00', '2027-01-15 08:00:00', 'http', false, false, false, '{id}')"
    );
    change(db, &insert).await.unwrap();
}

async fn tests(tx: &mut Tx) -> Result<(), Error> {
    assert_eq!(test_request::counts(tx).await?.pending, 3);
    let pending = test_request::lock_pending(tx, 10).await?;
    assert_eq!(pending.len(), 3);
    assert!(test_request::queue(tx, pending[0].id, NOW).await?);
    assert!(test_request::find(tx, &Fernet::default(), pending[0].id).await?.is_some());
    assert!(test_request::begin(tx, pending[0].id, NOW).await?);
    assert_eq!(test_request::lock_stale(tx, NOW + 1.hour(), 10).await?.len(), 3);
    assert!(test_request::end(tx, pending[0].id, true, None, NOW).await?);
    assert!(test_request::fail(tx, pending[1].id, "pending", "why", NOW).await?);
    Ok(())
}
