//! Users that block: each is a thread with one read or write at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use barograph_engine::{BlockingFactory, BlockingUser, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_ring::Buffers;

use crate::access::Opening;
use crate::error::DiskError;
use crate::operation::OpKind;
use crate::program::Program;
use crate::user::{Request, User};

/// Makes the users of a load.
pub(crate) struct Threads(pub(crate) Arc<Program>, pub(crate) Opening);

/// A user with its file and its buffer, opened by its first operation.
pub(crate) struct ThreadUser {
    program: Arc<Program>,
    opening: Opening,
    user: User,
    opened: Option<(File, Buffers)>,
}

impl BlockingFactory for Threads {
    type User = ThreadUser;

    fn user(&self, _: UserId) -> ThreadUser {
        let (program, opening) = (Arc::clone(&self.0), self.1.clone());
        ThreadUser { program, opening, user: User::default(), opened: None }
    }
}

impl BlockingUser for ThreadUser {
    fn act(&mut self, op: OpId, context: &mut OpContext) -> Outcome {
        let program = &self.program;
        let (file, buffers) = match &mut self.opened {
            Some(opened) => opened,
            empty => match open(program, &self.opening) {
                Ok(opened) => empty.insert(opened),
                Err(why) => return program.failed(op, Outcome::DriverFault, in_one_line(&why)),
            },
        };
        let request = match self.user.request(op, program, &mut context.rng) {
            Ok(request) => request,
            Err(why) => return program.failed(op, Outcome::DriverFault, why.to_owned()),
        };
        context.sent();
        let buffer = buffers.get_mut(0);
        request.fill(program, buffer);
        let result = call(file, &request, buffer);
        request.end(program, result, (buffer, Some(context)))
    }

    fn choose(&mut self, _: ChooserId, context: &mut OpContext) -> usize {
        self.user.choose(&self.program, &mut context.rng)
    }
}

fn open(program: &Program, opening: &Opening) -> Result<(File, Buffers), DiskError> {
    let opened = opening.open()?;
    Ok((opened.file, Buffers::new(1, program.plan.largest() as usize)?))
}

fn call(file: &File, request: &Request, buffer: &mut [u8]) -> io::Result<usize> {
    let (offset, bytes) = (request.place.offset, request.place.bytes);
    match request.kind {
        OpKind::Read => file.read_at(&mut buffer[..bytes], offset),
        OpKind::Write => file.write_at(&buffer[..bytes], offset),
        OpKind::Sync => file.sync_data().map(|()| 0),
    }
}
