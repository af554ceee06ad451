use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::Json;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::texts;
use ferroflow_model::state::TriggeredBy;
use ferroflow_operations::secrets::Secrets;
use ferroflow_operations::{Caller, Operations};
use ferroflow_testkit::{Server, TestDb};
use serde_json::{Map, Value, json};

/// Encrypts nothing of value.
const KEY: &str = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3Igc2VjcmV0cyE=";

/// Operations on a database with nothing in it but the default pool.
pub(crate) struct Fixture {
    pub(crate) database: TestDb,
    pub(crate) configuration: Configuration,
    pub(crate) operations: Operations,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same with environment variables.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        let home = Environment::empty("/nonexistent").with("AIRFLOW_HOME", "/nonexistent");
        let environment = variables.iter().fold(home, |all, (name, value)| all.with(*name, *value));
        let configuration = Configuration::load(&environment).unwrap();
        let settings = Arc::new(Settings::load(&configuration).unwrap());
        let database = TestDb::migrated(Server::Sqlite).await;
        let secrets = Secrets {
            db: database.connect().await,
            fernet: Arc::new(Fernet::new(KEY).unwrap()),
            environment: Arc::new(environment),
            backend: None,
        };
        let caller = Caller {
            user: "ada".to_owned(),
            unixname: "airflow".to_owned(),
            triggered_by: TriggeredBy::Cli,
            event_prefix: "cli_",
            audit_extra: Json::from(json!({"host_name": "here"})),
        };
        Self { database, configuration, operations: Operations::new(settings, secrets, caller) }
    }

    /// What the audit log has, the first event first.
    pub(crate) async fn events(&self) -> Vec<String> {
        self.texts("SELECT event AS answer FROM log ORDER BY id").await
    }

    pub(crate) async fn texts(&self, question: &str) -> Vec<String> {
        texts(&self.operations.db, question).await.unwrap()
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}
