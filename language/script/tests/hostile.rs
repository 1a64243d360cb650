//! Scripts that do not end, that exhaust memory, and that try to escape: each is ended by its bound.

use barograph_scenario_script::{Bound, Bounds, FunctionResult, Scalar, ScriptError, Scripts, Values};

struct NoValues;

impl Values for NoValues {
    fn value(&self, _name: &str) -> Option<Scalar<'_>> {
        None
    }
}

fn run(body: &str) -> (Scripts, Result<FunctionResult, ScriptError>) {
    let source = format!("function go() {{ {body} }}\nfunction well() {{ return 'well'; }}");
    let scripts = Scripts::compile("hostile.js", &source, Bounds::default()).expect("the text is a script");
    let answer = scripts.call_value("go", &NoValues, &mut || 0.5);
    (scripts, answer)
}

/// The engine serves the next call normally.
fn serves_on(scripts: &Scripts) {
    let answer = scripts.call_value("well", &NoValues, &mut || 0.5);
    assert_eq!(answer.expect("a call after it is served"), FunctionResult::Text("well".to_owned()));
}

fn ends_with(body: &str, expected: Bound) {
    let (scripts, answer) = run(body);
    match answer {
        Err(ScriptError::Bound { place, bound }) => {
            assert_eq!(bound, expected, "{body}");
            assert_eq!((&*place.file, place.function.as_deref()), ("hostile.js", Some("go")));
        }
        other => panic!("{body}: {other:?}"),
    }
    serves_on(&scripts);
}

#[test]
fn endless_loops_are_ended_and_cannot_catch_it() {
    for body in [
        "for (;;) {}",
        "while (true) { try { for (;;) {} } catch (thrown) {} finally { continue; } }",
        "do { try { for (;;) {} } finally { continue; } } while (true);",
        "const it = { get x() { return this.x2; }, get x2() { for (;;) {} } }; return it.x;",
        "return /^(a+)+$/.test('a'.repeat(60) + 'b');",
        "const error = new Error('x'); Object.defineProperty(error, 'name', { get() { for (;;) {} } }); throw error;",
        "const it = { toString() { for (;;) {} } }; return '' + it;",
        "return JSON.stringify({ toJSON() { for (;;) {} } });",
        "function* without_end() { for (;;) yield 1; } for (const one of without_end()) {}",
        "return [...(function* () { for (;;) yield; })()].length;",
        "return [3, 2, 1].sort(() => { for (;;) {} }).length;",
    ] {
        let (scripts, answer) = run(body);
        // Unlimited collection may meet either bound first.
        let bound = match answer {
            Err(ScriptError::Bound { bound, .. }) => bound,
            Err(ScriptError::Threw { .. }) if body.contains("'name'") => Bound::Steps,
            other => panic!("{body}: {other:?}"),
        };
        assert!(
            bound == Bound::Steps || (bound == Bound::Memory && body.contains("...")),
            "{body}: {bound:?}"
        );
        serves_on(&scripts);
    }
}

#[test]
fn memory_is_bounded_in_every_form() {
    for body in [
        "let s = 'x'; for (;;) s = s.padEnd(s.length * 2, 'y');",
        "const list = []; for (;;) list.push([1]);",
        "return 'x'.repeat(1e8).length;",
        "return new Array(1e7).fill(0).length;",
        "return JSON.stringify(new Array(1e6).fill('text'));",
        "const map = new Map(); for (let n = 0; ; n++) map.set(n, [n]);",
        "let it = {}; for (;;) it = { it };",
        "return 'x'.padEnd(1e8).length;",
        "return 'aaaa'.repeat(60000).split('').map((a) => [a]).length;",
    ] {
        ends_with(body, Bound::Memory);
    }
}

#[test]
fn recursion_is_bounded_in_every_form() {
    for body in [
        "function deep(n) { return 1 + deep(n + 1); } return deep(1);",
        "const it = { get x() { return this.x; } }; return it.x;",
        "const deep = () => [1].map(deep); return deep().length;",
        "const it = { toString: () => '' + it }; return '' + it;",
    ] {
        ends_with(body, Bound::Depth);
    }
}

/// The bounds leave room for honest work.
#[test]
fn honest_recursion_goes_several_hundred_calls_deep() {
    let (_, answer) = run("let n = 0; function f() { n++; f(); } try { f(); } catch (full) {} return n;");
    let Ok(FunctionResult::Integer(depth)) = answer else { panic!("{answer:?}") };
    assert!(depth > 300, "{depth}");
}

