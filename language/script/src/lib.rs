//! Runs the small functions of a scenario: they choose and make values, within bounds, and touch nothing.
//!
//! A script is a file of JavaScript functions and nothing else. The parameters of a function are names of a user's
//! values, and the host reads just those. A function is pure: it sees no file, no socket, no clock and no earlier
//! call, and `Math.random` follows the stream that the host hands in, so the same user and the same seed give the
//! same answer in whatever worker and order.
//!
//! One [`Scripts`] belongs to one worker and serves all of its users. Why QuickJS, and what it costs:
//! `docs/decisions/0005-script-engine.md`.

mod bounds;
mod error;
mod fault;
mod realm;
mod scripts;
mod source;
mod values;

pub use bounds::Bounds;
pub use error::{Bound, Place, ScriptError};
pub use scripts::Scripts;
pub use values::{Made, Scalar, Values};
