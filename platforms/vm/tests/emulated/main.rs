//! Real virtual machines. One site serves most of it, for each costs seconds to boot.

mod back;
mod disks;
mod echo;
mod ends;
mod killed;
mod moves;
mod site;
mod units;
