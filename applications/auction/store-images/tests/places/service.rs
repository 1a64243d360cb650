//! Pictures in databases.

use std::pin::Pin;

use barograph_store_images::PictureLocation;
use barograph_test_services::{self as services, Service};

use crate::{Server, all, open};

impl Server for Service {
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async { tokio::task::block_in_place(|| Service::kill(self)) })
    }

    fn restart(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async { tokio::task::block_in_place(|| Service::restart(self)) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    let Some(mut server) = services::or_skip(tokio::task::block_in_place(services::postgres)) else { return };
    let place = PictureLocation::Url(server.url().to_owned());
    // Several nodes that find no table make it together.
    let nodes = futures::future::join_all((0..8).map(|_| open(&place))).await;
    assert_eq!(nodes[0].stamp().await.unwrap(), None);
    all(&place, &mut server).await;
    let described = open(&place).await.describe();
    assert!(described.product.starts_with("PostgreSQL 1"), "{described:?}");
    assert!(described.durability.contains("survives the server and the machine"), "{described:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_protocol() {
    let Some(mut server) = services::or_skip(tokio::task::block_in_place(services::ferretdb)) else { return };
    let place = PictureLocation::Url(format!("{}pictures", server.url()));
    assert_eq!(open(&place).await.stamp().await.unwrap(), None);
    all(&place, &mut server).await;
    let described = open(&place).await.describe();
    assert!(described.product.starts_with("FerretDB v1.24"), "{described:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nfs() {
    let Some(mut server) = services::or_skip(tokio::task::block_in_place(services::ganesha)) else { return };
    let place = PictureLocation::Url(server.url().to_owned());
    assert_eq!(open(&place).await.stamp().await.unwrap(), None);
    all(&place, &mut server).await;
    assert_eq!(open(&place).await.describe().product, "NFSv4.1");
}
