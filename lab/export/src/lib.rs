//! Records as tables for other tools, and figures of a run in progress for monitoring systems.
//!
//! [`export`] writes everything in a record as one file per table, CSV or Parquet, [`export_study`] a study.
//! A [`Sender`] follows a run and sends its figures to a receiver over Prometheus remote-write or
//! OpenTelemetry: whole histograms, no quantiles, so that the receiver can add them up. It never delays the
//! run, and never fails it.

mod error;
mod sheet;
mod stream;
mod tables;

pub use error::ExportError;
pub use sheet::Format;
pub use stream::{InvalidReceiver, Protocol, Receiver, Sender};
pub use tables::{Histograms, TableFile, export, export_study};
