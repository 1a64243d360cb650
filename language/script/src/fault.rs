//! Exceptions of the engine, as errors with file, line and function.

use rquickjs::{Ctx, Exception, Value};

use crate::error::{Bound, ErrorLocation, ScriptError};

/// Most characters shown of a thrown text.
const SHOWN: usize = 200;

/// A thrown exception.
pub(crate) struct Fault {
    pub(crate) line: Option<u32>,
    pub(crate) problem: String,
    pub(crate) bound: Option<Bound>,
}

impl Fault {
    /// Takes the pending exception of a realm. `spent` if the engine ended the call for its steps.
    pub(crate) fn take(ctx: &Ctx<'_>, file: &str, spent: bool) -> Self {
        let mut fault = Self::read(&ctx.catch(), file);
        if spent {
            fault.bound = Some(Bound::Steps);
        }
        fault
    }

    fn read(thrown: &Value<'_>, file: &str) -> Self {
        let Some(exception) = thrown.as_object().and_then(|object| Exception::from_object(object.clone()))
        else {
            // Without memory for an error the engine throws null.
            let bound = thrown.is_null().then_some(Bound::Memory);
            return Self { line: None, problem: not_an_error(thrown), bound };
        };
        let message = exception.message().unwrap_or_default();
        let kind: String = exception.as_object().get("name").unwrap_or_else(|_| "Error".to_owned());
        let line = exception.stack().and_then(|stack| line_of(&stack, file));
        let bound = match (kind.as_str(), message.as_str()) {
            ("InternalError", "out of memory") => Some(Bound::Memory),
            ("RangeError" | "InternalError", "Maximum call stack size exceeded") => Some(Bound::Depth),
            _ => None,
        };
        let problem = format!("{kind}: {message}").chars().take(SHOWN).collect();
        Self { line, problem, bound }
    }

    /// The error of a call.
    pub(crate) fn of_call(self, file: &str, function: &str) -> ScriptError {
        let place =
            ErrorLocation { file: file.to_owned(), line: self.line, function: Some(function.to_owned()) };
        match self.bound {
            Some(bound) => ScriptError::Bound { place, bound },
            None => ScriptError::Threw { place, problem: self.problem },
        }
    }

    /// The error of reading a file.
    pub(crate) fn of_file(self, file: &str) -> ScriptError {
        let place = ErrorLocation { file: file.to_owned(), line: self.line, function: None };
        match self.bound {
            Some(bound) => ScriptError::Bound { place, bound },
            None => ScriptError::Read { place, problem: self.problem },
        }
    }
}

fn not_an_error(thrown: &Value<'_>) -> String {
    let text = thrown.as_string().and_then(|text| text.to_string().ok());
    match text {
        Some(text) => text.chars().take(SHOWN).collect(),
        None => {
            format!("a value of type {} was thrown; throw an Error, which knows its line", thrown.type_name())
        }
    }
}

/// The line of the innermost frame that is in this file.
fn line_of(stack: &str, file: &str) -> Option<u32> {
    let at = stack.find(&format!("{file}:"))?;
    let digits = stack[at + file.len() + 1..].split(|sign: char| !sign.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn the_line_is_that_of_the_innermost_frame_in_the_file() {
        let stack = "    at max (native)\n    at add (shop.js:12:9)\n    at pick (shop.js:3:1)\n";
        assert_eq!(line_of(stack, "shop.js"), Some(12));
        assert_eq!(line_of(stack, "other.js"), None);
        assert_eq!(line_of("at shop.js:", "shop.js"), None);
    }
}
