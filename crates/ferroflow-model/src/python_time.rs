//! Times as Python writes them.

use jiff::Timestamp;

/// `str(datetime)`, in UTC.
pub fn python_datetime(at: Timestamp) -> String {
    written(at, ' ')
}

/// `datetime.isoformat()`, in UTC.
pub fn python_isoformat(at: Timestamp) -> String {
    written(at, 'T')
}

fn written(at: Timestamp, between: char) -> String {
    let has_microseconds = at.subsec_nanosecond() / 1000 != 0;
    let fraction = if has_microseconds { "%.6f" } else { "" };
    at.strftime(&format!("%Y-%m-%d{between}%H:%M:%S{fraction}+00:00")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_written_where_there_are_any() {
        let at: Timestamp = "2026-03-01T06:07:08Z".parse().unwrap();
        assert_eq!(python_datetime(at), "2026-03-01 06:07:08+00:00");
        let at: Timestamp = "2026-03-01T06:07:08.09Z".parse().unwrap();
        assert_eq!(python_isoformat(at), "2026-03-01T06:07:08.090000+00:00");
    }
}
