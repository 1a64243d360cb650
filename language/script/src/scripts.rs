//! One compiled file of functions, and calls of them.

use std::rc::Rc;

use rquickjs::function::Args;
use rquickjs::{Context, Ctx, Function, Persistent, Runtime, Type, Undefined, Value};

use crate::bounds::Bounds;
use crate::error::{Bound, ErrorLocation, ScriptError};
use crate::fault::Fault;
use crate::realm::{self, Budget};
use crate::source::{self, Piece, SourceProblem};
use crate::values::{FunctionResult, LARGEST_EXACT, Scalar, Values};

/// The functions of one file, compiled for one worker.
///
/// Not `Send`: a worker compiles its own. Users share it, which is sound because no call leaves anything
/// behind.
pub struct Scripts {
    // Functions are dropped before the engine that owns their memory.
    functions: Vec<CompiledFunction>,
    context: Context,
    budget: Rc<Budget>,
    file: String,
    _runtime: Runtime,
}

struct CompiledFunction {
    name: String,
    parameters: Vec<String>,
    line: u32,
    function: Persistent<Function<'static>>,
}

impl Scripts {
    /// Compiles the text of a file. `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is not JavaScript, holds anything but functions with plain parameters, or exceeds `bounds`
    /// during compilation.
    pub fn compile(file: &str, source: &str, bounds: Bounds) -> Result<Self, ScriptError> {
        source::screen(source).map_err(|misplaced| refused(file, misplaced))?;
        let start = |error: rquickjs::Error| ScriptError::Start(error.to_string());
        let (runtime, budget) = realm::engine(bounds).map_err(start)?;
        let pieces = {
            let reading = realm::realm(&runtime).map_err(start)?;
            // Foreign text runs only from here on.
            realm::bound_memory(&runtime, bounds);
            reading.with(|ctx| read(&ctx, &budget, file, source))?
        };
        runtime.set_memory_limit(0);
        budget.begin_own();
        let context = realm::realm(&runtime).map_err(start)?;
        let functions = context.with(|ctx| define(&ctx, &budget, file, pieces))?;
        realm::bound_memory(&runtime, bounds);
        Ok(Self { functions, context, budget, file: file.to_owned(), _runtime: runtime })
    }

    /// The functions in the order of the file: name, parameters, and the line counted from 1.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &[String], u32)> {
        self.functions.iter().map(|compiled| (&*compiled.name, &*compiled.parameters, compiled.line))
    }

    /// Calls a function to choose a branch, counted from 0. It draws no random numbers.
    ///
    /// The caller checks the number of branches.
    ///
    /// # Errors
    /// If there is no such function, it throws, it exceeds a bound, or its answer is not a whole number from
    /// 0 up.
    pub fn call_choose(&self, name: &str, values: &dyn Values) -> Result<usize, ScriptError> {
        let compiled = self.find(name)?;
        self.budget.begin(None);
        self.context.with(|ctx| {
            let answer = self.call(&ctx, compiled, values)?;
            let number = answer.as_number().filter(|number| number.fract() == 0.0);
            match number {
                Some(number) if (0.0..=f64::from(u32::MAX)).contains(&number) => Ok(number as usize),
                _ => Err(self.useless(compiled, &answer, "a branch is a whole number from 0 up")),
            }
        })
    }

    /// Calls a function for a value. Its `Math.random` follows from one number of `rng`, which gives numbers
    /// in [0, 1).
    ///
    /// Exactly one number is taken, however many the function draws: a change of the script leaves the rest
    /// of the user's stream unchanged.
    ///
    /// # Errors
    /// If there is no such function, it throws, it exceeds a bound, or its answer is not a text, a finite
    /// number or a flag.
    pub fn call_value(
        &self,
        name: &str,
        values: &dyn Values,
        rng: &mut dyn FnMut() -> f64,
    ) -> Result<FunctionResult, ScriptError> {
        let compiled = self.find(name)?;
        self.budget.begin(Some(realm::seed(rng())));
        self.context.with(|ctx| {
            let answer = self.call(&ctx, compiled, values)?;
            made(&answer).ok_or_else(|| {
                let allowed = "a value is a text, a finite number or a flag; for JSON use JSON.stringify";
                self.useless(compiled, &answer, allowed)
            })
        })
    }

    fn find(&self, name: &str) -> Result<&CompiledFunction, ScriptError> {
        // A script has few functions: a scan of the list is faster than a hash.
        self.functions.iter().find(|compiled| compiled.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.functions.iter().map(|compiled| &*compiled.name).collect();
            ScriptError::Unknown { name: name.to_owned(), file: self.file.clone(), known: known.join(", ") }
        })
    }

    fn call<'js>(
        &self,
        ctx: &Ctx<'js>,
        compiled: &CompiledFunction,
        values: &dyn Values,
    ) -> Result<Value<'js>, ScriptError> {
        let mut args = Args::new(ctx.clone(), compiled.parameters.len());
        for name in &compiled.parameters {
            hand(&mut args, values.value(name)).map_err(|problem| ScriptError::Hand {
                place: self.place(compiled),
                value: name.clone(),
                problem,
            })?;
        }
        let called =
            compiled.function.clone().restore(ctx).and_then(|function| function.call_arg::<Value<'js>>(args));
        called.map_err(|_| {
            Fault::take(ctx, &self.file, self.budget.is_spent()).of_call(&self.file, &compiled.name)
        })
    }

    fn useless(&self, compiled: &CompiledFunction, answer: &Value<'_>, allowed: &str) -> ScriptError {
        let came = match answer.as_number() {
            Some(number) => number.to_string(),
            None => format!("something of type {}", answer.type_name()),
        };
        ScriptError::Answer { place: self.place(compiled), problem: format!("{came} came, but {allowed}") }
    }

    fn place(&self, compiled: &CompiledFunction) -> ErrorLocation {
        let function = Some(compiled.name.clone());
        ErrorLocation { file: self.file.clone(), line: Some(compiled.line), function }
    }
}

