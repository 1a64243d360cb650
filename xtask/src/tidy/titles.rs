//! Every Markdown file has exactly one title, so that it can be found and linked.

use super::{Finding, Source};

pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    files
        .iter()
        .filter_map(|file| {
            let titles = count_titles(&file.text);
            (titles != 1).then(|| Finding {
                rule: "titles",
                place: file.path.clone(),
                says: format!("has {titles} lines that begin with `# `, must have one"),
            })
        })
        .collect()
}

/// Lines that begin with `# `, outside of code.
fn count_titles(text: &str) -> usize {
    let mut in_code = false;
    let mut titles = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && line.starts_with("# ") {
            titles += 1;
        }
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_and_two_titles_are_found() {
        let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let found = check(&[
            file("good.md", "# Title\n\n```\n# a comment in code\n```\n## Part\n"),
            file("none.md", "Text.\n"),
            file("two.md", "# One\n# Two\n"),
        ]);
        let places: Vec<&str> = found.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["none.md", "two.md"]);
    }
}
