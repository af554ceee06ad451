//! `[api]`, `[api_auth]` and `[execution_api]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::Secret;
use crate::rule::{
    Flag, Hidden, Json, List, Maybe, Path, Port, Rule, Text, WholeSeconds, WholeSecondsOrOff, at_least,
};

section! {
    /// The API server and the UI it serves.
    Api = "api" {
        instance_name: Option<String> = Maybe(Text),
        theme: Option<serde_json::Value> = Maybe(Json),
        enable_swagger_ui: bool = Flag,
        /// `None` means that the server makes one at its start, which no other server knows.
        secret_key: Option<Secret> = Maybe(Hidden),
        /// Whether the configuration may be read; sensitive values are hidden in any case.
        expose_config: bool = FlagOrNonSensitive,
        expose_stacktrace: bool = Flag,
        /// 0 means no limit.
        dag_cache_size: u32 = at_least(0),
        /// Zero means no limit.
        dag_cache_ttl: Duration = WholeSeconds,
        base_url: Option<String> = Maybe(Text),
        host: String = Text,
        port: u16 = Port,
        workers: u32 = at_least(1),
        worker_timeout: Duration = WholeSeconds,
        server_type: String = Text,
        /// `None` means never.
        worker_refresh_interval: Option<Duration> = WholeSecondsOrOff,
        worker_refresh_batch_size: u32 = at_least(0),
        log_config: Option<PathBuf> = Maybe(Path),
        log_stream_buffer_size: u32 = at_least(0),
        ssl_cert: Option<PathBuf> = Maybe(Path),
        ssl_key: Option<PathBuf> = Maybe(Path),
        ssl_ca_file: Option<PathBuf> = Maybe(Path),
        ssl_cert_reqs: String = Text,
        maximum_page_limit: u32 = at_least(0),
        fallback_page_limit: u32 = at_least(0),
        access_control_allow_headers: Vec<String> = List,
        access_control_allow_methods: Vec<String> = List,
        access_control_allow_origins: Vec<String> = List,
        /// `topological` or `hierarchical_alphabetical`.
        grid_view_sorting_order: String = Text,
        log_fetch_timeout_sec: Duration = WholeSeconds,
        hide_paused_dags_by_default: bool = Flag,
        default_wrap: bool = Flag,
        auto_refresh_interval: Duration = WholeSeconds,
        require_confirmation_dag_change: bool = Flag,
        client_ssl_cert: Option<PathBuf> = Maybe(Path),
        client_ssl_key: Option<PathBuf> = Maybe(Path),
        client_use_public_certs: bool = Flag,
    }
}

section! {
    /// Tokens: how they are signed and checked.
    ApiAuth = "api_auth" {
        jwt_audience: Option<String> = Maybe(Text),
        jwt_expiration_time: Duration = WholeSeconds,
        jwt_cli_expiration_time: Duration = WholeSeconds,
        /// `None` means that the process makes one at its start, which no other process knows.
        jwt_secret: Option<Secret> = Maybe(Hidden),
        jwt_private_key_path: Option<PathBuf> = Maybe(Path),
        /// `None` means that it follows from the key.
        jwt_algorithm: Option<Vec<String>> = Maybe(List),
        jwt_kid: Option<String> = Maybe(Text),
        trusted_jwks_url: Option<String> = Maybe(Text),
        jwt_issuer: Option<Vec<String>> = Maybe(List),
        jwt_leeway: Duration = WholeSeconds,
    }
}

section! {
    /// The API that running tasks talk to.
    ExecutionApi = "execution_api" {
        jwt_expiration_time: Duration = WholeSeconds,
        jwt_audience: String = Text,
        otel_trace_propagation: String = Text,
    }
}

/// A truth value, or the word of former releases for "true, but without secrets".
struct FlagOrNonSensitive;

impl Rule<bool> for FlagOrNonSensitive {
    fn parse(&self, text: &str) -> Result<bool, String> {
        if text.eq_ignore_ascii_case("non-sensitive-only") { Ok(true) } else { Flag.parse(text) }
    }
}
