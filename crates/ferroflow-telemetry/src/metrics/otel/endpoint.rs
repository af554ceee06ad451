//! Where metrics are exported to.

use super::super::recorder::MetricsError;
use super::super::settings::OtelSettings;

/// What the path of metrics is.
const PATH: &str = "v1/metrics";

/// The address: that of metrics from the environment, that of everything from there, or that of `[metrics]`.
pub(super) fn of(settings: &OtelSettings) -> Result<String, MetricsError> {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (of_metrics, base) = (set(&settings.metrics_endpoint), set(&settings.base_endpoint));
    if of_metrics.is_some() || base.is_some() {
        if let Some(protocol) = &settings.protocol
            && protocol == "grpc"
        {
            return Err(MetricsError::Protocol(protocol.clone()));
        }
        if settings.host.is_some() && settings.port.is_some() {
            tracing::warn!(
                "[metrics] otel_host and otel_port have no effect: OTEL_EXPORTER_OTLP_ENDPOINT says where metrics go"
            );
        }
    }
    if let Some(endpoint) = of_metrics {
        return Ok(endpoint);
    }
    if let Some(base) = base {
        return Ok(format!("{}/{PATH}", base.trim_end_matches('/')));
    }
    let (Some(host), Some(port)) = (set(&settings.host), settings.port) else {
        return Err(MetricsError::NoEndpoint);
    };
    let scheme = if settings.is_secure { "https" } else { "http" };
    // An address of IPv6 has colons of its own.
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
    Ok(format!("{scheme}://{host}:{port}/{PATH}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(host: &str) -> OtelSettings {
        OtelSettings { host: Some(host.to_owned()), port: Some(4318), ..OtelSettings::default() }
    }

    #[test]
    fn the_environment_goes_before_the_configuration() {
        let base = Some("http://collector:4318/".to_owned());
        let mut asked = OtelSettings { base_endpoint: base, ..settings("elsewhere") };
        assert_eq!(of(&asked).unwrap(), "http://collector:4318/v1/metrics");
        asked.metrics_endpoint = Some("https://here/as/it/is".to_owned());
        assert_eq!(of(&asked).unwrap(), "https://here/as/it/is");
    }

    #[test]
    fn the_configuration_has_a_host_and_a_port() {
        assert_eq!(of(&settings("collector")).unwrap(), "http://collector:4318/v1/metrics");
        let secure = OtelSettings { is_secure: true, ..settings("::1") };
        assert_eq!(of(&secure).unwrap(), "https://[::1]:4318/v1/metrics");
    }

    #[test]
    fn nobody_says_where_to() {
        let error = of(&OtelSettings::default()).unwrap_err();
        assert!(error.to_string().contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{error}");
    }

    #[test]
    fn grpc_is_refused() {
        let base_endpoint = Some("http://collector:4317".to_owned());
        let asked =
            OtelSettings { base_endpoint, protocol: Some("grpc".to_owned()), ..OtelSettings::default() };
        assert!(of(&asked).unwrap_err().to_string().contains("http/protobuf"));
    }
}
