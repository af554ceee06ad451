//! Other extension points, by the real Airflow.

use crate::helpers::home::Home;
use ferroflow_python::extensions::{Discovery, Listeners, SecretsBackends};

#[tokio::test]
async fn somebody_s_own_function_chooses_files() {
    let home = Home::shared().await;
    let paths = ["/dags/wanted.py", "/dags/other.py", "/dags/bad.py"].map(Into::into);
    let answers = Discovery::new(home.server.clone()).might_contain_dag(&paths, None).await.unwrap();
    assert_eq!(answers[..2], [Ok(true), Ok(false)]);
    assert_eq!(answers[2].as_ref().unwrap_err().to_string(), "ValueError: cannot tell: bad.py");
}

#[tokio::test]
async fn listeners_hear_of_import_errors() {
    let home = Home::shared().await;
    let listeners = Listeners::new(home.server.clone());
    assert!(listeners.hear_import_errors().await.unwrap());
    let file = home.path().join("broken.py");
    for (is_new, heard) in [(true, "new: NameError"), (false, "again: NameError")] {
        listeners.tell_import_error(&file, "NameError", is_new).await.unwrap();
        assert_eq!(std::fs::read_to_string(home.path().join("broken.heard")).unwrap(), heard);
    }
}

#[tokio::test]
async fn a_secrets_backend_is_asked() {
    let home = Home::shared().await;
    let backends = SecretsBackends::new(home.server.clone());
    let connection = backends.connection("mine", None).await.unwrap().unwrap();
    assert_eq!((connection.conn_type.as_deref(), connection.port), (Some("postgres"), Some(5433)));
    assert_eq!(connection.password.as_deref(), Some("s3cret"));
    assert!(!format!("{connection:?}").contains("s3cret"));
    assert_eq!(backends.connection("unknown", None).await.unwrap(), None);
    let broken = backends.connection("broken", None).await.unwrap_err();
    assert_eq!(broken.to_string(), "RuntimeError: the vault is sealed");
    assert_eq!(backends.variable("mine", None).await.unwrap().as_deref(), Some("from the vault"));
    assert_eq!(backends.variable("other", None).await.unwrap(), None);
}
