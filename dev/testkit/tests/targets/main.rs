//! The targets as clients by others see them: plain sockets, hyper, rustls, tungstenite.

mod client;
mod doors;
mod http;
mod server;
mod streams;
mod timed;
