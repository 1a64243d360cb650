//! The same user and seed give the same answer, after any other users and in any engine.

use barograph_scenario_script::{Bounds, FunctionResult, Scalar, ScriptError, Scripts, Values};
use proptest::prelude::*;

struct User {
    name: String,
    amount: i64,
}

impl Values for User {
    fn value(&self, name: &str) -> Option<Scalar<'_>> {
        match name {
            "name" => Some(Scalar::Text(&self.name)),
            "amount" => Some(Scalar::Integer(self.amount)),
            _ => None,
        }
    }
}

const MAKE: &str = "function go(name, amount) {
  const seen = { b: 1, a: 2 };
  seen[name] = amount;
  const list = new Map([[name, Math.random()], ['x', Math.random()]]);
  return Object.keys(seen).join() + [...list].flat().join() + Math.floor(Math.random() * 1e6);
}";

fn compile(source: &str) -> Scripts {
    Scripts::compile("pure.js", source, Bounds::default()).expect("the text is a script")
}

fn call(scripts: &Scripts, user: &User, draw: f64) -> FunctionResult {
    scripts.call_value("go", user, &mut || draw).expect("the function ends well")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_depends_on_values_and_seed_alone(
        users in prop::collection::vec(("[a-z0-9]{1,12}", -1000i64..1000, 0.0f64..1.0), 1..12),
    ) {
        let users: Vec<(User, f64)> =
            users.into_iter().map(|(name, amount, draw)| (User { name, amount }, draw)).collect();
        let shared = compile(MAKE);
        let together: Vec<FunctionResult> = users.iter().map(|(user, draw)| call(&shared, user, *draw)).collect();
        for ((user, draw), expected) in users.iter().zip(&together).rev() {
            prop_assert_eq!(&call(&shared, user, *draw), expected);
        }
        let (user, draw) = &users[0];
        prop_assert_eq!(&call(&compile(MAKE), user, *draw), &together[0]);
    }

    #[test]
    fn any_text_is_compiled_or_refused(source in "[a-z(){};=*\"'/ \n\u{e9}0-9.]{0,80}") {
        // Neither panics nor hangs; the result is either a list or a message.
        match Scripts::compile("any.js", &source, Bounds::default()) {
            Ok(scripts) => prop_assert!(scripts.functions().all(|(name, _, line)| !name.is_empty() && line > 0)),
            Err(error) => prop_assert!(error.to_string().contains("any.js")),
        }
    }
}

/// The answer is a promise of the record: a run is repeated with it.
#[test]
fn the_numbers_of_a_seed_stay_what_they_are() {
    let scripts =
        compile("function go() { return [0, 0, 0].map(() => Math.floor(Math.random() * 1e9)).join(); }");
    let nobody = User { name: String::new(), amount: 0 };
    let FunctionResult::Text(text) = call(&scripts, &nobody, 0.5) else { panic!("a text is returned") };
    assert_eq!(text, "175503691,310410358,501831393");
}

/// Every place in which a function could leave something for the next call.
#[test]
fn nothing_is_left_behind() {
    let nobody = User { name: String::new(), amount: 0 };
    for place in [
        "go",
        "Math",
        "Object.prototype",
        "Array.prototype",
        "String.prototype",
        "JSON",
        "Map.prototype",
        "Error",
        "Function.prototype.__proto__",
        "(function () {}).__proto__",
        "'a'.indexOf",
        "(0).constructor",
        "(function* () {}).__proto__",
        "(function* () {}).__proto__.prototype",
        "[].values().__proto__",
        "[].values().__proto__.__proto__",
        "[].values().map((x) => x).__proto__",
        "'a'.matchAll(/a/g).__proto__",
        "'a'[Object.getOwnPropertySymbols(''.__proto__)[0]]().__proto__",
        "new Map().entries().__proto__",
        "new Set().entries().__proto__",
        "Object.getOwnPropertySymbols([].__proto__)[0].constructor",
        "Object.getOwnPropertySymbols([].__proto__)[0].__proto__",
        "(/a/).__proto__",
        "(/a/).constructor",
        "Math.random",
        "((parts) => parts)`x`",
        "(() => arguments)().__proto__",
        "Object.getOwnPropertyDescriptor((function () { return arguments; })(), 'callee').get",
        "(class { static x = 1; }).__proto__",
    ] {
        let source = format!(
            "function go() {{ const it = {place}; const had = it.left === 1; \
             try {{ it.left = 1; }} catch (frozen) {{}} return had; }}"
        );
        let scripts = compile(&source);
        let first = scripts.call_value("go", &nobody, &mut || 0.5);
        let second = scripts.call_value("go", &nobody, &mut || 0.5);
        match (&first, &second) {
            // Functions that the engine lacks cannot keep anything.
            (Err(ScriptError::Threw { .. }), Err(ScriptError::Threw { .. })) => {}
            (Ok(one), Ok(two)) => assert_eq!(
                (one, two),
                (&FunctionResult::Flag(false), &FunctionResult::Flag(false)),
                "{place}"
            ),
            other => panic!("{place}: {other:?}"),
        }
    }
}

/// Cycles are collected late; they must not count against a call that did not make them.
#[test]
fn rubbish_of_earlier_calls_never_fails_a_later_one() {
    let scripts = compile(
        "function go() { const list = []; for (let n = 0; n < 100; n++) { const it = { n }; it.it = it; \
         list.push(it); } list.push(list); return list.length; }",
    );
    let nobody = User { name: String::new(), amount: 0 };
    for _ in 0..3000 {
        assert_eq!(call(&scripts, &nobody, 0.5), FunctionResult::Integer(101));
    }
}
