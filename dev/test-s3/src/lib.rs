//! A third-party S3 server in the process of a test, which can be killed and returns with its objects.

use std::path::PathBuf;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// The bucket.
pub const BUCKET: &str = "pictures";
/// The secret of its key.
pub const SECRET: &str = "secret/with+signs";
/// The key.
const KEY: &str = "key";

/// An S3 server.
pub struct S3 {
    folder: TempDir,
    service: S3Service,
    port: u16,
    serving: JoinHandle<()>,
}

impl S3 {
    /// Starts a server with an empty bucket.
    ///
    /// # Panics
    /// If it cannot be started.
    pub async fn start() -> S3 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(serve(listener, service.clone()));
        S3 { folder, service, port, serving }
    }

    /// The folder of the bucket, whose objects are files.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// The URL of the bucket, with a prefix.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(BUCKET, SECRET)
    }

    /// The URL of a bucket, with a secret.
    #[must_use]
    pub fn url_of(&self, bucket: &str, secret: &str) -> String {
        let secret = secret.replace('/', "%2F").replace('+', "%2B");
        format!("s3://{KEY}:{secret}@{bucket}/some/prefix?endpoint=http://127.0.0.1:{}", self.port)
    }

    /// Ends it with all connections.
    ///
    /// # Panics
    /// If it has ended before.
    pub async fn kill(&mut self) {
        self.serving.abort();
        assert!((&mut self.serving).await.unwrap_err().is_cancelled());
    }

    /// Starts it again at its port.
    ///
    /// # Panics
    /// If the port is in use.
    pub async fn restart(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        self.serving = tokio::spawn(serve(listener, self.service.clone()));
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
