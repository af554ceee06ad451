//! `hitl_detail` and `hitl_detail_history`: what tasks ask humans, and the answers.

pub mod answer;
pub(crate) mod row;

pub use row::{Question, find, forget_response, insert};
