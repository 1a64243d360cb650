//! The form of transactions: statements, one by one or pipelined, or functions of the database.

use barograph_spec::SettingsReader;

use crate::EngineKind;

/// Names of the forms without pipelines.
pub const FORMS: [&str; 2] = ["statements", "stored"];

/// Names of all forms.
pub const PIPELINED_FORMS: [&str; 3] = [FORMS[0], FORMS[1], "pipelined"];

/// The form of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Statements, a call for each.
    Statements,
    /// Functions or procedures of the database, a call for each transaction that has one.
    Stored,
    /// Statements, those that need no answer of each other in one call.
    Pipelined,
}

impl Form {
    /// Reads the key of a section without pipelines; `None` if it is refused.
    pub fn read(g: &mut SettingsReader, section: &str) -> Option<Self> {
        Self::read_name(g, section, &FORMS)
    }

    /// Reads the key of a section; `None` if it is refused.
    pub fn read_pipelined(g: &mut SettingsReader, section: &str) -> Option<Self> {
        Self::read_name(g, section, &PIPELINED_FORMS)
    }

    fn read_name(g: &mut SettingsReader, section: &str, names: &[&'static str]) -> Option<Self> {
        let name = g.choice(&format!("{section}.form"), names, FORMS[0])?;
        let forms = [Form::Statements, Form::Stored, Form::Pipelined];
        PIPELINED_FORMS.iter().zip(forms).find(|(known, _)| **known == name).map(|(_, form)| form)
    }

    /// Refuses pipelines on MariaDB.
    pub fn check_pipelined(self, g: &mut SettingsReader, section: &str, engine: Option<EngineKind>) {
        if (self, engine) == (Form::Pipelined, Some(EngineKind::Mariadb)) {
            let allowed = "statements or stored with MariaDB, which goes on after a statement that failed";
            g.refuse_asked(&format!("{section}.form"), allowed, "choose another form, or PostgreSQL");
        }
    }

    /// Refuses the key of a section on an engine that is not among those with functions or procedures. `None` is an unknown
    /// engine.
    pub fn check(g: &mut SettingsReader, section: &str, engine: Option<EngineKind>, with: &[EngineKind]) {
        let kind = engine.unwrap_or(EngineKind::Sqlite);
        if !with.contains(&kind) {
            let allowed = format!("left out with {}, where every statement is a call", kind.name());
            g.refuse_asked(&format!("{section}.form"), &allowed, "leave it out");
        }
    }

    /// The form in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Form::Statements => "statements: a call for each",
            Form::Pipelined => "pipelined: a call for statements that need no answer of each other",
            Form::Stored => "stored: a call of a function or procedure for each transaction that has one",
        }
    }
}
