//! The first way through a pattern, with the choices and in the order of Python's regular expressions.

use std::collections::HashSet;

/// What a piece of a pattern can match at a place.
pub(crate) enum Step {
    /// One character, if it fits.
    One(bool),
    /// As many characters as one of these says, tried in this order.
    Lengths(Vec<usize>),
}

/// Which characters a piece with several lengths matched.
pub(crate) struct Chosen {
    pub(crate) piece: usize,
    pub(crate) place: usize,
    pub(crate) length: usize,
    /// Lengths not tried yet, the best last.
    untried: Vec<usize>,
}

/// Matches the beginning of a key by so many pieces. Says what was chosen and where the match ended, where
/// `may_end` had to agree with what is left over.
///
/// The first way through wins. As a piece asks for nothing before it, no place is tried a second time, so that no
/// pattern and key take long.
pub(crate) fn first_way(
    pieces: usize,
    key: &[char],
    step: impl Fn(usize, &[char]) -> Step,
    may_end: impl Fn(&[char]) -> bool,
) -> Option<(Vec<Chosen>, usize)> {
    let mut tried = HashSet::new();
    let mut choices: Vec<Chosen> = Vec::new();
    let (mut piece, mut place) = (0, 0);
    loop {
        let rest = &key[place..];
        if piece == pieces {
            if may_end(rest) {
                return Some((choices, place));
            }
            (piece, place) = next(&mut choices)?;
            continue;
        }
        let is_new = tried.insert((piece, place));
        match is_new.then(|| step(piece, rest)) {
            Some(Step::One(true)) => (piece, place) = (piece + 1, place + 1),
            Some(Step::Lengths(mut untried)) => {
                untried.reverse();
                choices.push(Chosen { piece, place, length: 0, untried });
                (piece, place) = next(&mut choices)?;
            }
            Some(Step::One(false)) | None => (piece, place) = next(&mut choices)?,
        }
    }
}

/// The next thing to try; `None` if nothing is left.
fn next(choices: &mut Vec<Chosen>) -> Option<(usize, usize)> {
    loop {
        let choice = choices.last_mut()?;
        if let Some(length) = choice.untried.pop() {
            choice.length = length;
            return Some((choice.piece + 1, choice.place + length));
        }
        choices.pop();
    }
}
