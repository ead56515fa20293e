//! The reader and the errors against real sockets.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::net::roots::LazyRoots;
use crate::net::{Certificates, HttpFactory, HttpSettings};

/// Sends one request with `client` to a server that answers byte for byte and then closes.
async fn get(client: &reqwest::Client, answer: &[u8]) -> reqwest::Response {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let read = socket.read(&mut request).await.unwrap();
        assert!(read > 0);
        socket.write_all(answer).await.unwrap();
        socket.shutdown().await.unwrap();
    };
    let (response, ()) = tokio::join!(client.get(url).send(), server);
    response.unwrap()
}

async fn fetch(answer: &[u8], bytes_max: usize) -> Result<Bytes, NetError> {
    let client = HttpFactory::default().client().unwrap();
    read_capped(get(&client, answer).await, bytes_max).await
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_read() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    assert_eq!(fetch(answer, 5).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_longer_body_is_refused_whether_announced_or_not() {
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello!";
    let too_large = NetError::TooLarge { bytes_max: 5 };
    assert_eq!(fetch(announced, 5).await.unwrap_err(), too_large);
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
        3\r\nhel\r\n3\r\nlo!\r\n0\r\n\r\n";
    assert_eq!(fetch(chunked, 5).await.unwrap_err(), too_large);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_and_may_have_been_acted_on() {
    let error = fetch(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhell", 100).await.unwrap_err();
    assert!(matches!(error, NetError::Broken(_)), "{error:?}");
    assert!(!error.is_surely_unsent());
}

#[tokio::test]
async fn a_refused_connection_is_surely_unsent_and_the_error_names_no_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = HttpFactory::default().client().unwrap();
    let error = client.get(format!("http://{address}/hook/s3cret")).send().await.unwrap_err();
    let error = NetError::from(error);
    assert!(matches!(error, NetError::NotConnected(_)), "{error:?}");
    assert!(error.is_surely_unsent());
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_silent_server_times_out_and_may_have_seen_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = HttpFactory::default().client_within(Duration::from_millis(100)).unwrap();
    let error = client.get(format!("http://{address}/")).send().await;
    let error = NetError::from(error.unwrap_err());
    assert!(matches!(error, NetError::TimedOut(_)), "{error:?}");
    assert!(!error.is_surely_unsent());
    drop(listener);
}

#[tokio::test]
async fn a_redirect_is_handed_back_and_not_followed() {
    let answer = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\
        content-length: 0\r\n\r\n";
    let client = HttpFactory::default().client().unwrap();
    assert_eq!(get(&client, answer).await.status(), 302);
}

#[test]
fn bad_settings_are_an_error_and_not_a_panic() {
    let factory = HttpFactory::new(HttpSettings {
        user_agent: "two\nlines".to_owned(),
        ..HttpSettings::default()
    });
    assert!(matches!(factory.client(), Err(NetError::Unusable(_))));
}

#[tokio::test]
async fn root_certificates_are_read_for_tls_servers_only() {
    let factory = HttpFactory::default();
    let plain = factory.client().unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(get(&plain, answer).await.status(), 200);
    assert!(!factory.roots_loaded());
    // The schemes offered before a certificate is seen must not need the files either.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = LazyRoots::new(provider, Certificates::default());
    assert!(!roots.supported_verify_schemes().is_empty());
    assert!(!roots.is_loaded());
}
