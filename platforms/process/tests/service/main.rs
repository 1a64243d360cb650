//! Real processes of this machine: their life, how they are kept together, their limits, and leftovers of a
//! killed driver.

mod deaths;
mod disks;
mod hold;
mod life;
mod limits;
mod place;
mod services;
mod site;
mod sweep;
