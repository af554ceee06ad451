//! Every operation on every database, and the rows that Airflow and ferroflow read of each other.

mod conformance;
mod round_trip;
mod urls;
