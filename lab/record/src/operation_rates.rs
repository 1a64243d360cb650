//! Rates of operations on the infrastructure against those of a reference.

use serde::{Deserialize, Serialize};

use crate::ActionRecord;
use crate::entry::nan;

/// Rate of an operation of the reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationReferenceRecord {
    /// Name of the act in plans, as in `move`.
    pub act: String,
    /// Completed operations per hour.
    #[serde(deserialize_with = "nan")]
    pub per_hour: f64,
}

/// Rate of an operation against that of the reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRatioRecord {
    /// Name of the act in plans.
    pub act: String,
    /// Operations that ended well within the windows.
    pub done: u32,
    /// Operations that failed within the windows.
    pub failed: u32,
    /// Operations that ended well, per hour of the windows.
    #[serde(deserialize_with = "nan")]
    pub per_hour: f64,
    /// Rate of the reference.
    #[serde(deserialize_with = "nan")]
    pub reference: f64,
    /// Their ratio.
    #[serde(deserialize_with = "nan")]
    pub ratio: f64,
}

impl OperationRatioRecord {
    /// Returns the rates of all parts together. An operation counts in the window in which it ends; `windows`
    /// have their begin and end in seconds of the load.
    pub(crate) fn of(
        reference: &[OperationReferenceRecord],
        windows: &[(f64, f64)],
        actions: &[ActionRecord],
    ) -> Vec<OperationRatioRecord> {
        let hours = windows.iter().map(|(from_s, to_s)| to_s - from_s).sum::<f64>() / 3600.0;
        let is_within = |action: &&ActionRecord| {
            let end_s = action.at_s + action.took_s;
            windows.iter().any(|(from_s, to_s)| (*from_s..*to_s).contains(&end_s))
        };
        let ratio = |of: &OperationReferenceRecord| {
            let own = actions.iter().filter(|action| action.name == of.act).filter(is_within);
            let (done, failed): (Vec<_>, Vec<_>) = own.partition(|action| action.failed.is_none());
            let per_hour = done.len() as f64 / hours;
            OperationRatioRecord {
                act: of.act.clone(),
                done: done.len() as u32,
                failed: failed.len() as u32,
                per_hour,
                reference: of.per_hour,
                ratio: per_hour / of.per_hour,
            }
        };
        reference.iter().map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_counts_in_the_window_in_which_it_ends_well() {
        let action = |name: &str, at_s, took_s, failed: Option<&str>| ActionRecord {
            name: name.to_owned(),
            at_s,
            took_s,
            failed: failed.map(str::to_owned),
            ..ActionRecord::default()
        };
        let actions = [
            action("move", 9.0, 0.5, None),
            action("move", 9.0, 1.0, None),
            action("move", 19.0, 1.0, None),
            action("move", 31.0, 1.0, None),
            action("move", 35.0, 1.0, Some("no room")),
            action("scale", 12.0, 1.0, None),
            action("kill", 12.0, 0.0, None),
        ];
        let reference = |act: &str, per_hour| OperationReferenceRecord { act: act.to_owned(), per_hour };
        let reference = [reference("move", 180.0), reference("scale", 360.0), reference("clone", 1.0)];
        let rates = OperationRatioRecord::of(&reference, &[(10.0, 20.0), (30.0, 40.0)], &actions);
        let figures: Vec<_> =
            rates.iter().map(|of| (of.act.as_str(), of.done, of.failed, of.per_hour, of.ratio)).collect();
        // Two in 20 s are 360 per hour.
        let expected = [("move", 2, 1, 360.0, 2.0), ("scale", 1, 0, 180.0, 0.5), ("clone", 0, 0, 0.0, 0.0)];
        assert_eq!(figures, expected);
    }
}
