//! Passwords in addresses stay secret.

use barograph_store_documents as documents;

#[test]
fn errors_do_not_tell_passwords() {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let addresses = [
            "mysql://root:s3cret@127.0.0.1/x",
            "s3cret",
            "mongodb://u:s3cret@127.0.0.1:nonsense/",
            "mongodb://u:s3cret@127.0.0.1:1/",
            "postgres://u:s3cret@127.0.0.1:nonsense/x",
            "postgres://u:s3cret@127.0.0.1:1/x",
        ];
        for address in addresses {
            let error = documents::open(address, 1).await.err().unwrap();
            let mut words = format!("{error} {error:?}");
            let mut cause = std::error::Error::source(&error);
            while let Some(source) = cause {
                words.push_str(&source.to_string());
                cause = source.source();
            }
            assert!(!words.contains("s3cret"), "{words}");
            assert_eq!(error.is_passing(), address.contains(":1/"), "{words}");
        }
    });
}
