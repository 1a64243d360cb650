//! Dense systems of linear equations: generated from a seed, solved by LU factorisation with partial pivoting, and checked.
//!
//! Matrices are stored by columns; the distance between columns is the *leading dimension*. The factorisation goes through
//! blocks of columns: a block is factorised recursively (`panel`), and all columns to its right are updated with it, which
//! is the product of two matrices (`product`) and nearly all of the work. The first columns of an update are the next
//! block, which one thread factorises while the others go on with the rest of the update.
//!
//! The innermost loop of products is written for each instruction set (`tile`), chosen at run time.

mod factor;
mod panel;
mod problem;
mod product;
mod tile;

pub use factor::{Factors, Singular, factorise, operations};
pub use problem::{fill_column, leading_dimension, residual, right_side};
pub use tile::Instructions;
