//! Looks whether a unit could be started, without starting it.

use std::path::Path;

use barograph_platform::{Facts, Missing, Unit};
use rustix::fs::{Access, access};

/// Checks program, working folder and the folder of the log.
pub(crate) fn look(unit: &Unit) -> Result<Facts, Missing> {
    let missing = |what: String, hint: &str| Err(Missing { what, hint: hint.to_owned() });
    let program = &unit.program;
    if !program.is_absolute() {
        return missing(
            format!("program `{}` has no absolute path", program.display()),
            "give its whole path",
        );
    }
    if !program.is_file() {
        return missing(format!("program `{}` is not there", program.display()), "build or install it");
    }
    if access(program, Access::EXEC_OK).is_err() {
        let hint = format!("chmod +x {}", program.display());
        return missing(format!("program `{}` may not be executed", program.display()), &hint);
    }
    for folder in [Some(unit.workdir.as_path()), unit.log.parent()].into_iter().flatten() {
        // A log without a folder lies in the current one, which is there.
        if folder != Path::new("") && !folder.is_dir() {
            return missing(format!("folder `{}` is not there", folder.display()), "make it first");
        }
    }
    Ok(vec![
        ("platform".to_owned(), "process".to_owned()),
        (
            "isolation".to_owned(),
            "none: units share cores, memory, disk and network with the driver".to_owned(),
        ),
        ("program".to_owned(), program.display().to_string()),
    ])
}
