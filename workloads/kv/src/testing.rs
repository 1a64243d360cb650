//! Common parts of this crate's tests.

use barograph_resp::Address;
use barograph_spec::Plan;

use crate::plan::KvPlan;
use crate::program::PreparedLoad;
use crate::seam::KeyValue;

/// A plan of the key-value workload with this text under its name.
pub(crate) fn plan(text: &str) -> Plan {
    let text = format!("workload = \"kv\"\n{text}");
    barograph_spec::read(barograph_spec::Catalogue::of(&[&KeyValue]), "a plan", &text, &[])
        .unwrap_or_else(|why| panic!("{why}"))
}

/// The refusals of a plan.
pub(crate) fn refusals(text: &str) -> String {
    let text = format!("workload = \"kv\"\n{text}");
    barograph_spec::read(barograph_spec::Catalogue::of(&[&KeyValue]), "a plan", &text, &[])
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

/// The load of a plan, without a store.
pub(crate) fn program(text: &str) -> PreparedLoad {
    let address = Address::parse("redis://127.0.0.1:1").expect("it is an address");
    PreparedLoad::new(KvPlan::of(&plan(text)).clone(), 1, address, (Vec::new(), None))
}
