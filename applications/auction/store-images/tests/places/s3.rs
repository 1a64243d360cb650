//! A third-party S3 server in this process that can be killed and returns with its objects.

use std::pin::Pin;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

pub(crate) const BUCKET: &str = "pictures";
pub(crate) const SECRET: &str = "secret/with+signs";
const KEY: &str = "key";

pub(crate) struct S3 {
    _folder: TempDir,
    service: S3Service,
    port: u16,
    serving: JoinHandle<()>,
}

impl S3 {
    pub(crate) async fn start() -> S3 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(serve(listener, service.clone()));
        S3 { _folder: folder, service, port, serving }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of(BUCKET, SECRET)
    }

    pub(crate) fn url_of(&self, bucket: &str, secret: &str) -> String {
        let secret = secret.replace('/', "%2F").replace('+', "%2B");
        format!("s3://{KEY}:{secret}@{bucket}/some/prefix?endpoint=http://127.0.0.1:{}", self.port)
    }
}

/// Serves until dropped, which closes the listener and all connections.
async fn serve(listener: TcpListener, service: S3Service) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        // Otherwise each answer waits for the client's delayed acknowledgement, 40 ms.
        socket.set_nodelay(true).unwrap();
        let service = service.clone();
        connections.spawn(async move {
            // A client that disconnects is not a failure of the server.
            http1::Builder::new().serve_connection(TokioIo::new(socket), service).await.ok();
        });
        while connections.try_join_next().is_some() {}
    }
}

impl super::Server for S3 {
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            self.serving.abort();
            assert!((&mut self.serving).await.unwrap_err().is_cancelled());
        })
    }

    fn restart(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
            self.serving = tokio::spawn(serve(listener, self.service.clone()));
        })
    }
}
