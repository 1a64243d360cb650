//! Every service really starts on this machine, does what it is for, and leaves nothing. A service that is not
//! installed is skipped with its command.

mod backend;
mod caches;
mod databases;
mod front;
mod killed;
mod moving;
mod said;
mod stand;
mod standby;
mod statistics;
mod traces;

use barograph_services::Flavour;

/// Both flavours of a service, one after the other.
pub(crate) const FLAVOURS: [Flavour; 2] = [Flavour::Vanilla, Flavour::Tuned];
