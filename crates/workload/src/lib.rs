//! The seam to workloads: operations, rules, load, and the application with its data, parts and checks.
//!
//! A workload is one folder in `workloads/` that implements [`Workload`], and [`Application`] if it can deploy what it
//! loads. The program lists them in [`Workloads`]; nothing else knows their names.

mod application;
pub mod topology;
mod workload;
mod workloads;

pub use application::{
    Application, DataSet, DataSets, FillLine, FillProgress, Job, OnProgress, SizeInfo, Verified,
};
pub use workload::{FailureReason, LoadError, LoadJob, SentFile, Workload, WorkloadFactory};
pub use workloads::Workloads;
