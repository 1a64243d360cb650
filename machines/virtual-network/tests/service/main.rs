//! Real traffic over real switches: reachability, links, partitions, and leftovers after a kill.

mod leftovers;
mod links;
mod partitions;
mod place;
mod reach;
