//! Tests at a real server.

mod service;
