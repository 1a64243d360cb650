//! Folders of one machine are kept out of published files: documentation, plans, studies, scenarios and
//! stored records.

use super::{Finding, Source};

/// Folders of users' files. No example needs one: a path relative to the working folder suffices.
const PRIVATE: [&str; 7] = ["/home/", "/root/", "/work/", "/tmp/", "/Users/", "/mnt/", "/media/"];

/// Checks published texts; code and tests may name any path.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let lines = files.iter().flat_map(|file| file.text.lines().zip(1..).map(move |line| (file, line)));
    let named = lines.filter_map(|(file, (line, number))| Some((file, number, private_path(line)?)));
    named
        .map(|(file, number, path)| Finding {
            rule: "private_paths",
            place: format!("{}:{number}", file.path),
            says: format!("names `{path}` of one machine; give a path relative to the working folder"),
        })
        .collect()
}

/// The first private path of a line, up to the end of the path.
fn private_path(line: &str) -> Option<&str> {
    let begins = PRIVATE.iter().flat_map(|folder| line.match_indices(folder).map(|(at, _)| at));
    let at = begins.filter(|at| !line[..*at].ends_with(continues_path)).min()?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | ',' | ')' | '\\');
    line[at..].split(ends).next()
}

/// Whether a character continues a longer path, or a URL, before a slash.
fn continues_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_machine_are_found_and_those_of_every_machine_are_not() {
        let file = |text: &str| Source { path: "docs/a.md".to_owned(), text: text.to_owned() };
        for (text, path) in [
            ("To run it again: `/work/main/barograph study x`", "/work/main/barograph"),
            ("<code>barograph run --runs=/tmp/.tmpx/runs</code>", "/tmp/.tmpx/runs"),
            ("dir = \"/home/me/data\"", "/home/me/data"),
            ("a\n/root/x, b", "/root/x"),
        ] {
            let found = check(&[file(text)]);
            assert_eq!(found.len(), 1, "{text}");
            let says = format!("names `{path}` of one machine; give a path relative to the working folder");
            assert_eq!(found[0].says, says);
        }
        let of_every_machine =
            "/etc/hosts /proc/self/exe /usr/bin http://host/home/feed plans/tmp/x $HOME/tmp/x GET /api/work";
        assert_eq!(check(&[file(of_every_machine)]), []);
    }

    #[test]
    fn the_line_of_a_finding_is_counted_from_one() {
        let file = Source { path: "plans/a.toml".to_owned(), text: "a\nb = \"/tmp/x\"\n".to_owned() };
        assert_eq!(check(&[file])[0].place, "plans/a.toml:2");
    }
}
