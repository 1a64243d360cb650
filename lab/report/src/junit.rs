//! JUnit's XML, shown by build servers.

use crate::escape::xml;

/// The first line of a file.
pub(crate) const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Result of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseResult {
    Passed,
    Failed,
    Skipped,
}

/// One case.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) ending: CaseResult,
    pub(crate) message: String,
}

/// Cases that belong together.
#[derive(Default)]
pub(crate) struct Suite<'s> {
    pub(crate) name: &'s str,
    /// The class, by which servers group cases.
    pub(crate) class: &'s str,
    pub(crate) properties: &'s [(&'s str, &'s str)],
    pub(crate) cases: Vec<Case>,
    pub(crate) warnings: &'s [String],
}

impl Suite<'_> {
    /// The suite as an element.
    pub(crate) fn element(&self) -> String {
        let count = |ending| self.cases.iter().filter(|case| case.ending == ending).count();
        let mut text = format!(
            "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
            xml(self.name),
            self.cases.len(),
            count(CaseResult::Failed),
            count(CaseResult::Skipped)
        );
        if !self.properties.is_empty() {
            let property = |(name, value): &(&str, &str)| {
                format!("<property name=\"{}\" value=\"{}\"/>\n", xml(name), xml(value))
            };
            let properties: String = self.properties.iter().map(property).collect();
            text.push_str(&format!("<properties>\n{properties}</properties>\n"));
        }
        text.extend(self.cases.iter().map(|case| case.element(self.class)));
        if !self.warnings.is_empty() {
            text.push_str(&format!("<system-err>{}</system-err>\n", xml(&self.warnings.join("\n"))));
        }
        text.push_str("</testsuite>\n");
        text
    }
}

impl Case {
    fn element(&self, class: &str) -> String {
        let message = xml(&self.message);
        let inside = match self.ending {
            CaseResult::Passed => format!("<system-out>{message}</system-out>"),
            CaseResult::Failed => format!("<failure message=\"{message}\"/>"),
            CaseResult::Skipped => format!("<skipped message=\"{message}\"/>"),
        };
        format!("<testcase classname=\"{}\" name=\"{}\">{inside}</testcase>\n", xml(class), xml(&self.name))
    }
}
