//! Text formats of statistics.

mod haproxy;
mod prometheus;

use crate::Form;
use crate::sums::Sums;

/// Parses an answer of this form; an error names what is missing.
pub(crate) fn read(form: Form, text: &str, sums: &mut Sums<'_>) -> Result<(), String> {
    match form {
        Form::Prometheus => prometheus::read(text, sums),
        Form::Json => return json(text, sums),
        Form::Lines => pairs(text, ":", sums),
        Form::StubStatus => return stub_status(text, sums),
        Form::Haproxy => return haproxy::read(text, sums),
    }
    Ok(())
}

/// Parses lines of a name and a number separated by `between`; other lines are skipped.
pub(crate) fn pairs(text: &str, between: &str, sums: &mut Sums<'_>) {
    for (name, value) in text.lines().filter_map(|line| line.split_once(between)) {
        if let Ok(value) = value.trim().parse() {
            sums.add(name.trim(), value);
        }
    }
}

fn json(text: &str, sums: &mut Sums<'_>) -> Result<(), String> {
    let whole: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for statistic in sums.wanted() {
        let name = statistic.of.name();
        let found = name.split('.').try_fold(&whole, |inside, key| inside.get(key));
        // Two statistics of one name would each be added to both.
        let first = sums.wanted().iter().find(|other| other.of.name() == name);
        if let (Some(value), true) = (
            found.and_then(serde_json::Value::as_f64),
            first.is_some_and(|first| std::ptr::eq(first, statistic)),
        ) {
            sums.add(name, value);
        }
    }
    Ok(())
}

/// Parses nginx's status page: three lines of words and numbers, and among them one of numbers alone.
fn stub_status(text: &str, sums: &mut Sums<'_>) -> Result<(), String> {
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let names = ["active", "accepts", "handled", "requests", "reading", "writing", "waiting"];
    if !text.starts_with("Active connections:") || numbers.len() != names.len() {
        return Err("not a page of stub_status".to_owned());
    }
    names.iter().zip(numbers).for_each(|(name, value)| sums.add(name, value));
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Statistic, StatisticKind};

    /// Values of these names in a text.
    pub(crate) fn of(form: Form, text: &str, names: &[&str]) -> Result<Vec<Option<f64>>, String> {
        let one = |name: &&str| Statistic {
            name: "x".to_owned(),
            of: (*name).to_owned().try_into().unwrap(),
            kind: StatisticKind::Gauge,
            unit: "x".to_owned(),
            what: String::new(),
        };
        let list: Vec<Statistic> = names.iter().map(one).collect();
        let mut sums = Sums::new(&list);
        read(form, text, &mut sums).map(|()| sums.finish())
    }

    #[test]
    fn json_is_followed_into_objects() {
        let text = r#"{"in_msgs": 12, "cluster": {"size": 3}, "name": "n", "in": "7"}"#;
        let found =
            of(Form::Json, text, &["in_msgs", "cluster.size", "name", "in", "cluster.none", "in_msgs"]);
        assert_eq!(found.unwrap(), [Some(12.0), Some(3.0), None, None, None, Some(12.0)]);
        assert!(of(Form::Json, "{", &["a"]).is_err());
    }

    #[test]
    fn lines_are_names_and_numbers() {
        let text = "ServerVersion: Apache/2.4\nBusyWorkers: 3\nLoad1: .5\nIdleWorkers: many\n";
        let found = of(Form::Lines, text, &["BusyWorkers", "Load1", "IdleWorkers", "ServerVersion"]);
        assert_eq!(found.unwrap(), [Some(3.0), Some(0.5), None, None]);
    }

    #[test]
    fn the_page_of_nginx_is_read() {
        let text = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        let found = of(Form::StubStatus, text, &["active", "accepts", "handled", "requests", "waiting"]);
        let wanted = [291.0, 16_630_948.0, 16_630_947.0, 31_070_465.0, 106.0].map(Some);
        assert_eq!(found.unwrap(), wanted);
        assert!(of(Form::StubStatus, "<html>404</html>", &["active"]).is_err());
    }

    proptest! {
        /// Any text is parsed or refused without a panic.
        #[test]
        fn strange_texts_do_no_harm(text in "(?s).{0,200}", form in 0usize..5) {
            let form = [Form::Prometheus, Form::Json, Form::Lines, Form::StubStatus, Form::Haproxy][form];
            let _ = of(form, &text, &["a", "b{c=\"d\"}"]);
        }

        #[test]
        fn strange_figures_do_no_harm(text in "[ab{}=\",\\\\# 0-9.\n-]{0,200}") {
            for form in [Form::Prometheus, Form::Haproxy] {
                let _ = of(form, &text, &["a", "b{a=\"1\"}"]);
                let _ = of(form, &format!("# pxname,svname,{text}"), &["a"]);
            }
        }
    }
}
