//! What `./test` tells its tests.

/// The value of `FERROFLOW_TEST_<name>`.
#[expect(
    clippy::disallowed_methods,
    reason = "tests learn of their servers from ./test, not from airflow.cfg"
)]
pub fn given(name: &str) -> String {
    let variable = format!("FERROFLOW_TEST_{name}");
    std::env::var(&variable).unwrap_or_else(|_| {
        panic!("{variable} is not set; run tests by ./test, or some of them by: ./test -- cargo test …")
    })
}
