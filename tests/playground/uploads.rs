//! What apps upload: its form, its sizes, whose keys may be used, what comes back.

use larkspur::playground::{AppSettings, Endpoint, FaultAction, FaultRule, Playground};
use serde_json::{Value, json};

use crate::cards::{card, send};
use crate::support::{Client, Reply, bytes_of, playground};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x01";
const IMAGES: &str = "/open-apis/im/v1/images";
const FILES: &str = "/open-apis/im/v1/files";

/// One part of a form: what stands behind `form-data; `, and its bytes.
type Part<'part> = (&'part [u8], &'part [u8]);

async fn upload(client: &Client, path: &str, parts: &[Part<'_>]) -> Reply {
    let mut body = Vec::new();
    for (head, bytes) in parts {
        body.extend(b"--border\r\nContent-Disposition: form-data; ");
        body.extend(*head);
        body.extend(b"\r\n\r\n");
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--border--\r\n");
    let answer = client
        .http
        .post(format!("{}{path}", client.base))
        .header("Authorization", format!("Bearer {}", client.token))
        .header("Content-Type", "multipart/form-data; boundary=border")
        .body(body)
        .send()
        .await
        .unwrap();
    Reply::of(answer).await.unwrap()
}

async fn image(client: &Client, bytes: &[u8]) -> Reply {
    let parts: [Part<'_>; 2] =
        [(b"name=\"image_type\"", b"message"), (b"name=\"image\"; filename=\"a.png\"", bytes)];
    upload(client, IMAGES, &parts).await
}

async fn file(client: &Client, kind: &str, name: &str, bytes: &[u8]) -> Reply {
    let head = format!("name=\"file\"; filename=\"{name}\"");
    let parts: [Part<'_>; 3] = [
        (b"name=\"file_type\"", kind.as_bytes()),
        (b"name=\"file_name\"", name.as_bytes()),
        (head.as_bytes(), bytes),
    ];
    upload(client, FILES, &parts).await
}

async fn stranger(sim: &Playground) -> Client {
    let other = AppSettings {
        app_id: "cli_other".to_owned(),
        app_secret: "other-secret".to_owned(),
        ..AppSettings::default()
    };
    sim.add_app(&other).unwrap();
    let mut client = Client::anonymous(sim);
    let body = json!({"app_id": other.app_id, "app_secret": other.app_secret});
    let path = "/open-apis/auth/v3/tenant_access_token/internal";
    let answer = client.call("POST", path, Some(&body)).await.json;
    client.token = answer["tenant_access_token"].as_str().unwrap().to_owned();
    client
}

async fn say(client: &Client, chat_id: &str, msg_type: &str, content: &Value) -> i64 {
    let body = json!({"receive_id": chat_id, "msg_type": msg_type, "content": content.to_string()});
    let path = "/open-apis/im/v1/messages?receive_id_type=chat_id";
    client.call("POST", path, Some(&body)).await.code()
}

#[tokio::test]
async fn a_picture_is_uploaded_shown_and_given_back_to_its_app_alone() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let made = image(&client, PNG).await;
    assert_eq!(made.code(), 0, "{}", made.text);
    let key = made.data("/image_key").to_owned();
    assert!(key.starts_with("img_v3_"));
    let elements = json!([{"tag": "img", "img_key": key},
        {"tag": "markdown", "content": format!("![alt]({key})")}]);
    let content = card(&elements).to_string();
    assert_eq!(send(&client, &chat.chat_id, &content).await.code(), 0);
    assert_eq!(say(&client, &chat.chat_id, "image", &json!({"image_key": key})).await, 0);
    let post = json!({"zh_cn": {"content": [[{"tag": "img", "image_key": key}]]}});
    assert_eq!(say(&client, &chat.chat_id, "post", &post).await, 0);

    let other = stranger(&sim).await;
    sim.change_chat("g1", |chat| chat.bots.push("cli_other".to_owned())).unwrap();
    assert_eq!(send(&other, &chat.chat_id, &content).await.code(), 230_017);
    assert_eq!(say(&other, &chat.chat_id, "image", &json!({"image_key": key})).await, 230_017);
    assert_eq!(say(&other, &chat.chat_id, "post", &post).await, 230_017);
    let none = json!({"image_key": "img_v3_none"});
    assert_eq!(say(&client, &chat.chat_id, "image", &none).await, 230_001);
    let path = format!("{IMAGES}/{key}");
    assert_eq!(other.call("GET", &path, None).await.code(), 234_008);
    let request = client.http.get(format!("{}{path}", client.base));
    let request = request.header("Authorization", format!("Bearer {}", client.token));
    assert_eq!(bytes_of(&mut request.send().await.unwrap()).await.unwrap(), PNG);
}

#[tokio::test]
async fn p034_a_file_keeps_a_name_in_any_letters() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let made = file(&client, "pdf", "报告.pdf", b"%PDF").await;
    assert_eq!(made.code(), 0, "{}", made.text);
    let key = made.data("/file_key").to_owned();
    assert_eq!(say(&client, &chat.chat_id, "file", &json!({"file_key": key})).await, 0);
    assert!(sim.visible("g1")[0].content.contains("报告.pdf"));
    assert_eq!(client.call("GET", &format!("{FILES}/{key}"), None).await.text, "%PDF");
    let broken: [Part<'_>; 3] = [
        (b"name=\"file_type\"", b"pdf"),
        (b"name=\"file_name\"", b"a.pdf"),
        (b"name=\"file\"; filename=\"\xb1\xa8\xb8\xe6.pdf\"", b"%PDF"),
    ];
    assert_ne!(upload(&client, FILES, &broken).await.code(), 0);
}

#[tokio::test]
async fn what_clients_in_the_wild_send_is_accepted_and_what_is_wrong_is_not() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let bare: [Part<'_>; 4] = [
        (b"name=\"file_type\"", b"stream"),
        (b"name=\"file_name\"", b"a.txt"),
        (b"name=\"duration\"", b""),
        (b"name=\"file\"", b"words"),
    ];
    assert_eq!(upload(&client, FILES, &bare).await.code(), 0);
    let typed: [Part<'_>; 2] = [
        (b"name=\"image_type\"", b"message"),
        (b"name=\"image\"\r\nContent-Type: application/octet-stream", PNG),
    ];
    assert_eq!(upload(&client, IMAGES, &typed).await.code(), 0);
    let mut wrong = bare;
    for (index, bytes) in [(0, &b"exe"[..]), (1, b""), (2, b"long")] {
        let part = std::mem::replace(&mut wrong[index].1, bytes);
        assert_eq!(upload(&client, FILES, &wrong).await.code(), 234_001, "{index}");
        wrong[index].1 = part;
    }
    assert_eq!(upload(&client, FILES, &bare[..3]).await.code(), 234_001);
    assert_eq!(upload(&client, IMAGES, &typed[1..]).await.code(), 234_001);
    assert_eq!(image(&client, b"words").await.code(), 234_011);
    let body = json!({});
    assert_eq!(client.call("POST", IMAGES, Some(&body)).await.code(), 9_499);
    let nobody = Client::anonymous(&sim);
    assert_eq!(image(&nobody, PNG).await.code(), 99_991_661);
}

