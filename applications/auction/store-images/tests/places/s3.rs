//! The S3 server of the tests as a server that is killed.

use std::pin::Pin;

use barograph_test_s3::S3;

impl super::Server for S3 {
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(S3::kill(self))
    }

    fn restart(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(S3::restart(self))
    }
}
