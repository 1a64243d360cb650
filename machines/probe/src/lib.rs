//! Samples CPU, memory, disk, network, pressure and power of hosts and processes into series.
//!
//! A probe keeps its `/proc` files open and reads them for every sample. A sample holds raw counters; pure
//! functions make rates of two samples (`HostSample::since`, `ProcessSample::since`), so nothing here reads a
//! clock: the caller gives the time of a sample. Only [`Disk`] makes a measurement of its own, before a run.

mod cpu_clock;
mod error;
mod facts;
mod flush;
mod host;
mod hot;
mod meter;
mod net;
mod policy;
mod power;
mod process;
mod rates;
mod run_delay;
mod text;

pub use cpu_clock::{process_cpu, thread_cpu};
pub use error::ProbeError;
pub use facts::{Facts, host_facts};
pub use flush::Disk;
pub use host::{HostProbe, HostSample, whole_disks};
pub use meter::Meter;
pub use net::{NetProbe, NetSample, NetSeries, network_apart};
pub use policy::CpuPolicy;
pub use power::{LONGEST_GAP, PowerProbe, PowerSample};
pub use process::{ProcessProbe, ProcessSample};
pub use rates::{DiskRates, HostRates, NetRates, PressureRates, ProcessRates};
pub use run_delay::RunDelayProbe;
pub use text::{CpuTimes, DiskTotals, Memory, NetTotals, Pressure};
