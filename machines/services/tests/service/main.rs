//! Starts every service on this machine, tests its function, and checks that it leaves nothing. A service
//! that is not installed is skipped, with the command that installs it.

mod backend;
mod caches;
mod databases;
mod engines;
mod front;
mod killed;
mod mail;
mod moving;
mod said;
mod stand;
mod standby;
mod statistics;
mod traces;

use barograph_services::Flavour;

/// Both flavours of a service, one after another.
pub(crate) const FLAVOURS: [Flavour; 2] = [Flavour::Vanilla, Flavour::Tuned];
