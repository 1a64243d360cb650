//! Calls of well-behaved functions, and every message for those that are not.

use barograph_scenario_script::{Bounds, FunctionResult, Scalar, ScriptError, Scripts, Values};

const SHOP: &str = include_str!("shop.js");

/// The values of one user, as a list.
struct User(Vec<(&'static str, Scalar<'static>)>);

impl Values for User {
    fn value(&self, name: &str) -> Option<Scalar<'_>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

fn compile(source: &str) -> Result<Scripts, ScriptError> {
    Scripts::compile("shop.js", source, Bounds::default())
}

fn user(basket: i64, role: &'static str) -> User {
    User(vec![
        ("basket", Scalar::Integer(basket)),
        ("money", Scalar::Number(99.5)),
        ("role", Scalar::Text(role)),
    ])
}

fn value(source: &str, user: &User) -> Result<FunctionResult, ScriptError> {
    compile(source)?.call_value("go", user, &mut || 0.5)
}

fn message(answer: Result<impl std::fmt::Debug, ScriptError>) -> String {
    answer.expect_err("the call must fail").to_string()
}

#[test]
fn functions_are_listed_with_their_parameters_and_lines() {
    let scripts = compile(SHOP).unwrap();
    let listed: Vec<String> =
        scripts.functions().map(|(name, names, line)| format!("{line} {name} {}", names.join(","))).collect();
    assert_eq!(listed, ["4 next basket,money,role", "12 bid role,basket", "18 cheap money"]);
}

#[test]
fn a_choice_follows_from_the_values() {
    let scripts = compile(SHOP).unwrap();
    let choices = [(4, "buyer", 0), (1, "seller", 1), (1, "buyer", 2)];
    for (basket, role, branch) in choices {
        assert_eq!(scripts.call_choose("next", &user(basket, role)).unwrap(), branch, "{basket} {role}");
    }
}

#[test]
fn a_value_is_made_from_values_and_random_numbers() {
    let scripts = compile(SHOP).unwrap();
    let mut taken = 0;
    let mut rng = || {
        taken += 1;
        0.25
    };
    let FunctionResult::Text(text) = scripts.call_value("bid", &user(7, "buyer"), &mut rng).unwrap() else {
        panic!()
    };
    assert_eq!(taken, 1, "one number of the stream, however many are drawn");
    let amounts =
        text.strip_prefix("{\"user\":\"buyer\",\"bids\":[").and_then(|text| text.strip_suffix("]}"));
    let amounts: Vec<i64> = amounts.unwrap().split(',').map(|number| number.parse().unwrap()).collect();
    assert!(amounts.len() == 3 && amounts.iter().all(|amount| (7..107).contains(amount)), "{text}");
    assert_ne!(amounts[0], amounts[1]);
}

#[test]
fn every_kind_of_value_goes_in_and_comes_out() {
    let same = "function go(it) { return it; }";
    let table = [
        (Scalar::Flag(true), FunctionResult::Flag(true)),
        (Scalar::Integer(-3), FunctionResult::Integer(-3)),
        (Scalar::Integer((1 << 53) - 1), FunctionResult::Integer((1 << 53) - 1)),
        (Scalar::Number(0.1), FunctionResult::Number(0.1)),
        (Scalar::Text("Grüße\u{0}\u{1f600}"), FunctionResult::Text("Grüße\u{0}\u{1f600}".to_owned())),
    ];
    for (scalar, made) in table {
        assert_eq!(value(same, &User(vec![("it", scalar)])).unwrap(), made);
    }
    assert_eq!(
        value("function go(it) { return it === undefined; }", &User(vec![])).unwrap(),
        FunctionResult::Flag(true)
    );
}

#[test]
fn messages_of_files_name_the_line_and_the_remedy() {
    let table = [
        (
            "function go() {\n  return 1 +;\n}",
            "read shop.js:2: SyntaxError: unexpected token in expression: ';'",
        ),
        (
            "let n = 0;\nfunction go() { return n++; }",
            "read shop.js:1: only functions may stand here, each defined once, but there is `let n = 0;`; \
             move it into the function that needs it",
        ),
        (
            "\nfunction Map() { return 1; }",
            "read shop.js:2: `Map` is a name of the language; call the function something else",
        ),
        (
            "import fs from 'fs';",
            "read shop.js:1: the word `import` may not stand in a script, not even in a comment: functions answer at \
             once, load nothing, and count with plain numbers",
        ),
    ];
    for (source, expected) in table {
        let wrong = message(compile(source).map(|_| ()));
        assert_eq!(wrong, expected);
    }
}

#[test]
fn messages_of_calls_name_the_line_and_the_function() {
    let user = User(vec![("big", Scalar::Integer(1 << 53))]);
    let table = [
        (
            "\n\nfunction go() {\n  return missing + 1; }",
            "run shop.js:4: function `go`: ReferenceError: missing is not defined",
        ),
        ("function go() {\n throw new Error('no'); }", "run shop.js:2: function `go`: Error: no"),
        ("function go() { throw 'text'; }", "run shop.js: function `go`: text"),
        (
            "function go() { return {}; }",
            "use what shop.js:1: function `go` returned: something of type object came, but a value is a text, \
             a finite number or a flag; for JSON use JSON.stringify",
        ),
        (
            "function go() { return 0 / 0; }",
            "use what shop.js:1: function `go` returned: NaN came, but a value is a text, a finite number or a \
             flag; for JSON use JSON.stringify",
        ),
        (
            "function go(big) { return big; }",
            "hand `big` to shop.js:1: function `go`: 9007199254740992 is beyond 2^53, where numbers are not \
             exact; hand it as a text",
        ),
        ("function gone() {}\nfunction away() {}", "find function `go` in shop.js; it has: gone, away"),
    ];
    for (source, expected) in table {
        assert_eq!(message(value(source, &user)), expected);
    }
}

#[test]
fn a_branch_is_a_whole_number_from_zero_up() {
    for text in ["-1", "1.5", "NaN", "'1'", "true", "undefined", "2 ** 40"] {
        let scripts = compile(&format!("function go() {{ return {text}; }}")).unwrap();
        let wrong = message(scripts.call_choose("go", &User(vec![])));
        assert!(wrong.ends_with("came, but a branch is a whole number from 0 up"), "{text}: {wrong}");
    }
}

#[test]
fn a_choice_draws_nothing() {
    let scripts = compile("function go() { return Math.random() < 0.5 ? 0 : 1; }").unwrap();
    scripts.call_value("go", &User(vec![]), &mut || 0.5).unwrap();
    let wrong = message(scripts.call_choose("go", &User(vec![])));
    assert!(
        wrong.contains("shop.js:1: function `go`: TypeError: a function that chooses draws no"),
        "{wrong}"
    );
}
