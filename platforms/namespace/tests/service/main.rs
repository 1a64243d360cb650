//! Real sites of namespaces: real services, traffic between them, changing links, and leftovers after a kill.

mod disks;
mod hosts;
mod kills;
mod place;
mod services;
