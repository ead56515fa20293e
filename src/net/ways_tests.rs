//! The ways out against real sockets: a proxy that tunnels, a TLS server behind a certificate
//! authority of its own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::task::TaskSet;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

fn tasks() -> TaskSet {
    TaskSet::new("test", CancellationToken::new())
}

/// A TLS server for `name`, and the PEM text of the authority that signed its certificate.
async fn tls_server(tasks: &TaskSet, name: &str) -> (SocketAddr, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn("tls", async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate hangs up.
            let Ok(mut stream) = acceptor.accept(socket).await else { continue };
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                stream.write_all(ANSWER).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        }
    });
    (address, authority.pem())
}

/// A proxy that leads every tunnel to `target`, and answers plain requests itself. It keeps the
/// heads it heard.
async fn proxy(tasks: &TaskSet, target: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&heard);
    tasks.spawn("proxy", async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let mut client = BufReader::new(socket);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(client.read_line(&mut head).await.unwrap() > 0);
            }
            let tunnels = head.starts_with("CONNECT ");
            heads.lock().unwrap().push(head);
            if tunnels {
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let mut server = TcpStream::connect(target).await.unwrap();
                // How the tunnel ends is the ends' business.
                drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
            } else {
                client.write_all(ANSWER).await.unwrap();
                client.shutdown().await.unwrap();
            }
        }
    });
    (address, heard)
}

fn factory(proxy: Option<Proxy>, authority: &str) -> HttpFactory {
    let certificates = if authority.is_empty() {
        Certificates::default()
    } else {
        Certificates::from_pem(authority.as_bytes()).unwrap()
    };
    HttpFactory::new(HttpSettings { proxy, certificates, ..HttpSettings::default() })
}

