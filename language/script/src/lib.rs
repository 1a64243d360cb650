//! Executes the small functions of a scenario: they choose and make values, within bounds and without side
//! effects.
//!
//! A script is a file of JavaScript functions and nothing else. The parameters of a function are names of a
//! user's values, and the host reads only those. A function is pure: it has no access to files, sockets,
//! clocks and earlier calls, and `Math.random` follows the host's stream, so the same user and the same seed
//! give the same answer in any worker and order.
//!
//! One [`Scripts`] belongs to one worker and serves all of its users. The choice of QuickJS, and its costs:
//! `docs/decisions/0005-script-engine.md`.

mod bounds;
mod error;
mod fault;
mod realm;
mod scripts;
mod source;
mod values;

pub use bounds::Bounds;
pub use error::{Bound, ErrorLocation, ScriptError};
pub use scripts::Scripts;
pub use values::{FunctionResult, Scalar, Values};
