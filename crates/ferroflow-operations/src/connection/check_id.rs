use ferroflow_config::Settings;
use ferroflow_model::python_literal;

const MAX_ID_LENGTH: usize = 200;

/// What is wrong with the name of a connection, by Airflow's rules.
pub(super) fn check_id(conn_id: &str, settings: &Settings) -> Result<(), String> {
    if conn_id.chars().count() > MAX_ID_LENGTH {
        return Err(format!("The key: {conn_id} has to be less than {MAX_ID_LENGTH} characters"));
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let shown = python_literal(conn_id);
    if conn_id.is_empty() || !conn_id.chars().all(is_plain) {
        return Err(format!(
            "The key {shown} has to be made of alphanumeric characters, dashes, dots and underscores exclusively"
        ));
    }
    if conn_id.contains("..") && !settings.core.allow_double_dot_in_ids {
        return Err(format!(
            "The key {shown} must not contain consecutive dots ('..') to prevent path traversal"
        ));
    }
    Ok(())
}
