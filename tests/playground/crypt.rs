//! The vectors that two official SDKs have confirmed.

use larkspur::playground::crypt::{open, seal, sign};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../fixtures/feishu-vectors.json")).unwrap()
}

fn field<'case>(case: &'case Value, name: &str) -> &'case str {
    case[name].as_str().unwrap()
}

#[test]
fn every_envelope_of_the_vectors_is_sealed_and_opened_alike() {
    let vectors = vectors();
    let cases = vectors["aes_256_cbc"]["cases"].as_array().unwrap();
    assert!(cases.len() >= 19, "{}", cases.len());
    for case in cases {
        let (key, envelope) = (field(case, "encrypt_key"), field(case, "encrypt"));
        let plain = open(key, envelope).unwrap();
        if let Some(expected) = case["plaintext"].as_str() {
            assert_eq!(plain, expected, "{}", case["name"]);
        }
        let Some(vector) = case["iv_hex"].as_str() else {
            continue;
        };
        let vector: [u8; 16] = hex::decode(vector).unwrap().try_into().unwrap();
        assert_eq!(seal(key, vector, &plain), envelope, "{}", case["name"]);
    }
}

#[test]
fn every_damaged_envelope_of_the_vectors_is_refused() {
    let vectors = vectors();
    let cases = vectors["aes_256_cbc"]["invalid"].as_array().unwrap();
    assert!(cases.len() >= 9, "{}", cases.len());
    for case in cases {
        let outcome = open(field(case, "encrypt_key"), field(case, "encrypt"));
        assert!(outcome.is_err(), "{}: {outcome:?}", case["name"]);
    }
}

#[test]
fn every_event_signature_of_the_vectors_is_computed_alike() {
    let vectors = vectors();
    let cases = vectors["event_signature_sha256"]["cases"].as_array().unwrap();
    assert!(cases.len() >= 5, "{}", cases.len());
    for case in cases {
        let signature = sign(
            field(case, "timestamp"),
            field(case, "nonce"),
            field(case, "encrypt_key"),
            field(case, "body").as_bytes(),
        );
        assert_eq!(signature, field(case, "signature_sha256_hex"), "{}", case["name"]);
    }
}
