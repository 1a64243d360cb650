//! Renders templates for one place.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::{Condition, ConditionTest, Expression, Fact, Template, TemplatePart, View};
use crate::size::Size;
use crate::word::{Item, Word, host_of, items, no_value, port_of};
use crate::{Flavour, Placement, ServiceError};

/// Values of all words at one place.
pub(crate) struct Scope<'a> {
    pub(crate) service: &'a str,
    pub(crate) place: &'a Placement<'a>,
    pub(crate) size: Size,
    pub(crate) words: &'a [Word],
    /// Values from the topology, with defaults.
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) paths: BTreeMap<&'a str, PathBuf>,
}

impl Template {
    pub(crate) fn render(&self, scope: &Scope<'_>) -> Result<String, ServiceError> {
        let mut out = String::new();
        render(&self.parts, scope, None, &mut out)?;
        Ok(out)
    }
}

impl Condition {
    pub(crate) fn met(&self, scope: &Scope<'_>) -> bool {
        let asked = match &self.asked {
            ConditionTest::Tuned => scope.place.flavour == Flavour::Tuned,
            ConditionTest::Given(word) => scope.values.contains_key(word),
            ConditionTest::Is(word, value) => scope.values.get(word) == Some(value),
        };
        asked == self.holds
    }
}

fn render(
    parts: &[TemplatePart],
    scope: &Scope<'_>,
    item: Option<&Item>,
    out: &mut String,
) -> Result<(), ServiceError> {
    for part in parts {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Word(word) => out.push_str(&scope.fill(word, item)?),
            TemplatePart::If { condition, body } if condition.met(scope) => render(body, scope, item, out)?,
            TemplatePart::If { .. } => {}
            TemplatePart::Each { list, body } => {
                for item in scope.values.get(list).map(|value| items(value)).unwrap_or_default() {
                    render(body, scope, Some(&item), out)?;
                }
            }
        }
    }
    Ok(())
}

impl Scope<'_> {
    fn fill(&self, word: &Expression, item: Option<&Item>) -> Result<String, ServiceError> {
        Ok(match word {
            Expression::Fact(fact) => self.fact(*fact),
            Expression::Port(name) => self.port(name)?.to_string(),
            Expression::Socket(name) => SocketAddr::new(self.place.address, self.port(name)?).to_string(),
            Expression::Path(name) => self.path(name)?.display().to_string(),
            Expression::Quantity(quantity, step) => step.of(self.size.quantity(*quantity)).to_string(),
            // The topology's number was checked before.
            Expression::Number(name, step) => {
                self.value(name)?.parse().map(|number| step.of(number)).unwrap_or_default().to_string()
            }
            Expression::Value(name, view) => {
                let value = self.value(name)?;
                match view {
                    View::Host => host_of(value).to_owned(),
                    View::Port => port_of(value).to_owned(),
                    View::Whole | View::Name => value.to_owned(),
                }
            }
            // Allowed only inside a repeated block.
            Expression::Item(view) => item.map(|item| piece(item, *view)).unwrap_or_default(),
        })
    }

    fn fact(&self, fact: Fact) -> String {
        let place = self.place;
        match fact {
            Fact::Name => place.name.to_owned(),
            Fact::Host => place.host.to_owned(),
            Fact::Address => place.address.to_string(),
            Fact::AddressErlang => erlang(place.address),
            Fact::Folder => place.folder.display().to_string(),
            Fact::OwnProgram => place.own_program.display().to_string(),
            Fact::Flavour => place.flavour.name().to_owned(),
        }
    }

    pub(crate) fn port(&self, name: &str) -> Result<u16, ServiceError> {
        let service = || self.service.to_owned();
        let port = self.place.ports.get(name).copied();
        port.ok_or_else(|| ServiceError::NoPort { service: service(), port: name.to_owned() })
    }

    pub(crate) fn path(&self, name: &str) -> Result<&PathBuf, ServiceError> {
        // All paths were searched for before; a missing one was an error there.
        self.paths.get(name).ok_or_else(|| ServiceError::Folder {
            file: format!("{}/service.toml", self.service),
            what: format!("no path `{name}`"),
        })
    }

    fn value(&self, name: &str) -> Result<&str, ServiceError> {
        match (self.values.get(name), self.words.iter().find(|word| word.name == name)) {
            (Some(value), _) => Ok(value),
            (None, Some(word)) => Err(no_value(self.service, word)),
            (None, None) => {
                Err(ServiceError::UnknownWord { file: self.service.to_owned(), word: name.to_owned() })
            }
        }
    }
}

fn piece(item: &Item, view: View) -> String {
    match view {
        View::Whole => &item.value,
        View::Name => &item.name,
        View::Host => host_of(&item.value),
        View::Port => port_of(&item.value),
    }
    .to_owned()
}

fn erlang(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.octets().map(|byte| byte.to_string()).join(","),
        IpAddr::V6(address) => address.segments().map(|part| format!("16#{part:x}")).join(","),
    }
}
