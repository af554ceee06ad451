//! The answer about a run that exists.

/// What happens to a run in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a, Verdict> {
    /// Its DAG.
    pub dag_id: &'a str,
    /// Its name, unique within the DAG.
    pub run_id: &'a str,
    /// What happens.
    pub verdict: Verdict,
}
