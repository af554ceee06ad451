//! Airflow's guess whether a file holds DAGs: its text speaks of Airflow, and of a DAG or an asset.

use std::io::{self, Read};

use memchr::memmem;

/// Big enough for nearly every DAG file at once.
const WINDOW: usize = 64 * 1024;

/// What may be cut in two by the end of a window: one less than the longest word.
const OVERLAP: usize = "airflow".len() - 1;

/// Whether the words occur, in any mix of upper and lower case. Reads no further than it must.
pub(super) fn might_contain_dag(mut content: impl Read) -> io::Result<bool> {
    let mut window = vec![0; WINDOW + OVERLAP];
    let (mut kept, mut airflow, mut dag_or_asset) = (0, false, false);
    loop {
        let read = match content.read(&mut window[kept..]) {
            Ok(0) => return Ok(false),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = kept + read;
        window[kept..filled].make_ascii_lowercase();
        let seen = &window[..filled];
        airflow = airflow || holds(seen, b"airflow");
        dag_or_asset = dag_or_asset || holds(seen, b"dag") || holds(seen, b"asset");
        if airflow && dag_or_asset {
            return Ok(true);
        }
        kept = filled.min(OVERLAP);
        window.copy_within(filled - kept..filled, 0);
    }
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    memmem::find(text, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::{OVERLAP, WINDOW, might_contain_dag};

    #[test]
    fn both_words_are_needed_in_any_case() {
        for (text, expected) in [
            ("from AirFlow import DaG", true),
            ("airflow ASSETs", true),
            ("airflow alone", false),
            ("a dag and an asset", false),
            ("", false),
        ] {
            assert_eq!(might_contain_dag(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_word_across_two_windows_is_seen() {
        for before in WINDOW - 10..WINDOW + OVERLAP + 10 {
            let text = [vec![b' '; before], b"airflow dag".to_vec()].concat();
            assert!(might_contain_dag(text.as_slice()).unwrap(), "{before}");
        }
    }

    #[test]
    fn bytes_that_come_one_by_one_are_seen() {
        struct OneByOne<'a>(&'a [u8]);
        impl std::io::Read for OneByOne<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
                buffer[0] = *first;
                self.0 = rest;
                Ok(1)
            }
        }
        assert!(might_contain_dag(OneByOne(b"x = 'asset of airflow'")).unwrap());
    }
}