/// Evaluates the file in a realm of its own, and finds the functions. The realm is thrown away with all
/// effects of the file.
fn read(ctx: &Ctx<'_>, budget: &Budget, file: &str, text: &str) -> Result<Vec<Piece>, ScriptError> {
    budget.begin(None);
    let fault = |_| Fault::take(ctx, file, budget.is_spent()).of_file(file);
    // Taken before the file can change it.
    let as_text: Function = realm::evaluate(ctx, file, "Function.prototype.toString")
        .and_then(|value| value.get())
        .map_err(fault)?;
    realm::evaluate(ctx, file, text).map_err(fault)?;
    let mut found = Vec::new();
    for name in ctx.globals().keys::<String>() {
        let name = name.map_err(fault)?;
        let thing: Value<'_> = ctx.globals().get(&*name).map_err(fault)?;
        if thing.is_function() {
            let mut args = Args::new(ctx.clone(), 0);
            args.this(thing).map_err(fault)?;
            found.push((name, as_text.call_arg::<String>(args).map_err(fault)?));
        }
    }
    source::pieces(text, found).map_err(|misplaced| refused(file, misplaced))
}

fn refused(file: &str, misplaced: SourceProblem) -> ScriptError {
    let place = ErrorLocation { file: file.to_owned(), line: Some(misplaced.line), function: None };
    ScriptError::Read { place, problem: misplaced.problem }
}

/// Defines each function on its own in a realm that is then locked: it sees the others, and nothing around
/// it.
fn define(
    ctx: &Ctx<'_>,
    budget: &Rc<Budget>,
    file: &str,
    pieces: Vec<Piece>,
) -> Result<Vec<CompiledFunction>, ScriptError> {
    budget.begin_own();
    let fault = |_| Fault::take(ctx, file, budget.is_spent()).of_file(file);
    let mut functions = Vec::with_capacity(pieces.len());
    for Piece { name, text, line, parameters } in pieces {
        if ctx.globals().contains_key(&*name).map_err(fault)? {
            let problem = format!("`{name}` is a name of the language; call the function something else");
            return Err(refused(file, SourceProblem { line, problem }));
        }
        // Empty lines before it keep the line numbers those of the file.
        let padded = format!("{}({text})", "\n".repeat(line as usize - 1));
        let function: Function =
            realm::evaluate(ctx, file, &padded).and_then(|it| it.get()).map_err(fault)?;
        ctx.globals().set(&*name, function.clone()).map_err(fault)?;
        functions.push(CompiledFunction {
            name,
            parameters,
            line,
            function: Persistent::save(ctx, function),
        });
    }
    let names: Vec<&str> = functions.iter().map(|compiled| &*compiled.name).collect();
    realm::lock(ctx, budget, &names).map_err(fault)?;
    Ok(functions)
}

/// Adds one value to the arguments of a call.
fn hand(args: &mut Args<'_>, value: Option<Scalar<'_>>) -> Result<(), String> {
    let handed = match value {
        None => args.push_arg(Undefined),
        Some(Scalar::Flag(flag)) => args.push_arg(flag),
        Some(Scalar::Number(number)) => args.push_arg(number),
        Some(Scalar::Text(text)) => args.push_arg(text),
        Some(Scalar::Integer(number)) => match i32::try_from(number) {
            Ok(small) => args.push_arg(small),
            Err(_) if number.unsigned_abs() > LARGEST_EXACT.unsigned_abs() => {
                return Err(format!(
                    "{number} is beyond 2^53, where numbers are not exact; hand it as a text"
                ));
            }
            Err(_) => args.push_arg(number as f64),
        },
    };
    handed.map_err(|_| Bound::Memory.to_string())
}

/// A value from an answer, if it is one.
fn made(answer: &Value<'_>) -> Option<FunctionResult> {
    match answer.type_of() {
        Type::Bool => answer.as_bool().map(FunctionResult::Flag),
        Type::Int => answer.as_int().map(|number| FunctionResult::Integer(i64::from(number))),
        Type::Float => {
            let number = answer.as_float().filter(|number| number.is_finite())?;
            let whole = number.fract() == 0.0 && number.abs() <= LARGEST_EXACT as f64;
            Some(if whole { FunctionResult::Integer(number as i64) } else { FunctionResult::Number(number) })
        }
        Type::String => answer.as_string()?.to_string().ok().map(FunctionResult::Text),
        _ => None,
    }
}
