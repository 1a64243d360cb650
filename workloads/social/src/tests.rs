//! Users against the real site, run by the engine.

mod loads;
mod paced;
mod rig;
