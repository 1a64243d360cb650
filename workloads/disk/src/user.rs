//! A user, and one operation of it.

use std::io;

use barograph_data::mix;
use barograph_engine::{OpContext, Stream};
use barograph_model::{OpId, Outcome};
use rand::RngExt;

use crate::contents;
use crate::export::outcome_of;
use crate::generations::State;
use crate::measures::{READ, VERIFIABLE, VERIFIED, WRITTEN};
use crate::operation::OpKind;
use crate::places::Extent;
use crate::plan::Sync;
use crate::program::Program;

/// Places in a row that may be under way before a write is given up.
const MOST_TAKEN: u32 = 1_000;

/// One user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct User {
    /// Writes since its last sync.
    writes: u32,
}

/// An operation that was drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) op: OpId,
    pub(crate) kind: OpKind,
    pub(crate) place: Extent,
    /// Decides the contents of a write.
    key: u64,
    /// Generation of a write that can be verified.
    generation: Option<u64>,
    /// State of a block before it is read.
    before: State,
}

impl User {
    /// The next operation. An error says why there is none.
    pub(crate) fn request(
        &mut self,
        op: OpId,
        program: &Program,
        rng: &mut Stream,
    ) -> Result<Request, &'static str> {
        let kind = program.kinds[op.index()];
        let place = match kind {
            OpKind::Sync => Extent { offset: 0, bytes: 0 },
            OpKind::Read | OpKind::Write => program.places.next(rng),
        };
        let key = if kind == OpKind::Write { rng.random() } else { 0 };
        let request = Request { op, kind, place, key, generation: None, before: State::default() };
        self.writes += u32::from(kind == OpKind::Write);
        let Some(generations) = &program.generations else { return Ok(request) };
        match kind {
            OpKind::Sync => Ok(request),
            OpKind::Read => Ok(Request { before: generations.state(program.block_at(place)), ..request }),
            OpKind::Write => {
                let mut place = place;
                for _ in 0..MOST_TAKEN {
                    if let Some(generation) = generations.begin(program.block_at(place)) {
                        return Ok(Request { place, generation: Some(generation), ..request });
                    }
                    place = program.places.after(place);
                }
                Err("every block is being written")
            }
        }
    }

    /// Index of the next operation, where writes are synced after a number of them.
    pub(crate) fn choose(&mut self, program: &Program, rng: &mut Stream) -> usize {
        if let Sync::Every(writes) = program.plan.sync
            && self.writes >= writes
        {
            self.writes = 0;
            return program.kinds.len() - 1;
        }
        let mix = &program.plan.mix;
        let mut left = rng.random_range(0..mix.iter().map(|(_, weight)| weight).sum::<u32>());
        let drawn = mix.iter().position(|(_, weight)| match left.checked_sub(*weight) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        drawn.expect("the number is below the sum of the weights")
    }
}

impl Request {
    /// Writes what the operation writes into its buffer.
    pub(crate) fn fill(&self, program: &Program, buffer: &mut [u8]) {
        if self.kind != OpKind::Write {
            return;
        }
        let buffer = &mut buffer[..self.place.bytes];
        match self.generation {
            Some(generation) => {
                let number = program.block_at(self.place);
                program.contents.fill_verifiable(buffer, number, (generation, program.salt));
            }
            None => program.contents.fill(buffer, mix(self.key)),
        }
    }

    /// Gives an operation up that was not begun.
    pub(crate) fn give_up(&self, program: &Program) {
        if let (Some(generations), Some(generation)) = (&program.generations, self.generation) {
            generations.end(program.block_at(self.place), generation, false);
        }
    }

    /// Ends the operation. `turn` is that of the user who waits for it, where one does.
    pub(crate) fn end(
        &self,
        program: &Program,
        result: io::Result<usize>,
        (buffer, context): (&[u8], Option<&mut OpContext>),
    ) -> Outcome {
        let is_whole = result.as_ref().is_ok_and(|bytes| *bytes == self.place.bytes);
        if let (Some(generations), Some(generation)) = (&program.generations, self.generation) {
            generations.end(program.block_at(self.place), generation, is_whole);
        }
        let Some(context) = context else { return Outcome::Cancelled };
        match result {
            Err(why) => program.failed(self.op, outcome_of(&why), why.to_string()),
            Ok(bytes) if !is_whole => {
                let what = if self.kind == OpKind::Read { "read" } else { "written" };
                let why = format!("{bytes} of {} bytes were {what}", self.place.bytes);
                program.failed(self.op, Outcome::WrongAnswer, why)
            }
            Ok(bytes) => {
                match self.kind {
                    OpKind::Read => context.add(READ, bytes as u64),
                    OpKind::Write => context.add(WRITTEN, bytes as u64),
                    OpKind::Sync => {}
                }
                match self.kind {
                    OpKind::Read => self.verify(program, &buffer[..bytes], context),
                    OpKind::Write | OpKind::Sync => Outcome::Good,
                }
            }
        }
    }

    /// Compares what was read with what was written, where no write of the block went on meanwhile.
    fn verify(&self, program: &Program, block: &[u8], context: &mut OpContext) -> Outcome {
        let Some(generations) = &program.generations else { return Outcome::Good };
        context.add(VERIFIABLE, 1);
        let number = program.block_at(self.place);
        let after = generations.state(number);
        let Some(generation) = after.generation().filter(|_| after == self.before) else {
            return Outcome::Good;
        };
        context.add(VERIFIED, 1);
        match contents::verify(block, number, (generation, program.salt)) {
            Ok(()) => Outcome::Good,
            Err(defect) => program.failed(self.op, Outcome::WrongAnswer, defect.to_string()),
        }
    }
}
