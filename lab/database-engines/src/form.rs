//! The form of transactions: statements, or functions of the database.

use barograph_spec::SettingsReader;

use crate::EngineKind;

/// Names of the forms.
pub const FORMS: [&str; 2] = ["statements", "stored"];

/// The form of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Statements, a call for each.
    Statements,
    /// Functions or procedures of the database, a call for each transaction that has one.
    Stored,
}

impl Form {
    /// Reads the key of a section; `None` if it is refused.
    pub fn read(g: &mut SettingsReader, section: &str) -> Option<Self> {
        let form = g.choice(&format!("{section}.form"), &FORMS, FORMS[0])?;
        Some(if form == FORMS[1] { Form::Stored } else { Form::Statements })
    }

    /// Refuses the key of a section on an engine that is not among those with functions or procedures. `None` is an unknown
    /// engine.
    pub fn check(g: &mut SettingsReader, section: &str, engine: Option<EngineKind>, with: &[EngineKind]) {
        let kind = engine.unwrap_or(EngineKind::Sqlite);
        if !with.contains(&kind) {
            let allowed = format!("left out with {}, where transactions are no functions", kind.name());
            g.refuse_asked(&format!("{section}.form"), &allowed, "leave it out");
        }
    }

    /// The form in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Form::Statements => "statements: a call for each",
            Form::Stored => "stored: a call of a function or procedure for each transaction that has one",
        }
    }
}
