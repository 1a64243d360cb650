//! The application on real stores and in real browsers: users who bid against each other, sell, search, and
//! lose the server.
//!
//! The server runs in this process on data of its own, browsers run in a namespace that ends with their test.
//! Every wait is for visible content of the page, and has a deadline.

mod account;
mod bidding;
mod person;
mod same_end;
mod selling;
mod site;