#[tokio::test]
async fn an_upload_at_its_size_is_accepted_and_one_byte_more_or_none_is_refused() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let mut picture = PNG.to_vec();
    picture.resize(10 << 20, 0);
    assert_eq!(image(&client, &picture).await.code(), 0);
    picture.push(0);
    assert_eq!(image(&client, &picture).await.code(), 234_006);
    assert_eq!(image(&client, b"").await.code(), 234_010);
    let mut bytes = vec![0; 30 << 20];
    assert_eq!(file(&client, "stream", "a", &bytes).await.code(), 0);
    bytes.push(0);
    assert_eq!(file(&client, "stream", "a", &bytes).await.code(), 234_006);
    bytes.resize(31 << 20, 0);
    assert_eq!(file(&client, "stream", "a", &bytes).await.code(), 234_006);
    assert_eq!(file(&client, "stream", "a", b"").await.code(), 234_010);
}

#[tokio::test]
async fn a_file_is_sent_as_what_it_was_uploaded_as() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    for (kind, fits) in [("opus", "audio"), ("mp4", "media"), ("pdf", "file")] {
        let key = file(&client, kind, "a", b"x").await.data("/file_key").to_owned();
        for msg_type in ["audio", "media", "file"] {
            let code = say(&client, &chat.chat_id, msg_type, &json!({"file_key": key})).await;
            assert_eq!(code, if msg_type == fits { 0 } else { 230_055 }, "{kind} as {msg_type}");
        }
    }
    let refuse = FaultAction::Refuse { status: 500, code: 232_096, reset_s: None };
    for endpoint in [Endpoint::UploadFile, Endpoint::UploadImage] {
        sim.fault(FaultRule::next(endpoint, 1, refuse.clone()));
    }
    assert_eq!(file(&client, "pdf", "a", b"x").await.code(), 232_096);
    assert_eq!(image(&client, PNG).await.code(), 232_096);
}
