//! Prints a draft as a scenario for people: remarks first, then target, values, operations in their order,
//! and transitions.

use crate::draft::{
    Body, Draft, Exchange, Extraction, FormPart, GeneratedValue, Json, Operation, Piece, Socket, Text,
    ThinkTime, ValueSource,
};
use crate::json;

/// Longest line of a remark.
const LINE: usize = 100;

/// Longest list of recorded pauses: more adds nothing.
const MOST_PAUSES: usize = 50;

/// Shortest think time written, in seconds.
const LEAST_S: f64 = 0.01;

/// The whole file.
pub(crate) fn print(draft: &Draft) -> String {
    let mut out = String::new();
    remark(&mut out, &draft.about);
    draft.remarks.iter().for_each(|text| remark(&mut out, text));
    line(&mut out, &format!("about = {}", quoted(&draft.about)));
    line(&mut out, "");
    line(&mut out, "[target]");
    line(&mut out, &format!("url = {}", quoted(&draft.url)));
    for (name, made) in &draft.values {
        line(&mut out, "");
        value(&mut out, name, made);
    }
    line(
        &mut out,
        "\n# Each operation may have a limit: qos = { limit = \"p99 < 250 ms\", failures = \"1 %\" }",
    );
    for op in &draft.operations {
        operation(&mut out, op);
    }
    behaviour(&mut out, draft);
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A comment, in lines of readable length.
fn remark(out: &mut String, text: &str) {
    let text = text.replace(char::is_control, " ");
    let mut length = 0;
    for word in text.split_whitespace() {
        if length == 0 || length + word.len() >= LINE {
            out.push_str(if length == 0 { "#" } else { "\n#" });
            length = 1;
        }
        out.push(' ');
        out.push_str(word);
        length += word.len() + 1;
    }
    out.push('\n');
}

fn value(out: &mut String, name: &str, made: &GeneratedValue) {
    remark(
        out,
        match made {
            GeneratedValue::Secret(what) => what,
            _ => "No answer gives this value, so it is made. Edit: what does the service know?",
        },
    );
    line(out, &format!("[values.{name}]\n{}", generator(made)));
}

fn generator(made: &GeneratedValue) -> String {
    let choice = |of: &[String]| format!("kind = \"random_choice\"\nof = {}", list(of));
    match made {
        GeneratedValue::Integer { min, max } => format!("kind = \"random_int\"\nmin = {min}\nmax = {max}"),
        GeneratedValue::Number { min, max } => {
            format!("kind = \"random_float\"\nmin = {min:?}\nmax = {max:?}")
        }
        GeneratedValue::Choice(of) => choice(of),
        GeneratedValue::Uuid => "kind = \"uuid\"".to_owned(),
        GeneratedValue::Secret(_) => choice(&["put-it-here".to_owned()]),
    }
}

fn operation(out: &mut String, operation: &Operation) {
    line(out, &format!("\n[operations.{}]", operation.name));
    line(out, &format!("about = {}", quoted(&operation.about)));
    line(out, "qos = { failures = \"1 %\" }");
    let groups = groups(&operation.exchanges);
    for (exchange, group) in operation.exchanges.iter().zip(groups) {
        line(out, &format!("\n[[operations.{}.exchanges]]", operation.name));
        self::exchange(out, exchange, group);
    }
}

/// The group of each exchange; `None` for a single one.
fn groups(exchanges: &[Exchange]) -> Vec<Option<String>> {
    let mut number = 0;
    let mut groups = Vec::with_capacity(exchanges.len());
    for (i, exchange) in exchanges.iter().enumerate() {
        let begins = exchanges.get(i + 1).is_some_and(|next| next.beside);
        if !exchange.beside && begins {
            number += 1;
        }
        groups.push((exchange.beside || begins).then_some(number));
    }
    let name = |group: usize| if number == 1 { "true".to_owned() } else { format!("\"{group}\"") };
    groups.into_iter().map(|group| group.map(name)).collect()
}

fn exchange(out: &mut String, exchange: &Exchange, group: Option<String>) {
    exchange.remarks.iter().for_each(|text| remark(out, &format!("Edit: {text}.")));
    if let Some(group) = group {
        line(out, &format!("parallel = {group}"));
    }
    match &exchange.socket {
        Some(Socket { stream, protocols }) => {
            line(out, &format!("websocket = \"open\"\nstream = {}", quoted(stream)));
            if !protocols.is_empty() {
                line(out, &format!("protocols = {}", list(protocols)));
            }
        }
        None => line(out, &format!("method = {}", quoted(&exchange.method))),
    }
    line(out, &format!("path = {}", quoted(&template(&exchange.path))));
    if !exchange.query.is_empty() {
        line(out, &format!("query = {}", pairs(&exchange.query)));
    }
    let mut headers = exchange.headers.clone();
    let body = exchange.body.as_ref().map(|body| body_line(body, &mut headers));
    if !headers.is_empty() {
        line(out, &format!("headers = {}", pairs(&headers)));
    }
    body.into_iter().for_each(|body| line(out, &body));
    if !exchange.keep.is_empty() {
        let kept: Vec<String> = exchange.keep.iter().map(keep).collect();
        line(out, &format!("extract = {{ {} }}", kept.join(", ")));
    }
    if !exchange.statuses.is_empty() {
        let statuses: Vec<String> = exchange.statuses.iter().map(u16::to_string).collect();
        line(out, &format!("check = {{ status = [{}] }}", statuses.join(", ")));
    }
}

/// A table on one line. A repeated name has a list of values.
fn pairs(pairs: &[(String, Text)]) -> String {
    table(pairs.iter().map(|(name, text)| (name.as_str(), quoted(&template(text)))))
}

fn table<'n>(pairs: impl Iterator<Item = (&'n str, String)>) -> String {
    let mut entries: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value) in pairs {
        match entries.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => entries.push((name, vec![value])),
        }
    }
    let entry = |(name, values): (&str, Vec<String>)| match values.as_slice() {
        [one] => format!("{} = {one}", key(name)),
        several => format!("{} = [{}]", key(name), several.join(", ")),
    };
    format!("{{ {} }}", entries.into_iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// Prints a body that TOML can hold as a value, any other as text with its type among the headers.
fn body_line(body: &Body, headers: &mut Vec<(String, Text)>) -> String {
    match body {
        Body::Json(document) if json::fits_toml(document) => format!("json = {}", in_toml(document)),
        Body::Json(document) => {
            if !headers.iter().any(|(name, _)| name == "content-type") {
                headers.push(("content-type".to_owned(), Text::fixed("application/json")));
            }
            format!("body = {}", quoted(&template(&json::text(document))))
        }
        Body::Form(fields) if fields.is_empty() => "body = \"\"".to_owned(),
        Body::Form(fields) => format!("form = {}", pairs(fields)),
        Body::Multipart(parts) => {
            format!(
                "multipart = {}",
                table(parts.iter().map(|(name, part)| (name.as_str(), self::part(part))))
            )
        }
        Body::Text(text) => format!("body = {}", quoted(&template(text))),
    }
}

fn part(part: &FormPart) -> String {
    let text = quoted(&template(&part.text));
    let more = [("filename", &part.filename), ("type", &part.media_type)];
    let more: Vec<String> =
        more.iter().filter_map(|(key, value)| Some(format!("{key} = {}", quoted(value.as_ref()?)))).collect();
    if more.is_empty() { text } else { format!("{{ text = {text}, {} }}", more.join(", ")) }
}

/// Prints as an inline value of TOML.
fn in_toml(document: &Json) -> String {
    match document {
        Json::Plain(plain) => plain.clone(),
        Json::Text(text) => quoted(&template(text)),
        Json::Bare(name) => format!("\"{{{name}:raw}}\""),
        Json::List(items) => format!("[{}]", items.iter().map(in_toml).collect::<Vec<_>>().join(", ")),
        Json::Object(members) if members.is_empty() => "{}".to_owned(),
        Json::Object(members) => {
            let member = |(name, value): &(String, Json)| format!("{} = {}", key(name), in_toml(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

fn keep(keep: &Extraction) -> String {
    match &keep.from {
        ValueSource::Json(pointer) => format!("{} = {{ json = {} }}", keep.name, quoted(pointer)),
        ValueSource::Regex(pattern) => format!("{} = {{ regex = {} }}", keep.name, quoted(pattern)),
        ValueSource::Header(header) => format!("{} = {{ header = {} }}", keep.name, quoted(header)),
    }
}

/// Prints with names in braces, and literal braces doubled.
fn template(text: &Text) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Fixed(text) => braces(text),
        Piece::Value(name) => format!("{{{name}}}"),
    };
    text.0.iter().map(piece).collect()
}

fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

/// A text in quotes. JSON escapes are TOML escapes, except for one character that JSON leaves unescaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_owned() } else { quoted(name) }
}

/// Each operation once, in order; then the session ends and starts again.
fn behaviour(out: &mut String, draft: &Draft) {
    let Some(first) = draft.operations.first() else { return };
    line(out, "\n# Edit: what follows what. Shares are written { A = 0.7, B = 0.3 }.\n[behaviours.main]");
    line(out, &format!("first = \"{}\"", first.name));
    line(out, &pace(&draft.think));
    line(out, "\n[behaviours.main.next]");
    let names: Vec<&str> = draft.operations.iter().map(|op| op.name.as_str()).collect();
    for pair in names.windows(2) {
        line(out, &format!("{} = \"{}\"", pair[0], pair[1]));
    }
    names.last().into_iter().for_each(|last| line(out, &format!("{last} = \"end_session\"")));
}

fn pace(think: &ThinkTime) -> String {
    match think {
        ThinkTime::Guess(mean) => format!(
            "# Nothing is known of how long users think.\n\
             pace = {{ think = {{ exponential = {{ mean = \"{mean} s\", max = \"{} s\" }} }} }}",
            mean * 10.0
        ),
        ThinkTime::Recorded(pauses) => {
            let step = pauses.len().div_ceil(MOST_PAUSES).max(1);
            let values = pauses.iter().step_by(step).map(|s| format!("\"{} s\"", s.max(LEAST_S)));
            let values: Vec<String> = values.collect();
            format!(
                "# The pauses of the recording, drawn at random.\n\
                 pace = {{ think = {{ empirical = {{ values = [{}] }} }} }}",
                values.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_written_as_what_they_are() {
        let name =
            || Json::Text(Text(vec![Piece::Fixed("a{b}\"".to_owned()), Piece::Value("who".to_owned())]));
        let document = |last: Json| {
            Json::Object(vec![
                ("the name".to_owned(), name()),
                ("n".to_owned(), Json::Bare("n".to_owned())),
                ("x".to_owned(), last),
            ])
        };
        let mut headers = Vec::new();
        let plain = Body::Json(document(Json::List(vec![Json::Plain("1.5".into()), Json::Object(vec![])])));
        assert_eq!(
            body_line(&plain, &mut headers),
            r#"json = { "the name" = "a{{b}}\"{who}", n = "{n:raw}", x = [1.5, {}] }"#
        );
        assert_eq!(headers, []);
        // TOML has no null.
        let with_null = Body::Json(document(Json::Plain("null".to_owned())));
        assert_eq!(
            body_line(&with_null, &mut headers),
            r#"body = "{{\"the name\":\"a{{b}}\\\"{who}\",\"n\":{n},\"x\":null}}""#
        );
        assert_eq!(headers, [("content-type".to_owned(), Text::fixed("application/json"))]);
    }

    #[test]
    fn names_that_come_again_have_a_list_and_strange_ones_quotes() {
        let two = [("a b", "1"), ("q", "2"), ("a b", "3")].map(|(n, v)| (n.to_owned(), Text::fixed(v)));
        assert_eq!(pairs(&two), r#"{ "a b" = ["1", "3"], q = "2" }"#);
        assert_eq!(quoted("\u{7f}\t\""), r#""\u007f\t\"""#);
    }

    #[test]
    fn exchanges_side_by_side_are_one_group_each() {
        let exchange = |beside| Exchange { beside, ..Exchange::default() };
        let of = |besides: &[bool]| groups(&besides.iter().map(|b| exchange(*b)).collect::<Vec<_>>());
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(of(&[false, false, true, true]), [None, some("true"), some("true"), some("true")]);
        assert_eq!(
            of(&[false, true, false, true]),
            [some("\"1\""), some("\"1\""), some("\"2\""), some("\"2\"")]
        );
    }
}
