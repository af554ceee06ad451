//! When a DAG that was parsed again gets a new version.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The version of a DAG with the greatest number, and what is stored with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatestVersion<'a> {
    /// The hash of its document; `None` if the document is missing.
    pub dag_hash: Option<&'a str>,
    /// When its document was last written.
    pub written_at: Option<Timestamp>,
    /// The hash of its source text; `None` if the text is missing.
    pub source_hash: Option<&'a str>,
    /// The bundle that it came from.
    pub bundle_name: Option<&'a str>,
    /// The version of that bundle.
    pub bundle_version: Option<&'a str>,
    /// What the bundle noted about its version.
    pub version_data: Option<&'a Value>,
    /// Whether any task instance was made from it. What ran is not rewritten.
    pub has_task_instances: bool,
}

/// What a parse has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewContent<'a> {
    /// The hash of the document.
    pub dag_hash: &'a str,
    /// The hash of the source text.
    pub source_hash: &'a str,
    /// The bundle that it comes from.
    pub bundle_name: &'a str,
    /// The version of that bundle.
    pub bundle_version: Option<&'a str>,
    /// What the bundle notes about its version.
    pub version_data: Option<&'a Value>,
}

/// What becomes of the versions of a DAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// There was none: this is version 1.
    First,
    /// The DAG is what it was.
    Unchanged,
    /// The DAG is another, but its document was written so shortly before that it waits for a later parse.
    Throttled,
    /// The DAG is what it was, in another version of its bundle, which the latest version points to now.
    BundleMoved,
    /// The DAG is another, and nothing ran in its latest version, which becomes the new one.
    RewriteInPlace,
    /// The DAG is another.
    NewVersion,
}

/// Decides. `interval` is the least time between two writes of a document.
///
/// A file whose source text changed does not wait: Airflow keeps such a change back, too, and shows the new text
/// beside the old DAG meanwhile.
pub fn decide(
    latest: Option<&LatestVersion<'_>>,
    new: &NewContent<'_>,
    interval: SignedDuration,
    now: Timestamp,
) -> VersionChange {
    let Some(latest) = latest else { return VersionChange::First };
    let is_same = latest.dag_hash == Some(new.dag_hash) && latest.bundle_name == Some(new.bundle_name);
    let has_moved = latest.bundle_version != new.bundle_version || latest.version_data != new.version_data;
    if is_same && !has_moved {
        return VersionChange::Unchanged;
    }
    let is_source_same = latest.source_hash.is_none_or(|hash| hash == new.source_hash);
    if is_source_same && latest.written_at.is_some_and(|at| is_within(at, interval, now)) {
        return VersionChange::Throttled;
    }
    match (is_same, latest.has_task_instances) {
        (true, _) => VersionChange::BundleMoved,
        (false, false) => VersionChange::RewriteInPlace,
        (false, true) => VersionChange::NewVersion,
    }
}

/// Whether less than `interval` has passed since `at`. A time ahead of `now` counts as well: Airflow compares so.
fn is_within(at: Timestamp, interval: SignedDuration, now: Timestamp) -> bool {
    now.checked_sub(interval).is_ok_and(|earliest| earliest < at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
    const INTERVAL: SignedDuration = SignedDuration::from_secs(30);

    fn latest() -> LatestVersion<'static> {
        LatestVersion {
            dag_hash: Some("h"),
            written_at: Some(NOW - INTERVAL),
            source_hash: Some("s"),
            bundle_name: Some("b"),
            bundle_version: None,
            version_data: None,
            has_task_instances: true,
        }
    }

    fn new() -> NewContent<'static> {
        NewContent {
            dag_hash: "h",
            source_hash: "s",
            bundle_name: "b",
            bundle_version: None,
            version_data: None,
        }
    }

    fn decided(latest: LatestVersion<'_>, new: NewContent<'_>) -> VersionChange {
        decide(Some(&latest), &new, INTERVAL, NOW)
    }

    #[test]
    fn the_first_version_and_an_unchanged_dag() {
        assert_eq!(decide(None, &new(), INTERVAL, NOW), VersionChange::First);
        assert_eq!(decided(latest(), new()), VersionChange::Unchanged);
        // A comment was edited: the code is another matter.
        assert_eq!(decided(latest(), NewContent { source_hash: "s2", ..new() }), VersionChange::Unchanged);
    }

    #[test]
    fn what_ran_is_kept_and_what_did_not_is_rewritten() {
        let changed = NewContent { dag_hash: "h2", ..new() };
        assert_eq!(decided(latest(), changed), VersionChange::NewVersion);
        let unused = LatestVersion { has_task_instances: false, ..latest() };
        assert_eq!(decided(unused, changed), VersionChange::RewriteInPlace);
        let moved = NewContent { bundle_name: "b2", ..new() };
        assert_eq!(decided(latest(), moved), VersionChange::NewVersion);
        assert_eq!(decided(unused, moved), VersionChange::RewriteInPlace);
    }

    #[test]
    fn another_version_of_the_bundle_is_pointed_to() {
        let data = json!({"commit": 1});
        let versions = [
            NewContent { bundle_version: Some("v2"), ..new() },
            NewContent { version_data: Some(&data), ..new() },
        ];
        for new in versions {
            assert_eq!(decided(latest(), new), VersionChange::BundleMoved);
        }
        let known = LatestVersion { version_data: Some(&data), bundle_version: Some("v2"), ..latest() };
        let new = NewContent { version_data: Some(&data), bundle_version: Some("v2"), ..new() };
        assert_eq!(decided(known, new), VersionChange::Unchanged);
    }

    #[test]
    fn what_was_just_written_waits_unless_its_source_changed() {
        let fresh =
            LatestVersion { written_at: Some(NOW - INTERVAL + SignedDuration::from_micros(1)), ..latest() };
        let changed = NewContent { dag_hash: "h2", ..new() };
        assert_eq!(decided(fresh, changed), VersionChange::Throttled);
        assert_eq!(decided(latest(), changed), VersionChange::NewVersion);
        assert_eq!(
            decided(fresh, NewContent { bundle_version: Some("v"), ..new() }),
            VersionChange::Throttled
        );
        assert_eq!(decided(fresh, NewContent { source_hash: "s2", ..changed }), VersionChange::NewVersion);
        assert_eq!(decided(LatestVersion { source_hash: None, ..fresh }, changed), VersionChange::Throttled);
    }

    #[test]
    fn a_version_that_lost_its_document_gets_one() {
        let lost = LatestVersion { dag_hash: None, written_at: None, ..latest() };
        assert_eq!(decided(lost, new()), VersionChange::NewVersion);
        let unused = LatestVersion { has_task_instances: false, ..lost };
        assert_eq!(decided(unused, new()), VersionChange::RewriteInPlace);
    }
}
