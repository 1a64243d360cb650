//! Power and energy of each source in each measured window, and before the load.

use barograph_record::Run;

use super::{Columns, TableSet};
use crate::ExportError;

/// A source over a time; one without a name stands for the machine, by the widest scope.
struct PowerRow<'r> {
    trial: Option<u32>,
    source: Option<&'r str>,
    scope: String,
    seconds: f64,
    joules: f64,
}

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<PowerRow<'_>>::new()
        .whole("trial", |r| r.trial.into())
        .text("source", |r| r.source.into())
        .text("scope", |r| (&r.scope).into())
        .float("seconds", |r| r.seconds.into())
        .float("watts", |r| (r.joules / r.seconds).into())
        .float("joules", |r| r.joules.into());
    book.table("power", &columns, rows(run))
}

fn rows(run: &Run) -> Vec<PowerRow<'_>> {
    let (Some(start), None, Some(load)) = (run.load_start_s(), &run.load, run.each_load().first()) else {
        return Vec::new();
    };
    let windows = load.trials().map(|trial| {
        let window = &trial.window;
        (Some(trial.n), (window.from_s + start, window.to_s + start))
    });
    let idle = run.idle_span().map(|span| (None, span));
    let mut rows = Vec::new();
    for (trial, span) in idle.into_iter().chain(windows) {
        let seconds = span.1 - span.0;
        if let Some(power) = run.power_over(span) {
            let (scope, joules) = (power.scope, power.joules);
            rows.push(PowerRow { trial, source: None, scope, seconds, joules });
        }
        for source in run.power_sources() {
            let Some(joules) = run.energy_j(source, span) else { continue };
            let scope = barograph_record::scope_of(source).to_owned();
            rows.push(PowerRow { trial, source: Some(source), scope, seconds, joules });
        }
    }
    rows
}
