use serde_json::json;

use super::*;
use crate::channels::lark::testing::{self, Platform};

const MESSAGE: &str = "/open-apis/im/v1/messages/om_1";

#[tokio::test]
async fn every_kind_is_downloaded_by_a_type_the_platform_knows() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    for (kind, word) in [
        (AttachmentKind::Image, "image"),
        (AttachmentKind::File, "file"),
        (AttachmentKind::Audio, "file"),
        (AttachmentKind::Video, "file"),
    ] {
        let get = format!("GET {MESSAGE}/resources/k%2F1?type={word}");
        platform.raw(&get, 200, Vec::new(), "the bytes".to_owned());
        let download = api.resource(&MessageId::new("om_1"), "k/1", kind).await.unwrap();
        assert_eq!((download.bytes.as_slice(), download.length), (&b"the bytes"[..], Some(9)));
    }
}

#[tokio::test]
async fn of_a_long_file_only_the_beginning_is_read() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let get = format!("GET {MESSAGE}/resources/k?type=file");
    platform.raw(&get, 200, Vec::new(), "x".repeat(3 << 20));
    let file = AttachmentKind::File;
    let download = api.resource(&MessageId::new("om_1"), "k", file).await.unwrap();
    assert_eq!((download.bytes.len(), download.length), (1 << 20, Some(3 << 20)));
}

#[tokio::test]
async fn a_refused_download_says_its_code() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let get = format!("GET {MESSAGE}/resources/k?type=file");
    platform.on(&get, 400, &json!({"code": 234_008, "msg": "The app has no right"}));
    let file = AttachmentKind::File;
    let error = api.resource(&MessageId::new("om_1"), "k", file).await.unwrap_err();
    assert_eq!(error.code(), Some(234_008));
    assert!(error.to_string().starts_with("download_resource: "), "{error}");
}

#[tokio::test]
async fn a_message_that_is_gone_has_no_records() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let get = format!("GET {MESSAGE}?card_msg_content_type=user_card_content");
    let message = MessageId::new("om_1");
    platform.on(&get, 400, &json!({"code": 230_110, "msg": "deleted"}));
    assert_eq!(api.get_whole(&message).await, Ok(Vec::new()));
    let deleted = json!({"message_id": "om_1", "deleted": true});
    platform.on(&get, 200, &json!({"code": 0, "data": {"items": [deleted]}}));
    assert_eq!(api.get_whole(&message).await, Ok(Vec::new()));
    platform.on(&get, 400, &json!({"code": 230_050, "msg": "invisible"}));
    assert!(api.get_whole(&message).await.is_err());
}