async fn get(factory: &HttpFactory, url: &str) -> Result<String, NetError> {
    let response = factory.client()?.get(url).send().await?;
    let body = read_capped(response, 100).await?;
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_certificate_of_an_own_authority_is_trusted_when_its_root_is_given() {
    let tasks = tasks();
    let (server, authority) = tls_server(&tasks, "localhost").await;
    let url = format!("https://localhost:{}/", server.port());
    let error = get(&factory(None, ""), &url).await.unwrap_err();
    assert!(matches!(error, NetError::NotConnected(_)), "{error:?}");
    assert_eq!(get(&factory(None, &authority), &url).await.unwrap(), "ok");
    // Trust in an authority is not trust in a name.
    let (other, authority) = tls_server(&tasks, "other.test").await;
    let url = format!("https://localhost:{}/", other.port());
    let error = get(&factory(None, &authority), &url).await.unwrap_err();
    assert!(matches!(error, NetError::NotConnected(_)), "{error:?}");
}

#[tokio::test]
async fn a_tls_server_is_reached_through_a_tunnel_of_the_proxy() {
    let tasks = tasks();
    let (server, authority) = tls_server(&tasks, "api.models.test").await;
    let (address, heard) = proxy(&tasks, server).await;
    // Only the proxy knows the way to that name.
    let url = "https://api.models.test/v1";
    let way = Proxy::new(&format!("http://ann:pass@{address}"), "").unwrap();
    assert_eq!(get(&factory(Some(way), &authority), url).await.unwrap(), "ok");
    let head = heard.lock().unwrap().remove(0);
    assert!(head.starts_with("CONNECT api.models.test:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("proxy-authorization: basic yw5uonbhc3m="), "{head}");
}

#[tokio::test]
async fn a_plain_server_is_asked_for_by_the_proxy_unless_it_is_excepted() {
    let tasks = tasks();
    let (address, heard) = proxy(&tasks, ([127, 0, 0, 1], 1).into()).await;
    let way = |except: &str| Some(Proxy::new(&format!("http://{address}"), except).unwrap());
    let url = "http://api.models.test/v1";
    assert_eq!(get(&factory(way("other.test"), ""), url).await.unwrap(), "ok");
    assert!(heard.lock().unwrap()[0].starts_with("GET http://api.models.test/v1 HTTP/1.1"));
    for except in ["models.test", "*", "other.test, .models.test"] {
        let error = get(&factory(way(except), ""), url).await.unwrap_err();
        assert!(matches!(error, NetError::NotConnected(_)), "{except}: the name has no address");
    }
    // This machine, and a factory whose proxy was taken away.
    let here = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", here.local_addr().unwrap());
    tasks.spawn("here", async move {
        loop {
            let (mut socket, _) = here.accept().await.unwrap();
            let mut request = [0; 4096];
            assert!(socket.read(&mut request).await.unwrap() > 0);
            socket.write_all(ANSWER).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    assert_eq!(get(&factory(way(""), ""), &url).await.unwrap(), "ok");
    let direct = factory(way(""), "").through(None);
    assert!(get(&direct, "http://api.models.test/v1").await.is_err());
    assert_eq!(heard.lock().unwrap().len(), 1, "the proxy was asked once");
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let way = Proxy::new(&format!("http://{address}"), "").unwrap();
    let error = get(&factory(Some(way), ""), "https://api.models.test/").await.unwrap_err();
    assert!(error.is_surely_unsent(), "{error:?}");
}

/// The error of a request to a server that is only reached through the proxy.
async fn fails(proxy: &str, url: &str) -> String {
    let error = get(&factory(Some(Proxy::new(proxy, "").unwrap()), ""), url).await.unwrap_err();
    assert!(matches!(error, NetError::NotConnected(_)), "{error:?}");
    let said = format!("{error} {error:?}");
    assert!(!said.contains("s3cret") && !said.contains("ann"), "{said}");
    error.to_string()
}

#[tokio::test]
async fn a_proxy_that_is_to_blame_is_named() {
    let tasks = tasks();
    let (https, http) = ("https://api.models.test/v1", "http://api.models.test/v1");
    // Nobody listens there; there is no such name.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [https, http] {
        let said = fails(&format!("http://ann:s3cret@{gone}"), url).await;
        assert!(said.contains(&format!("the proxy {gone} could not be reached")), "{said}");
        let said = fails("http://ann:s3cret@proxy.test", url).await;
        assert!(said.contains("the proxy proxy.test:80 could not be reached"), "{said}");
    }
    for answer in ["407 Proxy Authentication Required", "502 Bad Gateway"] {
        let refusing = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = refusing.local_addr().unwrap();
        tasks.spawn("refusing", async move {
            let (mut socket, _) = refusing.accept().await.unwrap();
            let mut head = [0; 1000];
            let _read = socket.read(&mut head).await.unwrap();
            let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            socket.write_all(answer.as_bytes()).await.unwrap();
        });
        let said = fails(&format!("http://ann:s3cret@{address}"), https).await;
        assert!(said.contains(&format!("the proxy {address} refused to connect")), "{said}");
    }
    // One that says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let proxy = Proxy::new(&format!("http://{address}"), "").unwrap();
    let connect_timeout = Duration::from_millis(50);
    let settings = HttpSettings { proxy: Some(proxy), connect_timeout, ..HttpSettings::default() };
    let said = get(&HttpFactory::new(settings), https).await.unwrap_err().to_string();
    assert!(said.contains(&format!("the proxy {address} gave no connection")), "{said}");
}

#[tokio::test]
async fn a_proxy_that_was_not_asked_is_not_named() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let here = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let said = fails(&format!("http://{gone}"), &format!("http://{here}/")).await;
    assert!(!said.contains("proxy"), "{said}");
}

/// What a plain exchange over a dialled connection brings.
async fn exchange(factory: &HttpFactory, url: &str) -> Result<String, NetError> {
    let mut stream = factory.dial(&url.parse().unwrap()).await?;
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = vec![0; ANSWER.len()];
    stream.read_exact(&mut answer).await.unwrap();
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn a_dialled_connection_takes_the_same_way_as_a_request() {
    let tasks = tasks();
    let (server, authority) = tls_server(&tasks, "socket.test").await;
    let (address, heard) = proxy(&tasks, server).await;
    let way = || Some(Proxy::new(&format!("http://ann:s3cret@{address}"), "").unwrap());
    let answer = exchange(&factory(way(), &authority), "wss://socket.test/ws").await.unwrap();
    assert_eq!(answer.as_bytes(), ANSWER);
    let head = heard.lock().unwrap().remove(0).to_lowercase();
    assert!(head.starts_with("connect socket.test:443 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic "), "{head}");
    // Who is not trusted is not talked to.
    let error = exchange(&factory(way(), ""), "wss://socket.test/ws").await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains(&format!("socket.test:443 through the proxy {address}: ")), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    // This machine is reached without the proxy.
    let (here, authority) = tls_server(&tasks, "localhost").await;
    let url = format!("wss://localhost:{}/ws?ticket=1", here.port());
    exchange(&factory(way(), &authority), &url).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 1, "the proxy was asked twice, once heard above");
    let url = "wss://[::1]:1/ws?ticket=secret";
    let said = exchange(&factory(None, ""), url).await.unwrap_err().to_string();
    assert!(said.contains("::1:1: ") && !said.contains("secret"), "{said}");
}
