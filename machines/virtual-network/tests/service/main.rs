//! Real traffic over real switches: reach, links, partitions, and what is left after a kill.

mod leftovers;
mod links;
mod partitions;
mod place;
mod reach;
