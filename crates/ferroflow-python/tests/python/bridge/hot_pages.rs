//! Memory that is copied before a task is told to run.

use crate::bridge::support::Bridge;

/// Tells of each list how many pages are on it, and how many of them the process has for itself: before they are
/// copied, and after.
const COUNT: &str = "
from airflow.sdk import DAG
from ferroflow_bridge import hot_pages

dag = DAG('counting', schedule=None)
counts = []
for pages in (hot_pages.OF_TASK, hot_pages.OF_IMPORTED_TASK):
    listed = {piece.base for pieces in pages.calls for piece in pieces}
    counts += [len(listed), len(listed & set(hot_pages._pages_of_its_own()))]
    pages.copy()
    counts.append(len(listed & set(hot_pages._pages_of_its_own())))
print('counts', *counts)
";

#[tokio::test]
async fn the_memory_that_a_task_writes_to_is_known_and_copied() {
    let bridge = Bridge::shared().await;
    let parsed = bridge.parsed(COUNT).await;
    assert_eq!((parsed.dags.len(), &parsed.import_errors[..]), (1, &[][..]));
    let lines = bridge.lines.0.lock().unwrap();
    let counts = lines.iter().find_map(|(_, line)| line.strip_prefix("counts ")).unwrap();
    let counts: Vec<usize> = counts.split(' ').map(|count| count.parse().unwrap()).collect();
    let [all, own_before, copied, all_imported, _, copied_imported] = counts[..] else {
        panic!("{counts:?}");
    };
    assert!(all > 500, "{counts:?}");
    assert!(own_before < all, "{counts:?}");
    assert!((100..all).contains(&all_imported), "importing is not among it: {counts:?}");
    assert_eq!((copied, copied_imported), (all, all_imported));
}
