//! A database for one test.

mod templates;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroflow_db::log_template::{LogTemplate, LogTemplates};
use ferroflow_db::schema::Creation;
use ferroflow_db::testing::{disconnect_everybody, execute, texts};
use ferroflow_db::{Db, Options};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::given;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// A file of its own.
    Sqlite,
    /// The PostgreSQL server that `./test` started.
    Postgres,
    /// The MariaDB server that `./test` started.
    MariaDb,
}

impl Server {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::MariaDb];
}

/// A database that nobody else uses. It is gone when this is dropped.
#[derive(Debug)]
pub struct TestDb {
    pub(crate) server: Server,
    name: String,
    folder: Option<TempDir>,
}

/// What Airflow's defaults say about new databases.
pub fn creation() -> Creation {
    Creation {
        id_collation: None,
        default_pool_slots: 128,
        log_templates: LogTemplates {
            current: LogTemplate {
                filename: "dag_id={{ ti.dag_id }}/run_id={{ ti.run_id }}/task_id={{ ti.task_id }}/\
                           {% if ti.map_index >= 0 %}map_index={{ ti.map_index }}/{% endif %}\
                           attempt={{ try_number|default(ti.try_number) }}.log"
                    .to_owned(),
                elasticsearch_id: "{dag_id}-{task_id}-{run_id}-{map_index}-{try_number}".to_owned(),
            },
            is_default: true,
            superseded: None,
        },
        now: Timestamp::constant(1_800_000_000, 0),
    }
}

impl TestDb {
    /// One without tables. SQLite's file does not exist yet.
    pub async fn empty(server: Server) -> Self {
        let db = Self::unmade(server);
        match server {
            Server::Sqlite => {}
            Server::Postgres => db.administer(format!("CREATE DATABASE {}", db.name)).await,
            Server::MariaDb => {
                db.administer(format!("CREATE DATABASE {} CHARACTER SET utf8mb4", db.name)).await;
            }
        }
        db
    }

    /// One with all tables, as `ferroflow db migrate` makes them: copied where that is cheaper than making it.
    pub async fn migrated(server: Server) -> Self {
        match server {
            Server::Sqlite => {
                let db = Self::unmade(server);
                std::fs::copy(templates::sqlite().await, db.sqlite_path()).expect("the template is copied");
                db
            }
            Server::Postgres => {
                let template = templates::postgres().await;
                let db = Self::unmade(server);
                db.administer(format!("CREATE DATABASE {} TEMPLATE {template}", db.name)).await;
                db
            }
            Server::MariaDb => {
                let statements = templates::mariadb().await;
                let db = Self::empty(server).await;
                db.execute(statements).await;
                db
            }
        }
    }

    /// Another one with the same rows. Nobody may be connected to this one. On MariaDB no foreign key comes with it.
    pub async fn copy(&self) -> Self {
        let copy = Self::unmade(self.server);
        match self.server {
            Server::Sqlite => {
                std::fs::copy(self.sqlite_path(), copy.sqlite_path()).expect("the file is copied");
            }
            Server::Postgres => {
                copy.administer(format!("CREATE DATABASE {} TEMPLATE {}", copy.name, self.name)).await;
            }
            Server::MariaDb => {
                copy.administer(format!("CREATE DATABASE {} CHARACTER SET utf8mb4", copy.name)).await;
                let (from, to) = (&self.name, &copy.name);
                let db = self.connect().await;
                let question = "SELECT table_name AS answer FROM information_schema.tables WHERE table_schema = DATABASE()";
                let mut statements = String::from("SET foreign_key_checks = 0;");
                for table in texts(&db, question).await.expect("the tables are told") {
                    write!(
                        statements,
                        "CREATE TABLE {to}.`{table}` LIKE {from}.`{table}`;
                         INSERT INTO {to}.`{table}` SELECT * FROM {from}.`{table}`;"
                    )
                    .expect("a string takes everything");
                }
                db.close().await;
                copy.administer(statements).await;
            }
        }
        copy
    }

    /// The URL, as Airflow's configuration has it.
    pub fn url(&self) -> String {
        match self.server {
            Server::Sqlite => format!("sqlite:///{}", self.sqlite_path().display()),
            Server::Postgres => {
                let server = given("POSTGRES").replacen("postgresql://", "postgresql+psycopg2://", 1);
                with_database(&server, &self.name)
            }
            Server::MariaDb => {
                let server = given("MARIADB").replacen("mysql://", "mysql+pymysql://", 1);
                with_database(&server, &self.name)
            }
        }
    }

    /// How a test connects: with Airflow's defaults.
    pub fn options(&self) -> Options {
        Options::new(self.url())
    }

    /// A connection.
    pub async fn connect(&self) -> Db {
        Db::connect(&self.options()).await.expect("the test's database answers")
    }

    /// The name on its server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, of SQLite.
    pub fn sqlite_path(&self) -> PathBuf {
        self.folder.as_ref().expect("only SQLite has a file").path().join("airflow.db")
    }

    /// Runs SQL as the server's administrator, in this database.
    pub async fn execute(&self, statement: impl Into<String>) {
        let url = match self.server {
            Server::Sqlite => format!("sqlite://{}?mode=rwc", self.sqlite_path().display()),
            Server::Postgres => with_database(&given("POSTGRES"), &self.name),
            Server::MariaDb => with_database(&given("MARIADB"), &self.name),
        };
        execute(&url, &[statement.into()]).await.expect("the statement succeeds");
    }

    /// Ends every connection to this database, as a server does that goes down.
    pub async fn disconnect_everybody(&self) {
        disconnect_everybody(&server_url(self.server), &self.name)
            .await
            .expect("the server ends connections");
    }

    async fn administer(&self, statement: String) {
        execute(&server_url(self.server), &[statement]).await.expect("the server does as it is told");
    }

    fn unmade(server: Server) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            server,
            name: format!("test_{}_{number}", std::process::id()),
            folder: (server == Server::Sqlite).then(|| TempDir::new().expect("a temporary folder is made")),
        }
    }
}

/// The server's database goes with its test, whose connections may still be open.
impl Drop for TestDb {
    fn drop(&mut self) {
        let statement = match self.server {
            Server::Sqlite => return,
            Server::Postgres => format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name),
            Server::MariaDb => format!("DROP DATABASE IF EXISTS {}", self.name),
        };
        let (server, name) = (server_url(self.server), self.name.clone());
        // The test's own runtime cannot be waited for from here.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| {
                // An unfinished transaction of a test that failed would keep its tables from being dropped.
                runtime
                    .block_on(disconnect_everybody(&server, &name))
                    .and_then(|()| runtime.block_on(execute(&server, &[statement])))
            })
        });
        drop(dropped.join());
    }
}

fn server_url(server: Server) -> String {
    match server {
        Server::Sqlite => unreachable!("SQLite has no server"),
        Server::Postgres => given("POSTGRES"),
        Server::MariaDb => given("MARIADB"),
    }
}

/// The URL of another database on the same server.
fn with_database(server: &str, database: &str) -> String {
    let (start, _) = server.rsplit_once('/').expect("a server's URL has a path");
    format!("{start}/{database}")
}
