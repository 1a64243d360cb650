//! Real processes of this machine: their life, how they are held together, their limits, and what a killed driver
//! leaves.

mod deaths;
mod disks;
mod hold;
mod life;
mod limits;
mod place;
mod services;
mod site;
mod sweep;
