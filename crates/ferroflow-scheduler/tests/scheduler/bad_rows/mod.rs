//! One value of a working database is spoilt, by what its column admits and no component should meet: an unknown word,
//! NaN, nothing, a far date, an id that refers to nothing, a text of a megabyte. Whatever it is, every cycle comes to its
//! end, no run of another DAG waits for it, and if its own does, it can be seen why.
//!
//! Of each column that schedulers read some values are tried on SQLite, and a few on the servers. `FERROFLOW_BAD_ROWS`
//! asks for more: `some` for as many on the servers, `all` for every value of every column everywhere, `dag_run.conf` for
//! those of one column (or of one table), with what is seen of each.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod capture;
mod cases;
mod judge;
mod life;
use crate::driven::sketch;
use crate::runs::place;
mod trial;
mod values;
use crate::simulation::workers;
mod world;

use ferroflow_testkit::Server;

use cases::Wanted;

/// How many cases are tried on each server if nobody asks for more.
const A_FEW: usize = 12;

#[test]
fn no_spoilt_value_stops_another_dag_on_sqlite() {
    let tried = trial::try_cases(Server::Sqlite, &Wanted::asked(None));
    assert!(tried >= 300 || Wanted::is_some_asked(), "only {tried} values could be spoilt");
}

#[test]
fn no_spoilt_value_stops_another_dag_on_postgres() {
    let tried = trial::try_cases(Server::Postgres, &Wanted::asked(Some(A_FEW)));
    assert!(tried >= A_FEW / 2 || Wanted::is_some_asked(), "only {tried} values could be spoilt");
}

#[test]
fn no_spoilt_value_stops_another_dag_on_mariadb() {
    let tried = trial::try_cases(Server::MariaDb, &Wanted::asked(Some(A_FEW)));
    assert!(tried >= A_FEW / 2 || Wanted::is_some_asked(), "only {tried} values could be spoilt");
}
