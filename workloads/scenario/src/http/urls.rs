//! The URLs under load: from the command line and from a file.

use barograph_workload::CommandError;

use super::arguments::HttpArgs;
use super::base;

/// Most URLs: each is kept as a request, ready to be sent.
const MOST: usize = 10_000;

/// A URL under load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UrlEntry {
    /// The method, if its line names one.
    pub(super) method: Option<String>,
    pub(super) url: String,
    /// Scheme, host and port.
    pub(super) base: String,
}

/// All URLs, those of the file last.
pub(super) fn listed(args: &HttpArgs) -> Result<Vec<UrlEntry>, CommandError> {
    let mut listed = Vec::new();
    for given in &args.url {
        let entry = entry(None, given);
        listed.push(entry.map_err(|why| {
            CommandError::refused(format!(
                "read the URL `{given}`: {why}; it is written as in http://127.0.0.1:8080/path"
            ))
        })?);
    }
    if let Some(file) = &args.urls {
        let doing = || format!("read the URLs in `{}`", file.display());
        let text =
            std::fs::read_to_string(file).map_err(|why| CommandError::refused(why).while_doing(doing()))?;
        for (number, line) in text.lines().enumerate() {
            let wrong = |why| CommandError::refused(format!("{}, line {}: {why}", doing(), number + 1));
            listed.extend(of_line(line).map_err(wrong)?);
        }
        if listed.is_empty() {
            return Err(CommandError::refused(format!("{}: it has none", doing())));
        }
    }
    if listed.len() > MOST {
        return Err(CommandError::refused(format!("load {} URLs: at most {MOST} are allowed", listed.len())));
    }
    Ok(listed)
}

/// Parses `[METHOD] URL`; `None` for an empty line or a comment.
fn of_line(line: &str) -> Result<Option<UrlEntry>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [url] => entry(None, url).map(Some),
        [method, url] => entry(Some(method), url).map(Some),
        _ => Err("a line is written `[METHOD] URL`, as in `GET http://127.0.0.1:8080/path`".to_owned()),
    }
}

fn entry(method: Option<&str>, given: &str) -> Result<UrlEntry, String> {
    let url = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    let base = base(&url)?;
    Ok(UrlEntry { method: method.map(str::to_owned), url, base })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_urls_with_or_without_a_method() {
        let read = |line: &str| of_line(line).map(|l| l.map(|l| (l.method, l.url)));
        assert_eq!((read(""), read(" # http://h/")), (Ok(None), Ok(None)));
        assert_eq!(read("h:81/a?b"), Ok(Some((None, "http://h:81/a?b".to_owned()))));
        assert_eq!(read(" PUT  https://h/ "), Ok(Some((Some("PUT".to_owned()), "https://h/".to_owned()))));
        assert_eq!(read("GET ftp://h").unwrap_err(), "unknown scheme `ftp`");
        assert!(read("GET http://h/ x").unwrap_err().contains("`[METHOD] URL`"));
    }
}
