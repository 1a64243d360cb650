//! Loads over loopback, with real and with broken responders.

mod allocations;
mod broken;
mod datagrams;
mod loads;
mod rig;
mod stalls;

use barograph_spec::Plan;

use crate::seam::Net;

/// A plan of the network workload with this text under its name.
pub(crate) fn plan(text: &str) -> Plan {
    let text = format!("workload = \"net\"\n{text}");
    barograph_spec::read(barograph_spec::Catalogue::of(&[&Net]), "a plan", &text, &[])
        .unwrap_or_else(|why| panic!("{why}"))
}

/// The refusals of a plan.
pub(crate) fn refusals(text: &str) -> String {
    let text = format!("workload = \"net\"\n{text}");
    let read = barograph_spec::read(barograph_spec::Catalogue::of(&[&Net]), "a plan", &text, &[]);
    match read {
        Err(why) => why.to_string(),
        Ok(_) => panic!("it is not refused: {text}"),
    }
}
