//! Resource samples: a row per sample and subject, a column per figure.

use barograph_record::{ProbeRow, Run};

use super::{Columns, TableSet};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let named =
        Columns::<&ProbeRow>::new().float("at_s", |r| r.at_s.into()).text("subject", |r| (&r.subject).into());
    let columns = ProbeRow::figure_names().enumerate().fold(named, |columns, (i, name)| {
        columns.float(&stated(name), move |r| r.figures().nth(i).flatten().into())
    });
    book.table("probes", &columns, &run.probes)
}

/// The name of a figure with its unit, which some names in the record lack.
pub(crate) fn stated(name: &str) -> String {
    if name.starts_with("psi_") {
        return format!("{name}_percent");
    }
    match name.strip_suffix("_s") {
        // Seconds per second; all others with this ending count per second.
        Some(waited @ ("throttled" | "run_delay")) => format!("{waited}_s_per_s"),
        Some(counted) => format!("{counted}_per_s"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_states_its_unit() {
        let names = [
            "psi_cpu",
            "throttled_s",
            "run_delay_s",
            "net_rx_bytes_s",
            "ctx_switches_s",
            "rss_bytes",
            "steal_share",
        ];
        let stated: Vec<String> = names.map(stated).into();
        let expected = [
            "psi_cpu_percent",
            "throttled_s_per_s",
            "run_delay_s_per_s",
            "net_rx_bytes_per_s",
            "ctx_switches_per_s",
            "rss_bytes",
            "steal_share",
        ];
        assert_eq!(stated, expected);
    }
}
