//! The way out of a company's network: a proxy, and servers behind the company's own certificates.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use larkspur::task::TaskSet;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::llm_script::Turn;
use crate::stage::{Options, Stage};

/// The company: an authority, TLS in front of plain servers, and a proxy that alone knows names.
struct Company {
    tasks: TaskSet,
    authority: CertifiedIssuer<'static, KeyPair>,
    servers: HashMap<String, SocketAddr>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Company {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let tasks = TaskSet::new("company", CancellationToken::new());
        Self { tasks, authority, servers: HashMap::new(), asked: Arc::default() }
    }

    /// Puts TLS for `name` in front of the plain server at `address` (`127.0.0.1:80`).
    async fn publish(&mut self, name: &str, address: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.servers.insert(format!("{name}:443"), listener.local_addr().unwrap());
        let (tasks, target) = (self.tasks.clone(), address.to_owned());
        self.tasks.spawn("tls", async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tasks.spawn("connection", pass_on(socket, acceptor.clone(), target.clone()));
            }
        });
    }

    async fn proxy(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tasks, servers) = (self.tasks.clone(), self.servers.clone());
        let asked = Arc::clone(&self.asked);
        self.tasks.spawn("proxy", async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (servers, asked) = (servers.clone(), Arc::clone(&asked));
                tasks.spawn("tunnel", tunnel(socket, servers, asked));
            }
        });
        address
    }
}

/// Takes TLS off and leads to the plain server.
async fn pass_on(socket: TcpStream, acceptor: TlsAcceptor, target: String) {
    if let Ok(mut client) = acceptor.accept(socket).await {
        let mut server = TcpStream::connect(target).await.unwrap();
        drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
    }
}

async fn tunnel(
    socket: TcpStream,
    servers: HashMap<String, SocketAddr>,
    asked: Arc<Mutex<Vec<String>>>,
) {
    let mut client = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if client.read_line(&mut head).await.unwrap() == 0 {
            return;
        }
    }
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(target.clone());
    let server = servers.get(&target).filter(|_| head.starts_with("CONNECT "));
    let Some(server) = server else {
        return client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let mut server = TcpStream::connect(server).await.unwrap();
    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
}

fn rewrite(stage: &Stage, name: &str, changes: &[(&str, &str)]) {
    let file = stage.path(name);
    let mut text = fs::read_to_string(&file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from} in {text}");
        text = text.replace(from, to);
    }
    fs::write(file, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn platform_and_model_are_reached_through_the_proxy_by_the_companys_certificates() {
    let mut stage = Stage::set(Options::default()).await;
    let mut company = Company::new();
    let plain = |url: &str| {
        let url = url.trim_start_matches("http://");
        url.split('/').next().unwrap().to_owned()
    };
    let (platform, model) = (stage.sim.base_url(), stage.model.base_url());
    company.publish("platform.test", &plain(&platform)).await;
    company.publish("models.test", &plain(&model)).await;
    let proxy = company.proxy().await;
    fs::write(stage.path("config/ca.pem"), company.authority.pem()).unwrap();
    let net = format!("[net]\nproxy = \"http://{proxy}\"\nca_file = \"config/ca.pem\"\n[server]");
    let main = [("[server]", net.as_str()), (model.as_str(), "https://models.test/v1/")];
    rewrite(&stage, "config/larkspur.toml", &main);
    let url = format!("base_url = \"{}\"", platform.trim_end_matches('/'));
    let bot = fs::read_to_string(stage.path("bots/assistant.toml")).unwrap();
    let url = if bot.contains(&url) { url } else { format!("base_url = \"{platform}\"") };
    let own = "base_url = \"https://platform.test\"";
    rewrite(&stage, "bots/assistant.toml", &[(url.as_str(), own)]);

    stage.start(&[]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: hello?");
    let asked = company.asked.lock().unwrap().clone();
    for target in ["platform.test:443", "models.test:443"] {
        assert!(asked.iter().any(|found| found == target), "{asked:?}");
    }

    // Without the certificate nobody is believed.
    stage.terminate().await;
    rewrite(&stage, "config/larkspur.toml", &[("ca_file = \"config/ca.pem\"\n", "")]);
    stage.launch(&[]);
    let output = stage.cli(&["ask", "hello?"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("answer to"), "{said}");
    let (status, body) = until_listening(&stage).await;
    assert!(status == 503 && body.contains("platform"), "{status} {body}");
}

/// The first answer of `/readyz`.
async fn until_listening(stage: &Stage) -> (u16, String) {
    let listening = async {
        loop {
            match stage.get("/readyz").await {
                Some(answer) => return answer,
                None => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    };
    tokio::time::timeout(crate::stage::PATIENCE, listening).await.expect("the daemon listens")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_may_have_a_proxy_of_its_own_and_a_silent_one_is_a_failure() {
    let company = Company::new();
    let proxy = company.proxy().await;
    let stage = Stage::set(Options {
        // The name is known to nobody, and the proxy refuses it.
        model_lines: format!("proxy = \"http://{proxy}\"\nretries = 1"),
        ..Options::default()
    })
    .await;
    rewrite(
        &stage,
        "config/larkspur.toml",
        &[(stage.model.base_url().as_str(), "https://nowhere.test/v1/")],
    );
    let output = stage.cli(&["ask", "hello?"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Sorry"), "{said}");
    let asked = company.asked.lock().unwrap().clone();
    assert_eq!(asked, vec!["nowhere.test:443"; 4], "two strikes with one repetition each");
    // This machine is not asked for at the proxy.
    rewrite(
        &stage,
        "config/larkspur.toml",
        &[("https://nowhere.test/v1/", stage.model.base_url().as_str())],
    );
    stage.model.set_mode(crate::llm_script::Mode::script([Turn::text("straight")]));
    let output = stage.cli(&["ask", "hello?"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "straight\n");
    assert_eq!(company.asked.lock().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_ways_out_are_problems_of_the_check() {
    let main = "[net]\nproxy = \"socks5://proxy:1080\"\nca_file = \"config/none.pem\"".to_owned();
    let mut stage = Stage::set(Options { main, ..Options::default() }).await;
    let output = stage.cli(&["check"]);
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("net.proxy: ") && said.contains("net.ca_file: the file"), "{said}");
    stage.launch(&[]);
    let status = stage.ended(crate::stage::PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(78), "and of the start");
}
