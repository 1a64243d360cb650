//! Lists of every workload and every platform of this program.

mod platforms;

use barograph_workload::Workloads;
use barograph_workload_auction::Auctions;
use barograph_workload_brokerage::Brokerage;
use barograph_workload_command::Commands;
use barograph_workload_disk::Disk;
use barograph_workload_kv::KeyValue;
use barograph_workload_linpack::Linpack;
use barograph_workload_mail::Mail;
use barograph_workload_net::Net;
use barograph_workload_null::Null;
use barograph_workload_order_entry::OrderEntry;
use barograph_workload_scenario::ScenarioFiles;
use barograph_workload_social::Social;
use barograph_workload_sort::SortRecords;
use barograph_workload_statements::Statements;
use barograph_workload_store::Store;
use barograph_workload_stream::StreamMemory;
use barograph_workload_web_farm::WebFarm;

use crate::commands::run::time_of_day;

pub(crate) use platforms::{platform, platforms};

/// Every workload and every kind of platform. The first of each is the default of plans.
pub(crate) const WORKLOADS: Workloads = Workloads {
    all: &[
        &Auctions,
        &ScenarioFiles { time_of_day },
        &KeyValue,
        &OrderEntry,
        &Store,
        &Brokerage,
        &Statements,
        &Disk,
        &Net,
        &Mail,
        &WebFarm,
        &Social,
        &Linpack,
        &StreamMemory,
        &Commands,
        &SortRecords,
        &Null,
    ],
    platforms: &platforms::KINDS,
};
