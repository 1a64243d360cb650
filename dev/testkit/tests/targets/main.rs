//! The targets, tested with third-party clients: plain sockets, hyper, rustls, tungstenite.

mod client;
mod doors;
mod http;
mod server;
mod streams;
mod timed;
