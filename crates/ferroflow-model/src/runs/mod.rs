//! Which runs to create, to start and to look at.
//!
//! Each question is a pure function of rows and `now`, and answers every row: with what to do, with the
//! [reason](create::NotCreated) why nothing is done, or with `Postponed` if only the limit of this pass
//! stands in the way, in which case the caller goes on at once. The answers do not depend on the order of the
//! rows.
//!
//! Three rules keep everybody's turn coming:
//!
//! - What is refused takes no place. Limits are applied before the limit of a pass, never after.
//! - Kinds that Airflow sorts by a column that one of them does not have (schedules and assets, backfills and
//!   the rest) stand in lanes of their own and take turns.
//! - The one that waits longest is first, and one that was served begins to wait anew. So an endless catchup does
//!   not keep the others out, although its runs have been due for years. (Pending partitions go by age alone: new
//!   ones cannot be older.)

pub mod assets;
pub mod create;
pub mod deadlines;
mod decision;
pub mod events;
pub mod examine;
pub mod next;
pub mod partitions;
pub mod start;
mod turns;

pub use decision::Decision;
