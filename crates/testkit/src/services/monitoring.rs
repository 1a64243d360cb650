//! Prometheus, and VictoriaMetrics.

use std::fs;

use super::plan::{Launch, Plan};
use super::programs::{Missing, User, of_victoria, program};
use super::ready::Ready;
use super::service::Service;

/// Prometheus, which scrapes nothing and takes what is written to it over remote-write.
///
/// # Errors
/// When it is not installed.
pub fn prometheus() -> Result<Service, Missing> {
    let server = program("prometheus", "apt-get install -y prometheus")?;
    let plan = Plan {
        name: "Prometheus",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let config = place.path("prometheus.yml");
            fs::write(&config, "scrape_configs: []\n").expect("the folder is ours");
            let arguments = vec![
                format!("--config.file={config}"),
                format!("--storage.tsdb.path={}", place.path("data")),
                format!("--web.listen-address=127.0.0.1:{}", place.ports.main()),
                "--web.enable-remote-write-receiver".to_owned(),
            ];
            Launch::new(&server, arguments)
        }),
        ready: Ready::Prometheus,
        url: |port| format!("http://127.0.0.1:{port}"),
    };
    Service::start(plan, Service::folder_of_its_own())
}

/// VictoriaMetrics, which takes OpenTelemetry metrics at `/opentelemetry/v1/metrics`, of any year.
///
/// # Errors
/// When it is not built.
pub fn victoria_metrics() -> Result<Service, Missing> {
    let server = of_victoria()?;
    let plan = Plan {
        name: "VictoriaMetrics",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let arguments = vec![
                format!("-storageDataPath={}", place.path("data")),
                format!("-httpListenAddr=127.0.0.1:{}", place.ports.main()),
                "-retentionPeriod=100y".to_owned(),
            ];
            Launch::new(&server, arguments)
        }),
        // It has Prometheus's own words for that.
        ready: Ready::Prometheus,
        url: |port| format!("http://127.0.0.1:{port}"),
    };
    Service::start(plan, Service::folder_of_its_own())
}
