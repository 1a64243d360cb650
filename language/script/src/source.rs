//! Structure of a script's text: the lines of its functions, with nothing between them.

/// One function of a script.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) name: String,
    /// From `function` to its closing brace.
    pub(crate) text: String,
    /// Its first line, counted from 1.
    pub(crate) line: u32,
    /// Names of values, in order.
    pub(crate) parameters: Vec<String>,
}

/// A fault in a text, with its position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceProblem {
    pub(crate) line: u32,
    pub(crate) problem: String,
}

/// Finds each function in `source`, in the order of the file.
///
/// `found` are names and texts as returned by the engine, so no grammar is repeated here.
pub(crate) fn pieces(source: &str, found: Vec<(String, String)>) -> Result<Vec<Piece>, SourceProblem> {
    let mut rest = source.to_owned().into_bytes();
    let mut pieces = Vec::with_capacity(found.len());
    for (name, text) in found {
        let Some(at) = source.find(&text) else {
            return Err(SourceProblem { line: 1, problem: format!("`{name}` is not defined by this file") });
        };
        let line = line_at(source, at);
        // Line ends stay, so that the rest keeps its line numbers.
        for byte in rest[at..at + text.len()].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        let parameters = parameters(&name, &text).map_err(|problem| SourceProblem { line, problem })?;
        pieces.push(Piece { name, text, line, parameters });
    }
    nothing_between(&String::from_utf8_lossy(&rest))?;
    pieces.sort_by_key(|piece| piece.line);
    Ok(pieces)
}

/// Words that need promises or modules. The engine has neither, and aborts on such code. Neither word can be
/// escaped where it has that meaning, so a search for it suffices; comments and texts are refused as well.
const REFUSED: [&str; 2] = ["async", "import"];

/// Whether a word is a number of any length, such as `10n`. One operation on those may take seconds without a
/// check.
fn is_big(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_digit()) && word.ends_with('n')
}

/// Refuses text that the engine must not even read.
pub(crate) fn screen(source: &str) -> Result<(), SourceProblem> {
    for (number, line) in source.lines().enumerate() {
        let mut words = line.split(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == '$'));
        if let Some(word) = words.find(|word| REFUSED.contains(word) || is_big(word)) {
            let problem = format!(
                "the word `{word}` may not stand in a script, not even in a comment: \
                 functions answer at once, load nothing, and count with plain numbers"
            );
            return Err(SourceProblem { line: u32::try_from(number + 1).unwrap_or(u32::MAX), problem });
        }
    }
    Ok(())
}

fn line_at(source: &str, at: usize) -> u32 {
    let ends = source.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(ends + 1).unwrap_or(u32::MAX)
}

/// The parameters of `function name(a, b) {`, which must be plain names.
fn parameters(name: &str, text: &str) -> Result<Vec<String>, String> {
    let plain = format!(
        "function `{name}` must be written `function {name}(basket, money) {{ ... }}`, \
         its parameters being names of values without defaults, patterns or comments"
    );
    let head = text.strip_prefix("function ").map(str::trim_start).and_then(|text| text.strip_prefix(name));
    let Some(list) = head.and_then(|head| head.trim_start().strip_prefix('(')) else { return Err(plain) };
    let Some((list, _)) = list.split_once(')') else { return Err(plain) };
    let mut names: Vec<&str> = list.split(',').map(str::trim).collect();
    if names.last() == Some(&"") {
        names.pop();
    }
    let is_plain = |name: &&str| {
        !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || sign == '_' || sign == '$')
    };
    if names.iter().all(is_plain) { Ok(names.into_iter().map(str::to_owned).collect()) } else { Err(plain) }
}

/// Refuses anything but space and comments. State beside functions would outlive a call, and then the answer
/// for one user would depend on earlier users.
fn nothing_between(rest: &str) -> Result<(), SourceProblem> {
    let mut left = rest;
    loop {
        left = left.trim_start();
        if left.is_empty() {
            return Ok(());
        }
        let end = if left.starts_with("//") {
            left.find('\n').or(Some(left.len()))
        } else if left.starts_with("/*") {
            left.find("*/").map(|at| at + 2)
        } else {
            None
        };
        let Some(end) = end else {
            let line = line_at(rest, rest.len() - left.len());
            let shown: String = left.lines().next().unwrap_or("").trim_end().chars().take(40).collect();
            let problem = format!(
                "only functions may stand here, each defined once, but there is `{shown}`; \
                 move it into the function that needs it"
            );
            return Err(SourceProblem { line, problem });
        };
        left = &left[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), text.to_owned())]
    }

    #[test]
    fn lines_and_parameters_are_those_of_the_file() {
        let source = "// A shop.\n\n/* two\nlines */ function pick ( basket,money , ) {\n return 1; }\n";
        let text = "function pick ( basket,money , ) {\n return 1; }";
        let pieces = pieces(source, found("pick", text)).unwrap();
        assert_eq!((pieces[0].line, pieces[0].parameters.join(" ")), (4, "basket money".to_owned()));
    }

    #[test]
    fn state_beside_functions_is_refused_with_its_line() {
        let text = "function pick() { return n++; }";
        let wrong = pieces(&format!("{text}\n\nlet n = 0;\n"), found("pick", text)).unwrap_err();
        assert_eq!(wrong.line, 3);
        assert!(wrong.problem.contains("`let n = 0;`"), "{}", wrong.problem);
    }

    #[test]
    fn parameters_must_be_plain_names() {
        for list in ["a = 1", "{a}", "[a]", "...a", "a /* b */", "a,,b"] {
            let text = format!("function pick({list}) {{ return 1; }}");
            assert!(pieces(&text, found("pick", &text)).is_err(), "{list}");
        }
        for text in ["function* pick() {}", "async function pick() {}", "() => 1", "class pick {}"] {
            assert!(pieces(text, found("pick", text)).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(source in "[-/*a-z(){}, \n]{0,60}", text in "[a-z(){} \n]{0,20}") {
            if let Err(wrong) = pieces(&source, vec![("f".to_owned(), text)]) {
                proptest::prop_assert!(wrong.line >= 1 && wrong.line as usize <= source.lines().count().max(1) + 1);
            }
        }
    }
}
