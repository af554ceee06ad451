//! Which DAGs are not there any more.
//!
//! A DAG is gone when its bundle is not configured any more, or when its file was parsed and stored without it for long
//! enough. (That its file is gone is seen where files are listed.) It is never gone because the parser was late, crashed or ran out of time.

use jiff::{SignedDuration, Timestamp};

/// Where a DAG was found last.
#[derive(Clone, Copy, Debug)]
pub struct Whereabouts<'a> {
    /// The bundle, if one is known.
    pub bundle: Option<&'a str>,
    /// The file within the bundle, or the member of an archive in it.
    pub file: Option<&'a str>,
    /// When it was found there.
    pub found: Option<Timestamp>,
}

/// Why a DAG is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Its bundle is not configured any more.
    WithItsBundle,
    /// Its file was parsed then, and did not have it.
    FromItsFile(Timestamp),
}

/// Whether a DAG is gone from a file that is still there. `stored` tells when the result of a file was last stored.
pub fn judge(
    dag: Whereabouts<'_>,
    bundle_is_active: bool,
    stored: impl Fn(&str, &str) -> Option<Timestamp>,
    threshold: SignedDuration,
) -> Option<Gone> {
    let Some(bundle) = dag.bundle.filter(|_| bundle_is_active) else { return Some(Gone::WithItsBundle) };
    let (file, found) = (dag.file?, dag.found?);
    // What is in an archive is parsed with the archive.
    let stored = stored(bundle, file).or_else(|| stored(bundle, file.rsplit_once('/')?.0))?;
    let expires = found.checked_add(threshold).unwrap_or(Timestamp::MAX);
    (expires < stored).then_some(Gone::FromItsFile(stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: SignedDuration = SignedDuration::from_secs(50);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn gone(file: Option<&str>, found: Option<i64>, active: bool, stored: Option<i64>) -> Option<Gone> {
        let dag = Whereabouts { bundle: Some("dags"), file, found: found.map(at) };
        let stored = |bundle: &str, path: &str| {
            ((bundle, path) == ("dags", "a.py") || path == "b.zip").then_some(()).and(stored).map(at)
        };
        judge(dag, active, stored, THRESHOLD)
    }

    #[test]
    fn a_dag_is_gone_when_its_file_was_stored_without_it_for_long_enough() {
        assert_eq!(gone(Some("a.py"), Some(100), true, Some(150)), None);
        assert_eq!(gone(Some("a.py"), Some(100), true, Some(151)), Some(Gone::FromItsFile(at(151))));
        assert_eq!(gone(Some("b.zip/c.py"), Some(100), true, Some(151)), Some(Gone::FromItsFile(at(151))));
    }

    #[test]
    fn a_file_that_nobody_has_stored_says_nothing() {
        assert_eq!(gone(Some("a.py"), Some(100), true, None), None);
        assert_eq!(gone(Some("other.py"), Some(100), true, Some(1000)), None);
        assert_eq!(gone(None, Some(100), true, Some(1000)), None);
        assert_eq!(gone(Some("a.py"), None, true, Some(1000)), None);
    }

    #[test]
    fn a_dag_goes_with_its_bundle() {
        assert_eq!(gone(Some("a.py"), Some(100), false, None), Some(Gone::WithItsBundle));
        let nowhere = Whereabouts { bundle: None, file: None, found: None };
        assert_eq!(judge(nowhere, true, |_, _| None, THRESHOLD), Some(Gone::WithItsBundle));
    }
}
