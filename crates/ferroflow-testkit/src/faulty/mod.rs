//! Something between a test and its database server that knows what is said: it can cut the connection, delay the
//! statement or answer in the server's place, at any statement it is told.
//!
//! Statements are known by their text. A COMMIT is known by the statements that it commits, so that each kind of
//! transaction can be lost by itself.

mod mysql;
mod postgres;
mod spoken;
mod wire;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_db::DatabaseUrl;
use tokio::net::{TcpListener, TcpStream};

use crate::{Server, TestDb};

/// What goes wrong at a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection breaks before the server hears the statement.
    CutBefore,
    /// The connection breaks once the server has done it, and nobody hears so.
    CutAfter,
    /// The server does not do it, and says why: by the SQLSTATE of PostgreSQL, or the number of MariaDB.
    Refuse(&'static str),
    /// It takes so long until the server hears it.
    Delay(Duration),
}

/// The way to a database server on which things go wrong.
#[derive(Debug)]
pub struct Faulty {
    url: String,
    plan: Arc<Mutex<Plan>>,
}

/// What is to go wrong, and what was said.
#[derive(Debug, Default)]
struct Plan {
    said: Vec<String>,
    faults: VecDeque<(String, Fault)>,
}

impl Faulty {
    /// A way to the database of a test, on PostgreSQL or MariaDB.
    pub async fn way_to(server: Server, database: &TestDb) -> Self {
        let direct = database.url();
        let port = DatabaseUrl::parse(&direct).ok().and_then(|url| url.port).expect("a server has a port");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let own_port = listener.local_addr().expect("it listens somewhere").port();
        let encryption = if server == Server::Postgres { "sslmode=disable" } else { "ssl_mode=DISABLED" };
        let url = direct.replacen(&format!(":{port}/"), &format!(":{own_port}/"), 1) + "?" + encryption;
        let plan = Arc::<Mutex<Plan>>::default();
        let shared = Arc::clone(&plan);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let plan = Arc::clone(&shared);
                tokio::spawn(async move {
                    let to = TcpStream::connect(("127.0.0.1", port)).await?;
                    for stream in [&client, &to] {
                        stream.set_nodelay(true)?;
                    }
                    // However it ends, both sides are hung up on.
                    match server {
                        Server::Postgres => postgres::serve(client, to, &plan).await,
                        _ => mysql::serve(client, to, &plan).await,
                    }
                });
            }
        });
        Self { url, plan }
    }

    /// The URL, as Airflow's configuration has it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes something go wrong when this is said next. Of several, each waits for its own.
    pub fn plan(&self, statement: &str, fault: Fault) {
        lock(&self.plan).faults.push_back((statement.to_owned(), fault));
    }

    /// What has not gone wrong yet. Nothing does any more.
    pub fn unmet(&self) -> Vec<(String, Fault)> {
        lock(&self.plan).faults.drain(..).collect()
    }

    /// What was said since this was last asked.
    pub fn said(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.plan).said)
    }
}

/// Notes what is said, and tells what goes wrong with it.
fn meet(plan: &Mutex<Plan>, said: String) -> Option<Fault> {
    let mut plan = lock(plan);
    let planned = plan.faults.iter().position(|(statement, _)| *statement == said);
    plan.said.push(said);
    planned.and_then(|place| plan.faults.remove(place)).map(|(_, fault)| fault)
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}
