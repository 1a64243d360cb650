//! Reports for people: the HTML report and tables, computed from a record.
//!
//! [`render_html`] makes one self-contained file: styles inside, figures as inline SVG drawn by `chart`, no
//! script, no external requests. [`terminal_summary`] gives the same in 110 columns of text. All reports are
//! computed from the record alone, so they can be made again at any time, also of a run that was cut off.

mod actions;
mod answer;
mod chart;
pub mod comparison;
mod counters;
mod cpu;
mod curve;
mod deciding;
mod elasticity;
mod escape;
mod facts;
mod guests;
mod headroom;
mod heat;
mod html;
mod junit;
mod loads;
mod markdown;
mod operations;
mod pass_probability;
mod percentile_chart;
mod power;
mod search;
mod series;
mod services;
mod states;
pub mod study;
mod table;
mod tiles;
mod timelines;
mod topology;
mod words;

pub use html::render_html;
pub use table::{terminal_summary, terminal_table};
pub use topology::topology_text;

/// Failure of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The page could not be rendered.
    #[error("render the report of run `{run}`")]
    Render {
        /// Name of the run.
        run: String,
        /// The cause.
        #[source]
        why: askama::Error,
    },
}
