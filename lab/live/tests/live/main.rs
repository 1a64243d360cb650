//! The live page: over plain HTTP, and in a real browser that loses its connection and sees the end.

mod bare;
mod run;
mod service;
