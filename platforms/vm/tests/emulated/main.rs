//! Real virtual machines. One site serves most tests, as each takes seconds to boot.

mod back;
mod disks;
mod echo;
mod ends;
mod killed;
mod libvirt;
mod moves;
mod often;
mod site;
mod units;
