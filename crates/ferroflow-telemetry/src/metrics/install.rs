//! Which recorders there are.

use metrics_util::layers::FanoutBuilder;

use super::otel::Otel;
use super::prometheus::{Prometheus, Shown};
use super::recorder::{MetricsError, Recorder};
use super::settings::MetricsSettings;

/// What was installed. Dropping it changes nothing.
#[derive(Default)]
pub struct Installed {
    /// What Prometheus may read, if that was asked for.
    pub prometheus: Option<Shown>,
    otel: Option<super::otel::Exporting>,
}

impl Installed {
    /// Sends what was not sent yet. Waits for it, a few seconds at most.
    pub fn flush(&self) {
        if let Some(otel) = &self.otel {
            otel.flush();
        }
    }
}

/// Keeps or sends metrics from now on, if the settings say so; warns of settings that have no effect. As in Airflow one
/// way of sending is chosen: Datadog's, statsd's or OpenTelemetry's, whichever is on first. `is_shown` keeps them for
/// Prometheus besides.
pub fn install(settings: MetricsSettings, is_shown: bool) -> Result<Installed, MetricsError> {
    warn_of_what_has_no_effect(&settings);
    let mut installed = Installed::default();
    let mut recorders = FanoutBuilder::default();
    if is_shown {
        let prometheus = Prometheus::new(&settings)?;
        installed.prometheus = Some(prometheus.shown());
        recorders = recorders.add_recorder(prometheus);
    }
    let is_sent = settings.statsd_on || settings.datadog_enabled;
    if !is_sent && settings.otel_on {
        let otel = Otel::new(&settings)?;
        installed.otel = Some(otel.exporting());
        recorders = recorders.add_recorder(otel);
    }
    let is_any = is_shown || is_sent || installed.otel.is_some();
    if is_sent {
        recorders = recorders.add_recorder(Recorder::new(settings)?);
    }
    if is_any {
        metrics::set_global_recorder(recorders.build()).map_err(|_| MetricsError::Installed)?;
    }
    Ok(installed)
}

fn warn_of_what_has_no_effect(settings: &MetricsSettings) {
    let is_sent = settings.statsd_on || settings.datadog_enabled;
    if is_sent && settings.otel_on {
        tracing::warn!("[metrics] otel_on has no effect while statsd_on or statsd_datadog_enabled is set");
    }
    if !is_sent {
        return;
    }
    for (option, value) in [
        ("stat_name_handler", &settings.stat_name_handler),
        ("statsd_custom_client_path", &settings.custom_client),
    ] {
        if let Some(value) = value {
            tracing::warn!("[metrics] {option} = {value} is Python and has no effect here");
        }
    }
}
