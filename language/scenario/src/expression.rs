//! Conditions on a user's values: comparisons, `and`, `or`, `not`, `has(name)`, `len(name)`.

use crate::{Source, Values, View};

/// Deepest nesting of brackets and `not`; more is unreadable, and the parser stays within its stack.
const DEEPEST: u32 = 32;

/// A compiled condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// `true` or `false`.
    Always(bool),
    /// Whether there is a value that is not an empty text or list.
    Has(Source),
    /// A comparison.
    Compare(Operand, Relation, Operand),
    /// The negation of a condition.
    Not(Box<Condition>),
    /// All conditions hold.
    All(Vec<Condition>),
    /// At least one condition holds.
    Any(Vec<Condition>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A literal number.
    Number(f64),
    /// A literal text.
    Text(Box<str>),
    /// A value.
    Value(Source),
    /// Number of items of a list, or of bytes of a text.
    Length(Source),
}

/// Relation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Condition {
    /// Parses a condition; the error gives the fault and its position. `find` resolves names, and refuses
    /// unknown ones.
    pub(crate) fn parse(text: &str, find: &mut dyn FnMut(&str) -> Option<Source>) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0, depth: 0, find };
        let condition = parser.any()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.wrong("the end, `and` or `or`"));
        }
        Ok(condition)
    }

    /// Whether the condition holds.
    pub fn holds(&self, values: &impl Values) -> bool {
        match self {
            Condition::Always(answer) => *answer,
            Condition::Has(source) => values.view(*source).length() > 0,
            Condition::Compare(left, relation, right) => {
                relation.holds(left.view(values), right.view(values))
            }
            Condition::Not(inner) => !inner.holds(values),
            Condition::All(list) => list.iter().all(|c| c.holds(values)),
            Condition::Any(list) => list.iter().any(|c| c.holds(values)),
        }
    }
}

impl Operand {
    fn view<'a>(&'a self, values: &'a impl Values) -> View<'a> {
        match self {
            Operand::Number(x) => View::Number(*x),
            Operand::Text(text) => View::Text(text),
            Operand::Value(source) => values.view(*source),
            Operand::Length(source) => View::Number(values.view(*source).length() as f64),
        }
    }
}

impl Relation {
    /// Two texts that are numbers compare as numbers, and so do a number and a text that is one; two other
    /// texts compare byte by byte. All other pairs, above all those with an absent value, are only unequal.
    fn holds(self, left: View<'_>, right: View<'_>) -> bool {
        let order = match (left.number(), right.number()) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => match (left, right) {
                (View::Text(a), View::Text(b)) => Some(a.cmp(b)),
                _ => None,
            },
        };
        match self {
            Relation::Equal => order.is_some_and(|o| o.is_eq()),
            Relation::Unequal => order.is_none_or(|o| o.is_ne()),
            Relation::Less => order.is_some_and(|o| o.is_lt()),
            Relation::LessOrEqual => order.is_some_and(|o| o.is_le()),
            Relation::Greater => order.is_some_and(|o| o.is_gt()),
            Relation::GreaterOrEqual => order.is_some_and(|o| o.is_ge()),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    find: &'a mut dyn FnMut(&str) -> Option<Source>,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Condition, String> {
        let mut list = vec![self.all()?];
        while self.word("or") {
            list.push(self.all()?);
        }
        Ok(if list.len() == 1 { list.swap_remove(0) } else { Condition::Any(list) })
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut list = vec![self.one()?];
        while self.word("and") {
            list.push(self.one()?);
        }
        Ok(if list.len() == 1 { list.swap_remove(0) } else { Condition::All(list) })
    }

