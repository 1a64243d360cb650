//! HAProxy's table in CSV.

use std::borrow::Cow;

use crate::sums::Sums;

/// Prefix of the line with the names of columns.
const HEAD: &str = "# ";

pub(super) fn read(text: &str, sums: &mut Sums<'_>) -> Result<(), String> {
    let mut lines = text.lines();
    let head = lines.next().and_then(|line| line.strip_prefix(HEAD));
    let head = head.filter(|head| head.starts_with("pxname,svname,")).ok_or("not a table of HAProxy")?;
    let columns: Vec<&str> = head.split(',').collect();
    for line in lines.filter(|line| !line.is_empty()) {
        let cells = cells(line);
        let cell = |name: &str| {
            let at = columns.iter().position(|column| *column == name)?;
            cells.get(at).map(|cell| &**cell)
        };
        let label = |name: &str| match name {
            "pxname" | "svname" | "type" => cell(name),
            // `DOWN 1/2` is down, too, on its way up.
            "status" => cell(name).and_then(|status| status.split(' ').next()),
            _ => None,
        };
        sums.add_labelled("rows", label, 1.0);
        for (column, cell) in columns.iter().zip(&cells) {
            if let Ok(value) = cell.parse() {
                sums.add_cell(column, label, value);
            }
        }
    }
    Ok(())
}

/// Splits a row into cells; a cell with commas or quotes is quoted, and its own quotes are doubled.
fn cells(line: &str) -> Vec<Cow<'_, str>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(inside) => in_quotes(inside),
            None => match rest.split_once(',') {
                Some((cell, after)) => (Cow::Borrowed(cell), Some(after)),
                None => (Cow::Borrowed(rest), None),
            },
        };
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => return cells,
        }
    }
}

/// Parses a cell after its opening quote, and returns what follows the comma behind it.
fn in_quotes(inside: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut cell = String::new();
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once('"') {
        cell.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                cell.push('"');
                rest = after;
            }
            None => return (Cow::Owned(cell), after.split_once(',').map(|(_, after)| after)),
        }
    }
    cell.push_str(rest);
    (Cow::Owned(cell), None)
}

#[cfg(test)]
mod tests {
    use crate::Form;
    use crate::form::tests::of;

    const TEXT: &str = "# pxname,svname,qcur,scur,stot,status,type,last_chk,\n\
        clients,FRONTEND,,4,100,OPEN,0,,\n\
        servers,app-1,1,2,60,UP,2,\"L7OK, \"\"fine\"\"\",\n\
        servers,app-2,2,0,40,DOWN 1/2,2,L4CON,\n\
        servers,BACKEND,3,2,100,UP,1,,\n\n";

    #[test]
    fn cells_are_added_where_the_row_fits() {
        let names = [
            "scur{svname=\"FRONTEND\"}",
            "stot{pxname=\"clients\",svname=\"FRONTEND\"}",
            "qcur{svname=\"BACKEND\"}",
            "rows{type=\"2\",status=\"DOWN\"}",
            "rows{type=\"2\",status=\"MAINT\"}",
            "rows",
            "no_such_column",
            "scur{svname=\"none\"}",
        ];
        let wanted = [Some(4.0), Some(100.0), Some(3.0), Some(1.0), Some(0.0), Some(4.0), None, None];
        assert_eq!(of(Form::Haproxy, TEXT, &names).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(of(Form::Haproxy, "<html>", &["rows"]).is_err());
        assert!(of(Form::Haproxy, "", &["rows"]).is_err());
    }
}
