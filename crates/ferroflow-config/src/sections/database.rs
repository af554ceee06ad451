//! `[database]`.

use std::time::Duration;

use crate::Secret;
use crate::rule::{Flag, Hidden, HiddenJson, List, Maybe, Text, at_least};

section! {
    /// The metadata database and the connections to it.
    Database = "database" {
        /// An SQLAlchemy URL; `postgres://` has already become `postgresql://`.
        sql_alchemy_conn: Secret = Hidden,
        sql_alchemy_conn_async: Option<Secret> = Maybe(Hidden),
        /// Keyword arguments of SQLAlchemy's `create_engine`, as text that is valid JSON.
        sql_alchemy_engine_args: Option<Secret> = Maybe(HiddenJson),
        sql_engine_encoding: String = Text,
        sql_engine_collation_for_ids: Option<String> = Maybe(Text),
        sql_alchemy_pool_enabled: bool = Flag,
        /// 0 means no limit.
        sql_alchemy_pool_size: u32 = at_least(0),
        /// -1 means no limit.
        sql_alchemy_max_overflow: i32 = at_least(-1),
        /// Age at which a connection is replaced; less than 0 means never.
        sql_alchemy_pool_recycle: i64 = at_least(i64::MIN),
        sql_alchemy_pool_pre_ping: bool = Flag,
        sql_alchemy_schema: Option<String> = Maybe(Text),
        /// Import path of a Python dictionary.
        sql_alchemy_connect_args: Option<String> = Maybe(Text),
        sql_alchemy_connect_args_async: Option<String> = Maybe(Text),
        sql_alchemy_session_maker: Option<String> = Maybe(Text),
        max_db_retries: u32 = at_least(0),
        check_migrations: bool = Flag,
        external_db_managers: Option<Vec<String>> = Maybe(List),
        migration_batch_size: u32 = at_least(1),
    }
}

impl Database {
    /// Age at which a pooled connection is replaced; `None` if never.
    pub fn pool_recycle(&self) -> Option<Duration> {
        u64::try_from(self.sql_alchemy_pool_recycle).ok().map(Duration::from_secs)
    }
}
