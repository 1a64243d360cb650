//! Nothing but a manifest: it asks for every feature that some package of the workspace asks for of a crate by others.
//!
//! All packages have it as a dev-dependency. Tests of one package are thus built with the same features as those of all,
//! and no crate is compiled twice. Programs for users do not have it. `cargo xtask features` writes the manifest.
