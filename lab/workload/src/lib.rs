//! The seam to workloads: operations, rules, load, the application with its data, parts and checks, and
//! commands.
//!
//! A workload is a folder in `workloads/` that implements [`Workload`], and [`Application`] if it can deploy
//! its target. It may have a load command ([`LoadCommand`]) and programs ([`Program`]). [`Workloads`] is the
//! list of them; nothing else knows their names.

mod application;
mod command;
mod error;
mod program;
mod reasons;
mod rounds;
pub mod testing;
pub mod topology;
pub mod typed;
mod workload;
mod workloads;

pub use application::{
    Application, DataSet, DataSets, FillLine, FillProgress, Job, Machine, OnProgress, SizeInfo,
    TargetStatistics, UsualSize, VerifyResult,
};
pub use command::{Amounts, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
pub use error::{Cause, CommandError};
pub use program::{Outside, Program, Supervision, Verb};
pub use reasons::{Failure, Reason, Reasons};
pub use rounds::{Round, RoundMetric, Rounds};
pub use workload::{FailureReason, Gauge, LoadError, LoadJob, SentFile, Workload, WorkloadFactory};
pub use workloads::Workloads;
