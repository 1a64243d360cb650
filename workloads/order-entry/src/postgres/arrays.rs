//! The lines of an order as arrays, in the text form of the server.

use std::fmt::Write as _;

use barograph_postgres::Param;

use super::session::key;
use crate::input::{Key, LineInput};
use crate::session::PricedLines;
use crate::transactions::{LineLists, write_list};

/// The brackets of an array.
const BRACKETS: [char; 2] = ['{', '}'];

/// Writes numbers as an array.
pub(super) fn write(array: &mut String, numbers: impl Iterator<Item = i64>) {
    write_list(array, BRACKETS, numbers, |array, number| write!(array, "{number}"));
}

/// Writes texts as an array.
fn write_texts<'a>(array: &mut String, texts: impl Iterator<Item = &'a str>) {
    write_list(array, BRACKETS, texts, |array, text| {
        array.push('"');
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                array.push('\\');
            }
            array.push(character);
        }
        array.push('"');
        Ok(())
    });
}

/// The value of the statement that reads the prices of lines.
pub(super) fn items<'a>(lines: &[LineInput], lists: &'a mut LineLists) -> [Param<'a>; 1] {
    write(&mut lists[0], lines.iter().map(|line| line.item));
    [Param::Text(&lists[0])]
}

/// The values of the statement that inserts the lines of an order.
pub(super) fn rows<'a>(order: Key, lines: PricedLines<'_>, lists: &'a mut LineLists) -> [Param<'a>; 8] {
    let [items, supplies, quantities, amounts, infos] = lists;
    write(items, lines.numbered().map(|line| line.item));
    write(supplies, lines.numbered().map(|line| line.supply));
    write(quantities, lines.numbered().map(|line| line.quantity));
    write(amounts, lines.numbered().map(|line| line.cents));
    write_texts(infos, lines.numbered().map(|line| line.info));
    let ([w, d, o], [items, supplies, quantities, amounts, infos]) =
        (key(order), lists.each_ref().map(|list| Param::Text(list)));
    [w, d, o, items, supplies, quantities, amounts, infos]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_arrays() {
        let mut array = "old".to_owned();
        write(&mut array, [].into_iter());
        assert_eq!(array, "{}");
        write(&mut array, [12, -7].into_iter());
        assert_eq!(array, "{12,-7}");
        write_texts(&mut array, ["a,b", r#"c"\"#, ""].into_iter());
        assert_eq!(array, r#"{"a,b","c\"\\",""}"#);
    }
}
