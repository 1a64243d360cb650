//! Databases of real servers: filled, found again, copied, refused.

mod service;
