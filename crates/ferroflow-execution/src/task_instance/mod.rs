//! The life of a task instance: it starts, shows that it lives, tells what became of it, or ends without a word.

mod asking;
mod attempt;
mod fail_fast;
mod fields;
mod given_up;
mod heartbeat;
mod json;
mod outlets;
mod run;
mod state;
mod unreported_end;
mod waiting;

pub use given_up::FailedStuck;
pub use heartbeat::HeartbeatAnswer;
pub use state::StateSet;
pub use waiting::answer_event;
