//! Resources used by driver, application and host in a window.

use serde::{Deserialize, Serialize};

/// Resources used in a window. Figures that were not measured are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Cores of the host.
    pub host_cores: Option<f64>,
    /// Busy cores of the host, all processes included.
    pub host_busy_cores: Option<f64>,
    /// Cores used by the application.
    pub app_cores: Option<f64>,
    /// Cores used by the driver.
    pub driver_cores: Option<f64>,
    /// Users per core used by the application.
    pub users_per_app_core: Option<f64>,
    /// Users per core used by the driver.
    pub users_per_driver_core: Option<f64>,
    /// CPU time of the driver per request, microseconds, including the harness and its probes.
    pub driver_cpu_us_per_request: Option<f64>,
    /// Memory of the application at the end of the window, bytes.
    pub app_rss_bytes: Option<u64>,
    /// Memory of the driver at the end of the window, bytes.
    pub driver_rss_bytes: Option<u64>,
    /// Memory of the driver per added user, bytes, connections included.
    pub driver_bytes_per_user: Option<f64>,
    /// Open connections of the driver to any address at the end of the window.
    pub driver_connections: Option<u64>,
}

/// Share of busy cores from which the CPU of the host counts as at its limit. Queueing lengthens response
/// times before the last core is full.
pub const CPU_AT_LIMIT: f64 = 0.90;

impl Resources {
    /// Whether the CPU of the host was at its limit.
    #[must_use]
    pub fn cpu_at_limit(&self) -> bool {
        let (busy, cores) = (self.host_busy_cores, self.host_cores);
        busy.zip(cores).is_some_and(|(busy, cores)| busy >= cores * CPU_AT_LIMIT)
    }
}
