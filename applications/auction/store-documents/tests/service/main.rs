//! Both forms of the store on real servers.

mod contract;
mod crash;
