//! A trigger that somebody has put into a database, and that refuses some rows for a reason of its own.

use crate::{Server, TestDb};

impl TestDb {
    /// Has the database refuse a change (`INSERT`, `UPDATE`, `DELETE`) of rows of which this is so.
    pub async fn refuse(&self, change: &str, table: &str, condition: &str) {
        if self.server == Server::Postgres {
            let raise = "BEGIN RAISE EXCEPTION 'not this one'; END";
            let function = "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql";
            self.execute(format!("{function} AS $${raise}$$")).await;
        }
        let trigger = format!("CREATE TRIGGER refusal BEFORE {change} ON {table} FOR EACH ROW");
        let trigger = match self.server {
            Server::Sqlite => {
                format!("{trigger} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'not this one'); END")
            }
            Server::Postgres => format!("{trigger} WHEN ({condition}) EXECUTE FUNCTION refuse()"),
            Server::MariaDb => format!(
                "{trigger} BEGIN IF {condition} THEN \
                 SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF; END"
            ),
        };
        self.execute(trigger).await;
    }

    /// Has it take these again.
    pub async fn refuse_no_more(&self, table: &str) {
        let of_table = if self.server == Server::Postgres { format!(" ON {table}") } else { String::new() };
        self.execute(format!("DROP TRIGGER refusal{of_table}")).await;
    }
}
