//! What driver, application and host used in a window.

use serde::{Deserialize, Serialize};

/// What a window used. Absent where it was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Cores the host has.
    pub host_cores: Option<f64>,
    /// Cores the host had busy, everything on it.
    pub host_busy_cores: Option<f64>,
    /// Cores the application used.
    pub app_cores: Option<f64>,
    /// Cores the driver used.
    pub driver_cores: Option<f64>,
    /// Users per application core used.
    pub users_per_app_core: Option<f64>,
    /// Users per driver core used.
    pub users_per_driver_core: Option<f64>,
    /// CPU time of the driver per request, microseconds, the harness and its probes included.
    pub driver_cpu_us_per_request: Option<f64>,
    /// Memory of the application at the end of the window, bytes.
    pub app_rss_bytes: Option<u64>,
    /// Memory of the driver at the end of the window, bytes.
    pub driver_rss_bytes: Option<u64>,
    /// Memory the driver added per user, bytes, connections included.
    pub driver_bytes_per_user: Option<f64>,
    /// Connections of the driver to anywhere that were open at the end of the window.
    pub driver_connections: Option<u64>,
}

/// Share of the host's cores from which its CPU counts as at its limit. Queueing makes response times bend before the last
/// core is full.
pub const CPU_AT_LIMIT: f64 = 0.90;

impl Resources {
    /// Whether the CPU of the host was at its limit.
    #[must_use]
    pub fn cpu_at_limit(&self) -> bool {
        let (busy, cores) = (self.host_busy_cores, self.host_cores);
        busy.zip(cores).is_some_and(|(busy, cores)| busy >= cores * CPU_AT_LIMIT)
    }
}
