//! Pools: how many task instances of a kind may run at once.

mod delete;
mod export;
mod get;
mod import;
mod list;
mod set;

use ferroflow_config::nearest;

use crate::OperationError;

pub use delete::delete;
pub use export::export;
pub use ferroflow_db::pool::DescribedPool;
pub use get::get;
pub use import::{IMPORT, import};
pub use list::list;
pub use set::set;

fn unknown(name: &str, pools: &[DescribedPool]) -> OperationError {
    let near: Vec<&str> = nearest(name, pools.iter().map(|pool| pool.name.as_str()).collect()).collect();
    let help = if near.is_empty() {
        "`ferroflow pools list` shows those that there are".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    OperationError::not_found(format!("Pool {name} does not exist; {help}"))
}
