//! Long files and long functions are findings; the list of exceptions may only shrink.
//!
//! An exception names the exact size. Growing beyond it fails, and so does an entry that is larger than needed: the
//! list follows the code down and never up.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Finding, Source};

/// Most lines of a file.
const FILE_LINES: usize = 600;
/// Most lines of a function, from signature to closing brace.
const FUNCTION_LINES: usize = 80;
/// The file with the exceptions.
const LIST: &str = "xtask/ratchet.txt";

pub(super) fn check(sources: &[Source], list: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut allowed = read_list(list, &mut findings);
    for source in sources {
        let lines = source.text.lines().count();
        hold(
            &SizedItem { what: format!("file {}", source.path), lines, limit: FILE_LINES },
            &mut allowed,
            &mut findings,
        );
        match syn::parse_file(&source.text) {
            Ok(file) => {
                for (name, lines) in functions(&file) {
                    let what = format!("function {}::{name}", source.path);
                    hold(&SizedItem { what, lines, limit: FUNCTION_LINES }, &mut allowed, &mut findings);
                }
            }
            Err(error) => findings.push(finding(&source.path, format!("cannot be read as Rust: {error}"))),
        }
    }
    for what in allowed.into_keys() {
        findings.push(finding(LIST, format!("remove `{what}`: it is not longer than allowed, or gone")));
    }
    findings
}

struct SizedItem {
    what: String,
    lines: usize,
    limit: usize,
}

/// Compares one size with its limit or its exception, which is then used up.
fn hold(found: &SizedItem, allowed: &mut BTreeMap<String, usize>, findings: &mut Vec<Finding>) {
    if found.lines <= found.limit {
        return;
    }
    match allowed.remove(&found.what) {
        None => findings.push(finding(
            &found.what,
            format!("{} lines, at most {} are allowed", found.lines, found.limit),
        )),
        Some(exception) if found.lines > exception => findings.push(finding(
            &found.what,
            format!("grew to {} lines, its exception is {exception}", found.lines),
        )),
        Some(exception) if found.lines < exception => {
            findings.push(finding(LIST, format!("lower `{}` to {}", found.what, found.lines)));
        }
        Some(_) => {}
    }
}

/// Parses lines such as `file PATH 640` and `function PATH::NAME 95`; `#` begins a comment.
fn read_list(list: &str, findings: &mut Vec<Finding>) -> BTreeMap<String, usize> {
    let mut allowed = BTreeMap::new();
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.rsplit_once(' ').and_then(|(what, lines)| Some((what, lines.parse::<usize>().ok()?))) {
            Some((what, lines)) => {
                allowed.insert(what.to_owned(), lines);
            }
            None => findings.push(finding(LIST, format!("cannot read `{line}`"))),
        }
    }
    allowed
}

fn finding(place: &str, says: String) -> Finding {
    Finding { rule: "sizes", place: place.to_owned(), says }
}

/// Name and length in lines, from signature to closing brace, of every function of a file.
fn functions(file: &syn::File) -> Vec<(String, usize)> {
    let mut finder = Functions::default();
    finder.visit_file(file);
    finder.found
}

#[derive(Default)]
struct Functions {
    found: Vec<(String, usize)>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.span().end().line + 1 - signature.span().start().line;
        self.found.push((signature.ident.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(function_lines: usize, file_lines: usize) -> Vec<Source> {
        let body = "    work();\n".repeat(function_lines - 2);
        let mut text = format!("struct S;\nimpl S {{\nfn long() {{\n{body}}}\n}}\n");
        while text.lines().count() < file_lines {
            text.push_str("// more\n");
        }
        vec![Source { path: "lab/a/src/b.rs".to_owned(), text }]
    }

    fn says(sources: &[Source], list: &str) -> Vec<String> {
        check(sources, list).into_iter().map(|f| format!("{}: {}", f.place, f.says)).collect()
    }

    #[test]
    fn long_files_and_functions_are_found() {
        assert!(says(&source(80, 600), "").is_empty());
        assert_eq!(
            says(&source(81, 601), ""),
            [
                "file lab/a/src/b.rs: 601 lines, at most 600 are allowed",
                "function lab/a/src/b.rs::long: 81 lines, at most 80 are allowed"
            ]
        );
    }

    #[test]
    fn an_exception_holds_exactly() {
        let list = "# reasons\nfunction lab/a/src/b.rs::long 90\n";
        assert!(says(&source(90, 100), list).is_empty());
        assert_eq!(
            says(&source(91, 100), list),
            ["function lab/a/src/b.rs::long: grew to 91 lines, its exception is 90"]
        );
        assert_eq!(
            says(&source(85, 100), list),
            ["xtask/ratchet.txt: lower `function lab/a/src/b.rs::long` to 85"]
        );
        assert!(says(&source(80, 100), list)[0].contains("remove `function lab/a/src/b.rs::long`"));
        assert!(says(&[], "nonsense")[0].contains("cannot read"));
    }
}
