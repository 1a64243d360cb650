//! The engine of one worker: bounded, and without access to the world.

use std::cell::Cell;
use std::rc::Rc;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{Context, Ctx, Exception, Function, Runtime, Value};

use crate::bounds::Bounds;

/// Globals that are kept: arithmetic, texts, lists, patterns. A new version of the engine adds nothing by
/// itself.
const KEEP: &[&str] = &[
    "undefined",
    "NaN",
    "Infinity",
    "Object",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Math",
    "JSON",
    "RegExp",
    "Map",
    "Set",
    "Error",
    "TypeError",
    "RangeError",
    "SyntaxError",
    "ReferenceError",
    "InternalError",
    "parseInt",
    "parseFloat",
    "isNaN",
    "isFinite",
    "encodeURI",
    "encodeURIComponent",
    "decodeURI",
    "decodeURIComponent",
];

/// Script that removes the left-out parts from a realm.
const STRIP: &str = include_str!("strip.js");
/// Script that makes a realm unchangeable.
const LOCKDOWN: &str = include_str!("lockdown.js");

/// Remaining budget of the call in progress.
pub(crate) struct Budget {
    bounds: Bounds,
    slices_left: Cell<u32>,
    /// State of this call's random numbers; `None` while a function may not draw.
    stream: Cell<Option<u64>>,
}

impl Budget {
    /// Begins a call, whose random numbers all follow from `seed`.
    pub(crate) fn begin(&self, seed: Option<u64>) {
        self.slices_left.set(self.bounds.slices());
        self.stream.set(seed);
    }

    /// Begins work of this crate, which ends by itself and is longer than a call.
    pub(crate) fn begin_own(&self) {
        self.slices_left.set(u32::MAX);
        self.stream.set(None);
    }

    /// Whether the call ended for lack of steps.
    pub(crate) fn is_spent(&self) -> bool {
        self.slices_left.get() == 0
    }

    /// Called by the engine once in [`Bounds::SLICE`] steps; true ends the call. A script cannot catch that.
    fn spend(&self) -> bool {
        let left = self.slices_left.get().saturating_sub(1);
        self.slices_left.set(left);
        left == 0
    }

    /// The next random number in [0, 1), by splitmix64: a call needs only one word of state.
    fn draw(&self) -> Option<f64> {
        let state = self.stream.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.stream.set(Some(state));
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Some((mixed >> 11) as f64 / EXACT)
    }
}

/// 2^53: number of steps of the grid of doubles in [0, 1) for draws.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The seed of a call's numbers from one number in [0, 1) of the user's stream.
pub(crate) fn seed(drawn: f64) -> u64 {
    (drawn * EXACT) as u64
}

/// An engine with its bounds set, still empty.
pub(crate) fn engine(bounds: Bounds) -> rquickjs::Result<(Runtime, Rc<Budget>)> {
    let runtime = Runtime::new()?;
    runtime.set_max_stack_size(bounds.stack_bytes);
    let budget = Budget { bounds, slices_left: Cell::new(u32::MAX), stream: Cell::new(None) };
    let budget = Rc::new(budget);
    let spending = Rc::clone(&budget);
    runtime.set_interrupt_handler(Some(Box::new(move || spending.spend())));
    Ok((runtime, budget))
}

/// Records the engine's present memory as its rest, and bounds the additions of calls.
///
/// The engine collects cycles when it holds half as much again as after the last collection. Twice the rest
/// is beyond that point, so a call never fails for the cycles of calls before it.
pub(crate) fn bound_memory(runtime: &Runtime, bounds: Bounds) {
    runtime.run_gc();
    let rest = usize::try_from(runtime.memory_usage().malloc_size).unwrap_or(0);
    runtime.set_gc_threshold(rest + rest / 2);
    runtime.set_memory_limit(rest.saturating_mul(2).saturating_add(bounds.memory_bytes));
}

/// A realm without clock, modules, promises, proxies and shared memory: they are left out, not hidden.
pub(crate) fn realm(runtime: &Runtime) -> rquickjs::Result<Context> {
    let context = Context::builder()
        .with::<intrinsic::Eval>()
        .with::<intrinsic::RegExpCompiler>()
        .with::<intrinsic::RegExp>()
        .with::<intrinsic::Json>()
        .with::<intrinsic::MapSet>()
        .build(runtime)?;
    context.with(|ctx| evaluate(&ctx, "strip.js", STRIP).map(|_| ()))?;
    Ok(context)
}

/// Evaluates text under the name of a file, in strict mode.
pub(crate) fn evaluate<'js>(ctx: &Ctx<'js>, file: &str, text: &str) -> rquickjs::Result<Value<'js>> {
    let mut options = EvalOptions::default();
    options.strict = true;
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(text, options)
}

/// Removes everything unneeded from a realm, and freezes the rest with the functions of the script.
pub(crate) fn lock(ctx: &Ctx<'_>, budget: &Rc<Budget>, names: &[&str]) -> rquickjs::Result<()> {
    let lockdown: Function = evaluate(ctx, "lockdown.js", LOCKDOWN)?.get()?;
    let budget = Rc::clone(budget);
    let draw = Function::new(ctx.clone(), move |ctx: Ctx<'_>| {
        budget.draw().ok_or_else(|| {
            let text = "a function that chooses draws no random numbers; use shares of a transition vector";
            Exception::throw_type(&ctx, text)
        })
    })?;
    let keep: Vec<&str> = KEEP.iter().chain(names).copied().collect();
    lockdown.call((keep, draw))
}
