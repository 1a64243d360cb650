//! The lists: every workload and every platform of this program.

mod platforms;

use barograph_workload::Workloads;
use barograph_workload_auction::Auctions;
use barograph_workload_disk::Disk;
use barograph_workload_kv::KeyValue;
use barograph_workload_null::Null;
use barograph_workload_order_entry::OrderEntry;
use barograph_workload_scenario::ScenarioFiles;

use crate::commands::run::time_of_day;

pub(crate) use platforms::{platform, platforms};

/// Every workload and every kind of platform. The first of each is that of plans that name none.
pub(crate) const WORKLOADS: Workloads = Workloads {
    all: &[&Auctions, &ScenarioFiles { time_of_day }, &KeyValue, &OrderEntry, &Disk, &Null],
    platforms: &platforms::KINDS,
};
