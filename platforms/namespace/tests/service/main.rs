//! Real sites of namespaces: real services on them, traffic between them, links that change, and what a kill leaves.

mod disks;
mod hosts;
mod kills;
mod place;
mod services;
