//! Shipped files of `plans`, `scenarios` and `studies`.

use std::io;
use std::path::{Path, PathBuf};

/// Ending of files that only describe how a test makes their neighbour small.
const SMOKE: &str = ".smoke.toml";

/// TOML files of a folder in the order of their names, without those for tests.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".toml") && !name.ends_with(SMOKE) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::WORKLOADS;

    /// Levels on request are too large for tests, which run the others; their keys are read here.
    #[test]
    fn every_level_of_the_studies_is_a_plan() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut on_request = 0;
        for file in files(&folder).unwrap() {
            let (name, text) = (file.display().to_string(), std::fs::read_to_string(&file).unwrap());
            let readers = WORKLOADS.readers();
            let study = barograph_spec::study::read_with(&readers, &name, &text);
            let study = study.unwrap_or_else(|refused| panic!("{refused}"));
            let levels = study.factors.iter().flat_map(|factor| &factor.levels);
            on_request += levels.filter(|level| level.on_request).count();
            let plan = std::fs::read_to_string(&study.plan).unwrap();
            for configuration in &study.configurations {
                let read = study.plan_of(WORKLOADS.catalogue(&readers), configuration, &plan, &[]);
                read.unwrap_or_else(|refused| panic!("{name}, {}: {refused}", configuration.name));
            }
        }
        assert!(on_request > 10, "{on_request}");
    }
}
