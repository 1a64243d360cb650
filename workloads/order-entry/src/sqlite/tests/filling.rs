//! Filled files: equal for equal seeds, found again, refused.

use barograph_database::sqlite::found;
use barograph_model::words::in_one_line;

use super::rig::{Rig, SIZE, digests};
use crate::generate::Generator;
use crate::tables::Size;

#[test]
fn one_seed_fills_the_same_tables_and_another_fills_others() {
    let (one, again, other) = (Rig::of_seed(7), Rig::of_seed(7), Rig::of_seed(8));
    assert_eq!(digests(&one.filled), digests(&again.filled));
    for (one, other) in digests(&one.filled).into_iter().zip(digests(&other.filled)) {
        assert_eq!(one.1 == other.1, one.0 == "new_order", "{}", one.0);
    }
}

#[test]
fn a_filled_file_is_found_again_and_never_worn() {
    let rig = Rig::new();
    let before = digests(&rig.filled);
    assert_eq!(rig.transact(2, 100), 0);
    assert_ne!(digests(&rig.copy), before);
    let again = rig.files.fill(&rig.generator, |_, _| panic!("nothing is filled again")).unwrap();
    assert!(again.reused && again.rows.len() == 9 && again.bytes > 100_000, "{again:?}");
    assert_eq!(digests(&rig.filled), before);
    rig.files.reset().unwrap();
    assert_eq!(digests(&rig.copy), before);
}

#[test]
fn files_of_another_size_are_refused_and_the_place_of_the_copy_is_not_taken_from_another_file() {
    let rig = Rig::new();
    let other = Generator::new(Size::new(1, SIZE.1), 1);
    let why = found(&rig.filled, &other).unwrap_err();
    let filled = "was filled otherwise: warehouses = 2, scale = 0.01, seed = 1, version 1 of the workload";
    assert!(in_one_line(&why).ends_with(filled), "{why}");
    std::fs::write(&rig.copy, "a letter").unwrap();
    let why = rig.files.reset().unwrap_err();
    assert!(in_one_line(&why).ends_with("holds something else than an Order-Entry database"), "{why}");
}
