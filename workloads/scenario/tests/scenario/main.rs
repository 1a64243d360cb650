//! Scenarios run by the engine against real servers, feature by feature.

mod activities;
mod answers;
mod determinism;
mod examples;
mod redirects;
mod requests;
mod rig;
mod scripts;
mod streams;
mod together;