#[test]
fn text_that_is_hard_to_read_is_refused() {
    let deep = format!("function go() {{ return {}1{}; }}", "(".repeat(100_000), ")".repeat(100_000));
    let endless = "for (;;) {}\nfunction go() { return 1; }".to_owned();
    let heavy = "function go() { return 1; }\n'x'.repeat(1e9);".to_owned();
    for (source, bound) in [(deep, Bound::Depth), (endless, Bound::Steps), (heavy, Bound::Memory)] {
        let wrong = Scripts::compile("hostile.js", &source, Bounds::default()).map(|_| ());
        match wrong {
            Err(ScriptError::Bound { bound: met, .. }) => assert_eq!(met, bound),
            other => panic!("{bound:?}: {other:?}"),
        }
    }
}

#[test]
fn nothing_reaches_the_world() {
    let names = [
        "require",
        "process",
        "std",
        "os",
        "scriptArgs",
        "print",
        "console",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "Date",
        "performance",
        "setTimeout",
        "queueMicrotask",
        "Promise",
        "Proxy",
        "Reflect",
        "WeakRef",
        "FinalizationRegistry",
        "SharedArrayBuffer",
        "Atomics",
        "ArrayBuffer",
        "Uint8Array",
        "WebAssembly",
        "eval",
        "Function",
        "globalThis",
        "Symbol",
        "gc",
        "navigator",
        "Iterator",
        "BigInt",
    ];
    for name in names {
        let (_, answer) = run(&format!("return typeof {name};"));
        assert_eq!(
            answer.expect("typeof never throws"),
            FunctionResult::Text("undefined".to_owned()),
            "{name}"
        );
    }
}

#[test]
fn text_does_not_become_code() {
    for body in [
        "return (function () {}).constructor('return 1')();",
        "return (function* () {}).constructor('return 1')().next().value;",
        "return (() => 1).constructor.constructor('return 1')();",
        "return [].map.constructor('return 1')();",
        "return Object.getPrototypeOf(function () {}).constructor('return 1')();",
        "return eval('1');",
    ] {
        let (scripts, answer) = run(body);
        assert!(matches!(answer, Err(ScriptError::Threw { .. })), "{body}: {answer:?}");
        serves_on(&scripts);
    }
}

#[test]
fn waiting_and_loading_are_refused_before_they_are_read() {
    for body in [
        "import('fs');",
        "return (async () => 1)();",
        "const it = { async x() {} };",
        "return /* async */ 1;",
    ] {
        let source = format!("\nfunction go() {{ {body} }}");
        let wrong = Scripts::compile("hostile.js", &source, Bounds::default()).map(|_| ());
        let message = wrong.expect_err("the word is refused").to_string();
        assert!(message.starts_with("read hostile.js:2: the word `"), "{message}");
    }
}

/// Searches that cost the product of two lengths are refused before they begin.
#[test]
fn long_searches_in_long_texts_are_refused() {
    for search in
        ["indexOf(n)", "lastIndexOf(n)", "includes(n)", "split(n)", "replace(n, '')", "replaceAll(n, '')"]
    {
        let (scripts, answer) =
            run(&format!("const s = 'a'.repeat(100000), n = 'a'.repeat(50000) + 'b'; return s.{search};"));
        assert!(matches!(answer, Err(ScriptError::Threw { .. })), "{search}: {answer:?}");
        serves_on(&scripts);
    }
    let (_, answer) =
        run("return ['abcb'.indexOf('b'), 'abcb'.lastIndexOf('b'), 'abcb'.includes('c'), 'a-b'.split('-'), \
         'abcb'.replace(/b/g, (b) => b + b), 'abcb'.replaceAll('b', 'x'), 'ab'.split().length, \
         'abcb'.indexOf('b', 2)].join();");
    assert_eq!(answer.unwrap(), FunctionResult::Text("1,3,true,a,b,abbcbb,axcx,1,3".to_owned()));
}

/// Text that runs during compilation has the same bounds, and cannot make code that was not screened.
#[test]
fn reading_is_as_bounded_as_calling() {
    for text in [
        "(function () {}).constructor('return asy' + 'nc () => 1')();",
        "(function* () {}).constructor('asy' + 'nc () => 1')();",
        "eval('asy' + 'nc () => 1');",
        "Array.fromAsync([1]);",
        "Function.prototype.toString = () => 'function go() { return 2; }';",
        "Object.keys = () => [];",
        "globalThis.other = 1;",
        "var other = function () { return 1; };",
    ] {
        let source = format!("{text}\nfunction go() {{ return 1; }}");
        let wrong = Scripts::compile("hostile.js", &source, Bounds::default()).map(|_| ());
        assert!(matches!(wrong, Err(ScriptError::Read { .. })), "{text}: {wrong:?}");
    }
}
