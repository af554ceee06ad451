//! Taking turns.

use jiff::Timestamp;

/// Something, and since when it waits.
pub(super) struct Waiting<T> {
    pub(super) since: Timestamp,
    pub(super) what: T,
}

/// Round after round, each lane gives the first that it still has. Within a round, who waits longest is
/// first: a limit that ends in the middle of one does not always cut off the same lane.
pub(super) fn take_turns<T>(lanes: impl IntoIterator<Item = Vec<Waiting<T>>>) -> Vec<Waiting<T>> {
    let mut all = Vec::new();
    for (lane, waiting) in lanes.into_iter().enumerate() {
        for (round, one) in waiting.into_iter().enumerate() {
            all.push((round, one.since, lane, one));
        }
    }
    all.sort_by_key(|(round, since, lane, _)| (*round, *since, *lane));
    all.into_iter().map(|(.., one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_gives_one_per_round_and_who_waits_longest_is_first() {
        let lane = |waiting: &[(i64, &'static str)]| {
            let at = |second: i64| Timestamp::from_second(second).unwrap();
            waiting.iter().map(|(since, what)| Waiting { since: at(*since), what: *what }).collect()
        };
        let lanes: [Vec<Waiting<&str>>; 4] = [
            lane(&[(5, "a"), (6, "b"), (7, "c")]),
            lane(&[]),
            lane(&[(1, "d"), (9, "e")]),
            lane(&[(5, "f")]),
        ];
        let order: Vec<&str> = take_turns(lanes).into_iter().map(|one| one.what).collect();
        assert_eq!(order, ["d", "a", "f", "b", "e", "c"]);
    }
}
