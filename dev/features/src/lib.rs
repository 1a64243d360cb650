//! Only a manifest: it requests every feature of third-party crates that some package of the workspace
//! requests.
//!
//! All packages have it as a dev-dependency. Tests of one package are thus built with the same features as
//! those of all, and no crate is compiled twice. Programs for users do not have it. `cargo xtask features`
//! writes the manifest.
