//! What fuzzers found worth keeping, asked what the fuzzers ask.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets are crates of their own")]
mod targets;

use std::path::Path;

#[test]
fn the_corpus_of_cron_expressions() {
    for_each_file("cron", targets::cron);
}

#[test]
fn the_corpus_of_timetables() {
    for_each_file("timetable", targets::timetable);
}

#[test]
fn the_corpus_of_dags() {
    for_each_file("decode_dag", targets::decode_dag);
}

fn for_each_file(target: &str, ask: impl Fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut asked = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        if let Ok(text) = str::from_utf8(&bytes) {
            ask(text);
            asked += 1;
        }
    }
    assert!(asked >= 20, "{} has only {asked} files", folder.display());
}