    fn one(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of brackets and `not`"));
        }
        let found = self.unnested();
        self.depth -= 1;
        found
    }

    fn unnested(&mut self) -> Result<Condition, String> {
        if self.word("not") {
            return Ok(Condition::Not(Box::new(self.one()?)));
        }
        if self.sign("(") {
            let inner = self.any()?;
            return if self.sign(")") { Ok(inner) } else { Err(self.wrong("`)`")) };
        }
        for (word, answer) in [("true", true), ("false", false)] {
            if self.word(word) {
                return Ok(Condition::Always(answer));
            }
        }
        if self.word("has") {
            return Ok(Condition::Has(self.bracketed()?));
        }
        let left = self.operand()?;
        let relation = self.relation()?;
        Ok(Condition::Compare(left, relation, self.operand()?))
    }

    fn relation(&mut self) -> Result<Relation, String> {
        const SIGNS: [(&str, Relation); 6] = [
            ("==", Relation::Equal),
            ("!=", Relation::Unequal),
            ("<=", Relation::LessOrEqual),
            (">=", Relation::GreaterOrEqual),
            ("<", Relation::Less),
            (">", Relation::Greater),
        ];
        let found = SIGNS.iter().find(|(sign, _)| self.sign(sign)).map(|s| s.1);
        found.ok_or_else(|| self.wrong("one of == != < <= > >="))
    }

    fn operand(&mut self) -> Result<Operand, String> {
        for quote in ["'", "\""] {
            if self.sign(quote) {
                let rest = &self.text[self.at..];
                let end = rest.find(quote).ok_or_else(|| self.wrong("a closing quote"))?;
                self.at += end + 1;
                return Ok(Operand::Text(rest[..end].into()));
            }
        }
        if self.word("len") {
            return Ok(Operand::Length(self.bracketed()?));
        }
        let start = self.at;
        match self.token() {
            "" => Err(self.wrong("a name, a number, a text in quotes, has(...) or len(...)")),
            token => match token.parse::<f64>() {
                Ok(number) if number.is_finite() && !token.starts_with(char::is_alphabetic) => {
                    Ok(Operand::Number(number))
                }
                _ if token.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                    self.name(token).map(Operand::Value)
                }
                _ => {
                    self.at = start;
                    Err(self.wrong("a name, a number, a text in quotes, has(...) or len(...)"))
                }
            },
        }
    }

    fn bracketed(&mut self) -> Result<Source, String> {
        if !self.sign("(") {
            return Err(self.wrong("`(`"));
        }
        self.space();
        let token = self.token();
        let source = self.name(token)?;
        if self.sign(")") { Ok(source) } else { Err(self.wrong("`)`")) }
    }

    fn name(&mut self, token: &str) -> Result<Source, String> {
        // An unknown name is refused by `find`; this replaces it until the refusals are shown.
        let stand_in = Source::BuiltIn(crate::BuiltIn::User);
        if token.is_empty() { Err(self.wrong("a name")) } else { Ok((self.find)(token).unwrap_or(stand_in)) }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads letters, digits and the signs of names and numbers.
    fn token(&mut self) -> &'a str {
        self.space();
        let rest = &self.text[self.at..];
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
        let token = &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
        self.at += token.len();
        token
    }

    fn word(&mut self, word: &str) -> bool {
        let start = self.at;
        let found = self.token() == word;
        if !found {
            self.at = start;
        }
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn wrong(&self, expected: &str) -> String {
        let rest = self.text[self.at..].trim_start();
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        format!("expected {expected}, found {found}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Life, SlotIndex, Value};

    struct Some6(Vec<Value>);
    impl Values for Some6 {
        fn view(&self, source: Source) -> View<'_> {
            let Source::Slot(place) = source else { return View::Absent };
            self.0[usize::from(place.slot)].view()
        }
    }

    fn find(name: &str) -> Option<Source> {
        let slot =
            ["none", "text", "price", "list", "count", "empty"].iter().position(|n| *n == name)? as u16;
        Some(Source::Slot(SlotIndex { life: Life::User, slot }))
    }

    fn holds(text: &str) -> bool {
        let list = Value::List(["a".into(), "b".into()].into());
        let values = [
            Value::Absent,
            Value::Text("open".into()),
            Value::Text("12.50".into()),
            list,
            Value::Integer(3),
            Value::Text("".into()),
        ];
        Condition::parse(text, &mut find).unwrap().holds(&Some6(values.into()))
    }

    #[test]
    fn conditions_hold_or_not() {
        for text in [
            "true",
            "not false",
            "has(text)",
            "not has(none)",
            "not has(empty)",
            "len(list) == 2",
            "len(none) == 0",
            "text == 'open'",
            "text != \"sold\"",
            "price > 12 and price < 13",
            "price == '12.5'",
            "count >= 3 and count <= 3",
            "none != 'x'",
            "none != none",
            "false and false or true",
            "true or false and false",
            "not (true and false)",
            "text < 'p'",
            "count > -1",
            "price == 1.25e1",
        ] {
            assert!(holds(text), "{text}");
            assert!(!holds(&format!("not ({text})")), "not ({text})");
        }
    }

    #[test]
    fn a_condition_that_is_none_says_why() {
        for (text, why) in [
            ("", "expected a name, a number, a text in quotes, has(...) or len(...), found the end"),
            ("text", "expected one of == != < <= > >=, found the end"),
            ("text = 'a'", "expected one of == != < <= > >=, found `= 'a'`"),
            ("text == 'a", "expected a closing quote, found `a`"),
            ("has text", "expected `(`, found `text`"),
            ("has(text", "expected `)`, found the end"),
            ("(true", "expected `)`, found the end"),
            ("true true", "expected the end, `and` or `or`, found `true`"),
            ("len()", "expected a name, found `)`"),
            ("1x == 1", "expected a name, a number, a text in quotes, has(...) or len(...), found `1x == 1`"),
        ] {
            assert_eq!(Condition::parse(text, &mut find).unwrap_err(), why, "{text}");
        }
        let deep = format!("{}true{}", "(".repeat(40), ")".repeat(40));
        assert_eq!(
            Condition::parse(&deep, &mut find).unwrap_err(),
            "more than 32 levels of brackets and `not`"
        );
    }
}
