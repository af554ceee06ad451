//! `callback`: what the DAG processor, triggerers and executors are to call.

pub mod due;
pub(crate) mod row;

pub use row::{
    Callback, ClaimedCallback, claim, claim_some, claimed, delete_claimed, find, insert, is_any, release,
};
